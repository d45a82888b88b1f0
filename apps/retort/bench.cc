// retort bench: latency of one engine, or of two side by side in one process. Blocks of runs in turn (A B, B A, A B, …:
// neither always runs on what the other left), a pause before each block because an engine's threads may spin after a
// run, the first run of a block dropped, medians of all. Before that, load time, first run and peak memory in processes
// of their own, the engines in turn.
#include <thread>

#include "commands.h"
#include "start.h"
#include "stats.h"
#include "suite_bench.h"
#include "terminal.h"
#include "turns.h"

namespace retort::cli {
namespace {

constexpr int kLeastBlock = 5;
const CLI::Validator kBlock(
    [](const std::string& text) {
      int runs = 0;
      return CLI::detail::lexical_cast(text, runs) && runs >= kLeastBlock
                 ? ""
                 : "'" + text + "' is too short: blocks are of at least " + std::to_string(kLeastBlock) +
                       " runs, because what the other engine left in the caches slows the first of them";
    },
    "");

struct BenchOptions : Common {
  SuiteOptions suite;
  double seconds = 4;
  int block = kLeastBlock, starts = 3;
};

/// One engine with the model loaded and bound, and its measured times.
struct BenchSide {
  std::string library;
  std::vector<Start> starts;  ///< one thread count after the other
  std::unique_ptr<EngineLibrary> engine;
  std::unique_ptr<EngineSession> session;
  HostValues inputs;
  std::unique_ptr<BoundRun> bound;
  std::vector<double> times;

