// retort bench: latency of one engine, or of several side by side in one process. Blocks of runs in turn (A B, B A, A B, …:
// neither always runs on what the other left), a pause before each block because an engine's threads may spin after a
// run, the first run of a block dropped, medians of all. Before that, load time, first run and peak memory in processes
// of their own, the engines in turn.
#include <thread>

#include "bench_ops.h"
#include "commands.h"
#include "side.h"
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
  std::vector<std::string> peers;
  double seconds = 4;
  int block = kLeastBlock, starts = 3;
  bool ops = false;
};

/// One engine with the model loaded and bound, and its measured times.
struct BenchSide {
  std::string library, name;
  std::string failure;        ///< why it is left out; "": it is not
  std::vector<Start> starts;  ///< one thread count after the other
  std::unique_ptr<Side> side;
  std::vector<double> times;

  void load(const BenchOptions& o, int threads, HostValues& inputs) {
    times.clear();
    side->load(o.model, o.settings(threads));
    side->bind(inputs);
    side->run();
    side->keep_outputs();
  }
  void run_block(int runs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i <= runs; ++i) {
      const auto begin = Clock::now();
      side->run();
      if (i > 0) times.push_back(milliseconds(Clock::now() - begin));
    }
  }
  double quantile(double q) const { return cli::quantile(times, q); }
};

/// Does something with one side. A failure of the first two is that of the command; a later one is left out, because
/// there still is something to compare.
void attempt(std::vector<BenchSide>& sides, size_t side, const std::function<void(BenchSide&)>& what) {
  if (!sides[side].failure.empty()) return;
  try {
    what(sides[side]);
  } catch (const Failure& e) {
    if (side < 2) throw;
    sides[side].failure = e.what();
  }
}

void attempt_all(std::vector<BenchSide>& sides, const std::function<void(BenchSide&)>& what) {
  for (size_t i = 0; i < sides.size(); ++i) attempt(sides, i, what);
}

void measure(const BenchOptions& o, std::vector<BenchSide>& sides) {
  const auto begin = Clock::now();
  Progress progress("measuring");
  double spent = 0;
  for (size_t round = 0; round % 2 || spent < o.seconds || sides[0].times.size() < 10; ++round) {
    for (const size_t side : turns(round, sides.size()))
      attempt(sides, side, [&](BenchSide& s) { s.run_block(o.block); });
    spent = milliseconds(Clock::now() - begin) / 1000;
    progress.show(std::min(1.0, spent / o.seconds));
  }
}

void measure_starts(const BenchOptions& o, std::vector<BenchSide>& sides, HostValues& inputs) {
  for (const int threads : o.threads) {
    std::vector<std::vector<Start>> all(sides.size());
    for (int i = 0; i < o.starts; ++i) {
      for (const size_t e : turns(size_t(i), sides.size()))
        attempt(sides, e, [&](BenchSide& s) { all[e].push_back(measure_start(o, s.library, threads, inputs)); });
    }
    for (size_t e = 0; e < sides.size(); ++e)
      attempt(sides, e, [&](BenchSide& s) { s.starts.push_back(median(std::move(all[e]))); });
  }
}

nlohmann::json side_json(const BenchSide& s, const Start& start) {
  return {{"engine", s.name},
          {"median_ms", s.quantile(0.5)},
          {"p99_ms", s.quantile(0.99)},
          {"min_ms", s.quantile(0)},
          {"load_ms", start.load_ms},
          {"first_run_ms", start.first_ms},
          {"load_peak_mib", start.load_peak_mib},
          {"peak_mib", start.peak_mib},
          {"steady_mib", start.steady_mib},
          {"runs", s.times.size()}};
}

/// A peer beside Retort: ratios are the peer's figure over Retort's.
nlohmann::json peer_json(const BenchSide& ours, const BenchSide& peer, size_t i, double disagreement) {
  return {{"engine", peer.name},
          {"library", peer.library},
          {"ratio", peer.quantile(0.5) / ours.quantile(0.5)},
          {"min_ratio", peer.quantile(0) / ours.quantile(0)},
          {"start_ratio", peer.starts[i].total_ms() / ours.starts[i].total_ms()},
          {"peak_ratio", peer.starts[i].peak_mib / std::max(ours.starts[i].peak_mib, 1e-3)},
          {"disagreement", disagreement}};
}

void print_head() {
  std::printf("%-26s %7s %10s %10s %10s %10s %10s %10s %10s\n", "engine", "threads", "median ms", "p99 ms", "min ms",
              "load ms", "first ms", "peak MiB", "steady MiB");
}

void print_row(int threads, const BenchSide& s, const Start& start) {
  std::printf("%-26s %7d %10s %10s %10s %10.1f %10.1f %10.1f %10.1f\n", s.name.c_str(), threads,
              milliseconds_text(s.quantile(0.5)).c_str(), milliseconds_text(s.quantile(0.99)).c_str(),
              milliseconds_text(s.quantile(0)).c_str(), start.load_ms, start.first_ms, start.peak_mib,
              start.steady_mib);
}

