// retort bench: the latency of one engine, or of several side by side in one process. Blocks of runs alternate (A B, B
// A, A B, …), so that neither engine always runs on the caches that the other left. There is a pause before each block,
// because an engine's threads may spin after a run; the first run of a block is dropped; results are medians. Before
// that, load time, first run and peak memory are measured in separate processes, with the engines in turn.
#include <cstdio>
#include <optional>

#include "bench/bench_accuracy.h"
#include "bench/bench_ops.h"
#include "bench/bench_side.h"
#include "engine/tools_library.h"
#include "measure/peak.h"
#include "measure/stats.h"
#include "suite/suite_bench.h"

namespace retort::cli {
namespace {

constexpr int kLeastBlock = 5, kDecodeBlock = 16;
const CLI::Validator kBlock(
    [](const std::string& text) {
      int runs = 0;
      return CLI::detail::lexical_cast(text, runs) && runs >= kLeastBlock
                 ? ""
                 : "'" + text + "' is too short: a block has at least " + std::to_string(kLeastBlock) +
                       " runs, because the caches that the other engine left slow the first of them";
    },
    "");

struct BenchOptions : Common {
  SuiteOptions suite;
  std::vector<std::string> peers;
  double seconds = 4;
  int block = kLeastBlock, starts = 3;
  bool ops = false, strict = false, hand_back = false;
  std::string expected;  ///< folder with the correct outputs
};

/// The outputs that an engine's outputs are compared with, besides each other's.
struct Checks {
  std::vector<std::string> outputs;
  HostValues expected;  ///< empty if none are given
  std::optional<StrictRun> strict;
};

/// Below this, differences of a process's memory are noise, and ratios of them have no meaning.
constexpr double kLeastMib = 0.1;

double memory_ratio(double peer, double ours) { return std::max(peer, kLeastMib) / std::max(ours, kLeastMib); }

// The starts of one engine follow each other, and the first one does not count: it brings the file into the page cache,
// and leaves memory as the engine's next process finds it. Otherwise, on a virtual machine whose host takes free memory
// back (free page reporting), an engine would pay for memory that the other has freed, which costs many times the
// engine's own work.
void measure_starts(const BenchOptions& o, std::vector<BenchSide>& sides, HostValues& inputs) {
  for (const int threads : o.threads) {
    for (size_t e = 0; e < sides.size(); ++e)
      attempt(sides, e, [&](BenchSide& s) {
        measure_start(o, s.library, threads, inputs);
        std::vector<Start> all;
        for (int i = 0; i < o.starts; ++i) all.push_back(measure_start(o, s.library, threads, inputs));
        s.starts.push_back(median(std::move(all)));
      });
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

/// A peer's figures beside Retort's: ratios are the peer's figure divided by Retort's.
nlohmann::json peer_json(const BenchSide& ours, const BenchSide& peer, size_t i, double disagreement) {
  return {{"engine", peer.name},
          {"library", peer.library},
          {"ratio", peer.quantile(0.5) / ours.quantile(0.5)},
          {"min_ratio", peer.quantile(0) / ours.quantile(0)},
          {"start_ratio", peer.starts[i].total_ms() / ours.starts[i].total_ms()},
          {"peak_ratio", memory_ratio(peer.starts[i].peak_mib, ours.starts[i].peak_mib)},
          {"steady_ratio", memory_ratio(peer.starts[i].steady_mib, ours.starts[i].steady_mib)},
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
      "%s / retort %.3f (minima %.3f), load and first run %.3f, peak memory %.2f, steady %.2f; outputs differ by %.2g "
      "of their scale\n",
      name.c_str(), peer["ratio"].get<double>(), peer["min_ratio"].get<double>(), peer["start_ratio"].get<double>(),
      peer["peak_ratio"].get<double>(), peer["steady_ratio"].get<double>(), peer["disagreement"].get<double>());
}

/// Figures about the strict mode that need no other engine, followed by those that do.
nlohmann::json strict_json(const Checks& checks, const HostValues& ours, const HostValues* peer) {
  const StrictRun& strict = *checks.strict;
  nlohmann::json told = {{"median_ms", strict.ms},
                         {"ratio", strict.ms / std::max(strict.default_ms, 1e-9)},
                         {"from_default", distance(strict.outputs, ours)}};
  if (!checks.expected.empty()) told["deviation"] = distance(strict.outputs, checks.expected);
  if (peer) told["disagreement"] = distance(strict.outputs, *peer);
  return told;
}

/// The measurements of `sides` with the thread count of index `i`.
nlohmann::json row_json(const BenchOptions& o, std::vector<BenchSide>& sides, const Checks& checks, size_t i) {
  std::vector<HostValues> values(sides.size());
  for (size_t e = 0; e < sides.size(); ++e)
    attempt(sides, e, [&](BenchSide& s) { values[e] = s.side->values(checks.outputs); });
  nlohmann::json row = {
      {"threads", o.threads[i]}, {"sides", nlohmann::json::array()}, {"peers", nlohmann::json::array()}};
  for (size_t e = 0; e < sides.size(); ++e) {
    const BenchSide& s = sides[e];
    if (!s.failure.empty()) {
      row["peers"].push_back({{"engine", s.name}, {"library", s.library}, {"error", s.failure}});
      continue;
    }
    row["sides"].push_back(side_json(s, s.starts[i]));
    if (!checks.expected.empty()) row["sides"].back()["deviation"] = distance(values[e], checks.expected);
    if (e > 0) row["peers"].push_back(peer_json(sides[0], s, i, distance(values[0], values[e])));
  }
  if (checks.strict && i == 0) row["strict"] = strict_json(checks, values[0], values.size() > 1 ? &values[1] : nullptr);
  for (const char* key : {"ratio", "start_ratio", "disagreement"}) {
    if (sides.size() > 1) row[key] = row["peers"][0][key];
  }
  return row;
}

void print_accuracy(const nlohmann::json& row) {
  for (const auto& side : row["sides"]) {
    if (side.contains("deviation"))
      std::printf("%s: outputs are within %.2g of their scale of the expected ones\n",
                  side["engine"].get<std::string>().c_str(), side["deviation"].get<double>());
  }
  if (!row.contains("strict")) return;
  const auto& strict = row["strict"];
  std::printf("session.strict=1 takes %.3f times as long; outputs differ by %.2g of their scale",
              strict["ratio"].get<double>(), strict["from_default"].get<double>());
  if (strict.contains("deviation"))
    std::printf(", and by %.2g from the expected ones", strict["deviation"].get<double>());
  std::printf("\n");
}

void print(const BenchOptions& o, const std::vector<BenchSide>& sides, const nlohmann::json& row, size_t i) {
  if (i == 0) print_head();
  for (const BenchSide& s : sides) {
    if (s.failure.empty()) print_row(o.threads[i], s, s.starts[i]);
  }
  for (const auto& peer : row["peers"]) print_peer(peer);
  print_accuracy(row);
}

/// Arithmetic operations by node; empty if Retort, which counts them, is missing or cannot load the model.
std::map<std::string, double> operations(const BenchOptions& o, const HostValues& inputs) try {
  return operations_by_name(ToolsLibrary(o.library).describe(o.shaped_as(inputs)));
} catch (const Failure&) {
  return {};
}

/// The time by operator with the first thread count, for the engines that write a profile.
nlohmann::json ops_json(const BenchOptions& o, const std::vector<BenchSide>& sides, HostValues& inputs) {
  std::vector<const EngineLibrary*> engines;
  for (const BenchSide& s : sides) {
    if (s.failure.empty() && s.side->library()) engines.push_back(s.side->library());
  }
  SessionSettings settings = o.settings(o.threads[0]);
  settings.warns = false;  // the session that is measured later warns
  return measure_ops({.model = o.model,
                      .settings = settings,
                      .block = o.block,
                      .seconds = o.seconds,
                      .operations = operations(o, inputs),
                      .peak_gflops = peak_flops(o.threads[0]) / 1e9},
                     engines, inputs);
}

void bench(const BenchOptions& o) {
  std::vector<BenchSide> sides;
  sides.push_back({.library = default_library(o.library)});
  for (const std::string& peer : o.peers) sides.push_back({.library = peer});
  for (BenchSide& s : sides) s.name = name_apart(s.library);
  Ports ports;
  attempt(sides, 0, [&](BenchSide& s) { ports = ports_apart(o, s.library); });
  HostValues inputs = o.read_inputs(ports.inputs);
  Checks checks;
  for (const PortInfo& port : ports.outputs) checks.outputs.push_back(port.name);
  if (!o.expected.empty()) checks.expected = read_expected(o.expected, ports.outputs);
  measure_starts(o, sides, inputs);
  attempt_all(sides, [&](BenchSide& s) {
    s.side = open_side(s.library);
    if (o.hand_back) s.side->hand_back();
  });
  nlohmann::json report = nlohmann::json::array(), ops;
  if (o.ops) ops = ops_json(o, sides, inputs);  // before anything else is loaded
  if (o.strict) checks.strict = measure_strict(o, sides[0], o.block, o.seconds / 4, inputs);
  for (size_t i = 0; i < o.threads.size(); ++i) {
    attempt_all(sides, [&](BenchSide& s) { s.load(o.model, o.settings(o.threads[i]), inputs); });
    measure(sides, o.block, o.seconds);
    report.push_back(row_json(o, sides, checks, i));
    if (!o.json) print(o, sides, report.back(), i);
    if (o.ops && i == 0) report.back()["ops"] = ops;
  }
  if (o.ops && !o.json) print_ops(ops);
  if (o.json) std::printf("%s\n", report.dump(2).c_str());
}

/// The command line of this program that measures one scenario of a suite.
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
                                 std::to_string(scenario.hand_back ? std::max(o.block, kDecodeBlock) : o.block),
                                 "--starts",
                                 std::to_string(o.starts),
                                 "--seed",
                                 std::to_string(o.seed)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  for (const std::string& peer : o.peers) add("--against", peer);
  add("--library", o.library);
  if (scenario.hand_back) words.emplace_back("--hand-back");
  if (o.ops && !scenario.hand_back) words.emplace_back("--ops");
  if (o.strict && !scenario.hand_back) words.emplace_back("--strict");
  for (const std::string& entry : o.config) add("--config", entry);
  for (const std::string& name : o.disabled) add("--disable", name);
  for (const std::string& provider : o.providers) add("--provider", provider);
  for (const std::string& plugin : o.plugins) add("--plugin", plugin);
  if (o.vulkan) words.emplace_back("--vulkan");
  add("--virtual", o.declared);
  add("--inputs", scenario.inputs);
  add("--expected", scenario.expected);
  return words;
}

/// Measurements that are only made on request.
void add_extras(CLI::App& app, BenchOptions& o) {
  app.add_flag("--ops", o.ops,
               "also report the time of a run per operator, from the profilers of Retort and of those peers "
               "that have the C interface of ONNX Runtime: with the first of --threads, medians per node; with "
               "--suite on the page, in the Markdown and in the JSON");
  app.add_flag("--strict", o.strict,
               "also measure Retort with session.strict=1 (no shortcuts that cost accuracy), for a quarter of the time "
               "and with the first of --threads, and report how far the outputs differ");
  app.add_flag(
         "--hand-back", o.hand_back,
         "runs are steps of a decoder: outputs present… become the inputs past… or past_key_values… of the next run, "
         "attention_mask gets one more entry, position_ids are incremented; each block begins with the given inputs")
      ->excludes("--ops")
      ->excludes("--strict");
  CLI::Option* expected =
      app.add_option(
             "--expected", o.expected,
             "folder with output_0.pb (or .npy), output_1.pb, … in the order of the model's outputs: report how far "
             "each engine's outputs are from them")
          ->check(CLI::ExistingDirectory.description(""))
          ->type_name("DIR");
  app.get_option("--hand-back")->excludes(expected);
}

void add_bench(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "bench", "measure latency, load time and memory; with --against, engines side by side in one process");
  const auto o = std::make_shared<BenchOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  sub->add_option(
         "--against", o->peers,
         "library of an engine to compare with, for example libonnxruntime.so of the onnxruntime package, or "
         "libopenvino_c.so of the openvino package, which computes in float32 like the model, or, with "
         "':default' after its name, in the precision that it prefers; may be repeated: all run in turns in one "
         "process, and the ratios of the first are also the row's; a name without a slash is searched for in the "
         "library path (LD_LIBRARY_PATH)")
      ->type_name("FILE[:default]")
      ->allow_extra_args(false);
  o->add_threads(*sub, "thread counts to measure");
  sub->get_option("--threads")->delimiter(',')->type_name("N[,N]");
  sub->add_option("--seconds", o->seconds, "time to spend per thread count")->capture_default_str()->check(kPositive);
  sub->add_option("--block", o->block,
                  "runs of one engine before the other's turn; at least 5, because the caches that the other left slow "
                  "the first of them")
      ->capture_default_str()
      ->check(kBlock)
      ->type_name("N");
  sub->add_option("--starts", o->starts,
                  "processes per engine and thread count for load time and memory, after one that does not count")
      ->capture_default_str()
      ->check(kPositive);
  add_extras(*sub, *o);
  sub->footer("Example: retort bench resnet50.onnx --against libonnxruntime.so.1.32.0 --threads 1,2");
  o->suite.add(*sub);
  sub->get_option("MODEL")->required(false);
  sub->callback([o] {
    if (int(!o->model.empty()) + int(!o->suite.folders.empty()) + int(!o->suite.from.empty()) != 1)
      throw CLI::RequiredError("one of MODEL, --suite and --from");
    if (o->suite.chosen())
      bench_suite(o->suite, *o, [&o](const Scenario& s) { return scenario_words(*o, s); });
    else
      bench(*o);
  });
}

}  // namespace

extern const Command command_bench;
constinit const Command command_bench{30, add_bench};

}  // namespace retort::cli