  void load(const BenchOptions& o, int threads) {
    bound.reset();
    session.reset();
    times.clear();
    session = std::make_unique<EngineSession>(*engine, o.model, o.settings(threads));
    inputs = o.read_inputs(session->inputs());
    bound = std::make_unique<BoundRun>(*session, inputs);
    bound->run();
    bound->keep_outputs();
  }
  void run_block(int runs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i <= runs; ++i) {
      const auto begin = Clock::now();
      bound->run();
      if (i > 0) times.push_back(milliseconds(Clock::now() - begin));
    }
  }
  double quantile(double q) const { return cli::quantile(times, q); }
};

double disagreement(const BenchSide& a, const BenchSide& b) {
  const HostValues x = a.bound->values(), y = b.bound->values();
  double worst = 0;
  for (const auto& [name, value] : y) worst = std::max(worst, compare(x.at(name), value).scaled);
  return worst;
}

void measure(const BenchOptions& o, std::vector<BenchSide>& sides) {
  const auto begin = Clock::now();
  Progress progress("measuring");
  double spent = 0;
  for (size_t round = 0; round % 2 || spent < o.seconds || sides[0].times.size() < 10; ++round) {
    for (const size_t side : turns(round, sides.size())) sides[side].run_block(o.block);
    spent = milliseconds(Clock::now() - begin) / 1000;
    progress.show(std::min(1.0, spent / o.seconds));
  }
}

void measure_starts(const BenchOptions& o, std::vector<BenchSide>& sides) {
  for (const int threads : o.threads) {
    std::vector<std::vector<Start>> all(sides.size());
    for (int i = 0; i < o.starts; ++i) {
      for (const size_t e : turns(size_t(i), sides.size()))
        all[e].push_back(measure_start(o, sides[e].library, threads));
    }
    for (size_t e = 0; e < sides.size(); ++e) sides[e].starts.push_back(median(std::move(all[e])));
  }
}

nlohmann::json side_json(const BenchSide& s, const Start& start) {
  return {{"engine", s.engine->name()},
          {"median_ms", s.quantile(0.5)},
          {"p99_ms", s.quantile(0.99)},
          {"min_ms", s.quantile(0)},
          {"load_ms", start.load_ms},
          {"first_run_ms", start.first_ms},
          {"load_peak_mib", start.load_peak_mib},
          {"peak_mib", start.peak_mib},
          {"runs", s.times.size()}};
}

void print_head() {
  std::printf("%-20s %7s %10s %10s %10s %10s %10s %10s\n", "engine", "threads", "median ms", "p99 ms", "min ms",
              "load ms", "first ms", "peak MiB");
}

void print_row(int threads, const BenchSide& s, const Start& start) {
  std::printf("%-20s %7d %10s %10s %10s %10.1f %10.1f %10.1f\n", s.engine->name().c_str(), threads,
              milliseconds_text(s.quantile(0.5)).c_str(), milliseconds_text(s.quantile(0.99)).c_str(),
              milliseconds_text(s.quantile(0)).c_str(), start.load_ms, start.first_ms, start.peak_mib);
}

void bench(const BenchOptions& o) {
  std::vector<BenchSide> sides(o.against.empty() ? 1 : 2);
  sides[0].library = default_library(o.library);
  if (sides.size() > 1) sides[1].library = o.against;
  measure_starts(o, sides);
  for (BenchSide& s : sides) s.engine = std::make_unique<EngineLibrary>(s.library);
  nlohmann::json report = nlohmann::json::array();
  for (size_t i = 0; i < o.threads.size(); ++i) {
    for (BenchSide& s : sides) s.load(o, o.threads[i]);
    measure(o, sides);
    if (!o.json && i == 0) print_head();
    nlohmann::json row = {{"threads", o.threads[i]}, {"sides", nlohmann::json::array()}};
    for (const BenchSide& s : sides) {
      row["sides"].push_back(side_json(s, s.starts[i]));
      if (!o.json) print_row(o.threads[i], s, s.starts[i]);
    }
    if (sides.size() > 1) {
      const double ratio = sides[1].quantile(0.5) / sides[0].quantile(0.5), error = disagreement(sides[0], sides[1]);
      const double start_ratio = sides[1].starts[i].total_ms() / sides[0].starts[i].total_ms();
      row.update({{"ratio", ratio}, {"start_ratio", start_ratio}, {"disagreement", error}});
      if (!o.json)
        std::printf(
            "peer / retort %.3f (minima %.3f), load and first run %.3f; outputs differ by %.2g of their scale\n", ratio,
            sides[1].quantile(0) / sides[0].quantile(0), start_ratio, error);
    }
    report.push_back(row);
  }
  if (o.json) std::printf("%s\n", report.dump(2).c_str());
}

/// How this program measures one scenario of a suite.
std::vector<std::string> scenario_words(const BenchOptions& o, const Scenario& scenario) {
  std::string threads;
  for (const int n : o.threads) threads += (threads.empty() ? "" : ",") + std::to_string(n);
  std::vector<std::string> words{"bench",
                                 scenario.model,
                                 "--json",
                                 "--threads",
                                 threads,
                                 "--seconds",
                                 std::to_string(o.seconds),
                                 "--block",
                                 std::to_string(o.block),
                                 "--starts",
                                 std::to_string(o.starts),
                                 "--seed",
                                 std::to_string(o.seed)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--against", o.against);
  add("--library", o.library);
  for (const std::string& entry : o.config) add("--config", entry);
  for (const std::string& name : o.disabled) add("--disable", name);
  for (const std::string& provider : o.providers) add("--provider", provider);
  add("--inputs", scenario.inputs);
  return words;
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "bench", "measure latency, load time and memory; with --against, two engines side by side in one process");
  const auto o = std::make_shared<BenchOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  o->add_against(*sub);
  o->add_threads(*sub, "thread counts to measure");
  sub->get_option("--threads")->delimiter(',')->type_name("N[,N]");
  sub->add_option("--seconds", o->seconds, "time to spend per thread count")->capture_default_str()->check(kPositive);
  sub->add_option("--block", o->block,
                  "runs of one engine before the other's turn; at least 5, because what the other left in caches slows "
                  "the first of them")
      ->capture_default_str()
      ->check(kBlock)
      ->type_name("N");
  sub->add_option("--starts", o->starts, "processes per engine and thread count for load time and memory")
      ->capture_default_str()
      ->check(kPositive);
  sub->footer("Example: retort bench resnet50.onnx --against libonnxruntime.so.1.31.1 --threads 1,2");
  o->suite.add(*sub);
  sub->get_option("MODEL")->required(false);
  sub->callback([o] {
    if (int(!o->model.empty()) + int(!o->suite.folder.empty()) + int(!o->suite.from.empty()) != 1)
      throw CLI::RequiredError("one of MODEL, --suite and --from");
    if (o->suite.chosen())
      bench_suite(o->suite, *o, [&o](const Scenario& s) { return scenario_words(*o, s); });
    else
      bench(*o);
  });
}

}  // namespace retort::cli