void print_peer(const nlohmann::json& peer) {
  const std::string name = peer["engine"];
  if (peer.contains("error")) {
    std::printf("%s is left out: %s\n", name.c_str(), peer["error"].get<std::string>().c_str());
    return;
  }
  std::printf(
      "%s / retort %.3f (minima %.3f), load and first run %.3f, peak memory %.2f; outputs differ by %.2g of their "
      "scale\n",
      name.c_str(), peer["ratio"].get<double>(), peer["min_ratio"].get<double>(), peer["start_ratio"].get<double>(),
      peer["peak_ratio"].get<double>(), peer["disagreement"].get<double>());
}

double disagreement(const HostValues& ours, const HostValues& theirs) {
  double worst = 0;
  for (const auto& [name, value] : theirs) worst = std::max(worst, compare(ours.at(name), value).scaled);
  return worst;
}

/// What `sides` measured with the thread count of index `i`.
nlohmann::json row_json(const BenchOptions& o, std::vector<BenchSide>& sides, const std::vector<std::string>& outputs,
                        size_t i) {
  std::vector<double> apart(sides.size());
  const HostValues ours = sides[0].side->values(outputs);
  for (size_t e = 1; e < sides.size(); ++e)
    attempt(sides, e, [&](BenchSide& s) { apart[e] = disagreement(ours, s.side->values(outputs)); });
  nlohmann::json row = {
      {"threads", o.threads[i]}, {"sides", nlohmann::json::array()}, {"peers", nlohmann::json::array()}};
  for (size_t e = 0; e < sides.size(); ++e) {
    const BenchSide& s = sides[e];
    if (!s.failure.empty())
      row["peers"].push_back({{"engine", s.name}, {"library", s.library}, {"error", s.failure}});
    else
      row["sides"].push_back(side_json(s, s.starts[i]));
    if (s.failure.empty() && e > 0) row["peers"].push_back(peer_json(sides[0], s, i, apart[e]));
  }
  for (const char* key : {"ratio", "start_ratio", "disagreement"}) {
    if (sides.size() > 1) row[key] = row["peers"][0][key];
  }
  return row;
}

void print(const BenchOptions& o, const std::vector<BenchSide>& sides, const nlohmann::json& row, size_t i) {
  if (i == 0) print_head();
  for (const BenchSide& s : sides) {
    if (s.failure.empty()) print_row(o.threads[i], s, s.starts[i]);
  }
  for (const auto& peer : row["peers"]) print_peer(peer);
}

/// With the first thread count, on the engines that write a profile.
nlohmann::json ops_json(const BenchOptions& o, const std::vector<BenchSide>& sides, HostValues& inputs) {
  std::vector<const EngineLibrary*> engines;
  for (const BenchSide& s : sides) {
    if (s.failure.empty() && s.side->library()) engines.push_back(s.side->library());
  }
  SessionSettings settings = o.settings(o.threads[0]);
  settings.warns = false;  // the session that is measured later does
  return measure_ops({.model = o.model, .settings = settings, .block = o.block, .seconds = o.seconds}, engines, inputs);
}

void bench(const BenchOptions& o) {
  std::vector<BenchSide> sides(1);
  sides[0].library = default_library(o.library);
  for (const std::string& peer : o.peers) sides.emplace_back().library = peer;
  for (BenchSide& s : sides) s.name = name_apart(s.library);
  const Ports ports = ports_apart(o, sides[0].library);
  HostValues inputs = o.read_inputs(ports.inputs);
  std::vector<std::string> outputs;
  for (const PortInfo& port : ports.outputs) outputs.push_back(port.name);
  measure_starts(o, sides, inputs);
  attempt_all(sides, [](BenchSide& s) { s.side = open_side(s.library); });
  nlohmann::json report = nlohmann::json::array(), ops;
  if (o.ops) ops = ops_json(o, sides, inputs);  // while nothing else is loaded
  for (size_t i = 0; i < o.threads.size(); ++i) {
    attempt_all(sides, [&](BenchSide& s) { s.load(o, o.threads[i], inputs); });
    measure(o, sides);
    report.push_back(row_json(o, sides, outputs, i));
    if (!o.json) print(o, sides, report.back(), i);
    if (o.ops && i == 0) report.back()["ops"] = ops;
  }
  if (o.ops && !o.json) print_ops(ops);
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
  for (const std::string& peer : o.peers) add("--against", peer);
  add("--library", o.library);
  if (o.ops) words.push_back("--ops");
  for (const std::string& entry : o.config) add("--config", entry);
  for (const std::string& name : o.disabled) add("--disable", name);
  for (const std::string& provider : o.providers) add("--provider", provider);
  add("--inputs", scenario.inputs);
  return words;
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "bench", "measure latency, load time and memory; with --against, engines side by side in one process");
  const auto o = std::make_shared<BenchOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  sub->add_option(
         "--against", o->peers,
         "library of an engine to measure beside, for example libonnxruntime.so of the onnxruntime package, or "
         "libopenvino_c.so of the openvino package, which then computes in float32 as the model says, and with "
         "':default' behind its name in the precision that it prefers; may be repeated: all run in turns in one "
         "process, ratios of the first are also the row's; a name without a slash is looked for where "
         "libraries are (LD_LIBRARY_PATH)")
      ->type_name("FILE[:default]")
      ->allow_extra_args(false);
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
  sub->add_flag(
      "--ops", o->ops,
      "also tell per operator where the time of a run goes, by the profilers of Retort and of those engines "
      "beside it that have the C interface of ONNX Runtime: with the first of --threads, medians per node; with "
      "--suite in the JSON only");
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
