// retort bench: the latency of one engine, or of several side by side in one process. Blocks of runs alternate (A B, B
// A, A B, …), so that neither engine always runs on the caches that the other left. There is a pause before each block,
// because an engine's threads may spin after a run; the first run of a block is dropped; results are medians. Before
// that, load time, first run and peak memory are measured in separate processes, with the engines in turn.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "bench/bench_ops.h"
#include "bench/bench_report.h"
#include "bench/concurrent.h"
#include "cli/interrupt.h"
#include "cli/modes.h"
#include "cli/text.h"
#include "engine/tools_library.h"
#include "measure/peak.h"

namespace retort::cli {
namespace {

constexpr int kLeastBlock = 5, kDecodeBlock = 16;

enum BenchMode : unsigned { kOneModel, kSuite, kFrom };
constexpr const char* kBenchModes[] = {"for one MODEL", "with --suite", "with --from"};
constexpr OptionUse kBenchUses[] = {
    {"MODEL", 1},     {"--library", 3},   {"--config", 3},      {"--provider", 3},    {"--plugin", 3},
    {"--vulkan", 3},  {"--virtual", 3},   {"--json", 7},        {"--input", 1},       {"--inputs", 1},
    {"--shape", 1},   {"--seed", 3},      {"--resize", 1},      {"--scale", 1},       {"--mean", 1},
    {"--std", 1},     {"--layout", 1},    {"--bgr", 1},         {"--fit", 1},         {"--disable", 3},
    {"--against", 3}, {"--threads", 3},   {"--parallel", 3},    {"--seconds", 3},     {"--block", 3},
    {"--runs", 3},    {"--warmup", 3},    {"--percentiles", 1}, {"--concurrency", 1}, {"--starts", 3},
    {"--ops", 3},     {"--strict", 3},    {"--hand-back", 1},   {"--expected", 1},    {"--suite", 2},
    {"--only", 2},    {"--precision", 2}, {"--from", 4},        {"--report", 6},      {"--html", 6},
    {"--markdown", 6}};
constexpr Modes kBenchTable(kBenchModes, kBenchUses);

/// Starts an engine until it does not get much faster any more, and returns the last start. Those before it do not
/// count: they bring the file into the page cache, and leave memory as the engine's next process finds it. Otherwise, on
/// a virtual machine whose host takes free memory back (free page reporting), an engine would pay for memory that the
/// other has freed, which costs many times the engine's own work.
Start warm_start(const BenchOptions& o, const std::string& library, int threads, HostValues& inputs) {
  constexpr int kMost = 4;
  constexpr double kMuchFaster = 0.75;
  Start last = measure_start(o, library, threads, inputs);
  for (int i = 0; i < kMost; ++i) {
    const double before = last.total_ms();
    last = measure_start(o, library, threads, inputs);
    if (last.total_ms() > kMuchFaster * before) break;
  }
  return last;
}

void measure_starts(const BenchOptions& o, std::vector<BenchSide>& sides, HostValues& inputs) {
  for (const int threads : o.threads) {
    for (size_t e = 0; e < sides.size(); ++e)
      attempt(sides, e, [&](BenchSide& s) {
        std::vector<Start> all = {warm_start(o, s.library, threads, inputs)};
        while (all.size() < size_t(o.starts)) all.push_back(measure_start(o, s.library, threads, inputs));
        s.starts.push_back(median(std::move(all)));
      });
  }
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

void add_concurrent(const BenchOptions& o, std::vector<BenchSide>& sides, HostValues& inputs, size_t i,
                    nlohmann::json& row) {
  SessionSettings settings = o.settings(o.threads[i]);
  settings.warns = false;  // the session that was measured before has warned
  const Callers callers{.count = o.concurrency, .seconds = o.seconds, .runs = o.runs, .percentiles = o.percentiles};
  row["concurrent"] = measure_concurrent(sides, o.model, settings, inputs, callers);
  if (!o.json) print_concurrent(row["concurrent"], o.given("--percentiles") ? o.percentiles : std::vector<double>());
}

void bench(const BenchOptions& o) {
  catch_interrupt();
  std::vector<BenchSide> sides;
  sides.push_back({.library = default_library(o.library)});
  for (const std::string& peer : o.peers) sides.push_back({.library = peer});
  for (BenchSide& s : sides) s.name = name_apart(s.library);
  if (o.strict && !sides[0].name.starts_with("Retort "))
    throw WrongUsage("--strict is not used with " + sides[0].name +
                     ": session.strict is an entry of Retort's; leave it out");
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
  for (size_t i = 0; i < o.threads.size() && (i == 0 || !interrupted()); ++i) {  // once, so that there are results
    attempt_all(sides, [&](BenchSide& s) { s.load(o.model, o.settings(o.threads[i]), inputs, o.warmup); });
    measure(sides, {.block = o.block, .seconds = o.seconds, .runs = o.runs});
    report.push_back(row_json(o, sides, checks, i));
    if (!o.json) print_bench(o, sides, report.back(), i);
    if (o.ops && i == 0) report.back()["ops"] = ops;
    if (o.concurrency > 0 && !interrupted()) add_concurrent(o, sides, inputs, i, report.back());
  }
  if (o.ops && !o.json) print_ops(ops);
  if (o.json) print_json(report);
  end_if_interrupted();
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
                                 "--block",
                                 std::to_string(scenario.hand_back ? std::max(o.block, kDecodeBlock) : o.block),
                                 "--starts",
                                 std::to_string(o.starts),
                                 "--warmup",
                                 std::to_string(o.warmup)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  if (scenario.inputs.empty()) add("--seed", std::to_string(o.seed));
  add(o.runs > 0 ? "--runs" : "--seconds", o.runs > 0 ? std::to_string(o.runs) : std::to_string(o.seconds));
  if (o.parallel) words.emplace_back("--parallel");
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
               "also report the time per operator with the first of --threads, from the profilers of Retort and of "
               "peers with the C interface of ONNX Runtime; with --suite, the page, the Markdown and the JSON have it");
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
          ->check(existing_folder())
          ->type_name("DIR");
  app.get_option("--hand-back")->excludes(expected)->excludes("--concurrency");
}

/// How much is measured.
void add_amounts(CLI::App& app, BenchOptions& o) {
  app.add_option("--seconds", o.seconds, "time to spend per thread count")
      ->check(real(0, 86400, true))
      ->capture_default_str()
      ->type_name("X");
  app.add_option("--runs", o.runs, "runs of each engine per thread count, in place of --seconds")
      ->check(whole(1, 10000000))
      ->excludes("--seconds")
      ->type_name("N");
  app.add_option("--warmup", o.warmup, "runs after loading that do not count")
      ->check(whole(1, 1000000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option(
         "--block", o.block,
         "runs of one engine until it is the next one's turn, after 50 ms in which threads stop spinning; at least "
         "5, because the first ones are slowed by what the other engine left in the caches")
      ->capture_default_str()
      ->check(whole(kLeastBlock, 100000))
      ->type_name("N");
  app.add_option("--starts", o.starts,
                 "processes per engine and thread count for load time and memory, after one that does not count")
      ->capture_default_str()
      ->check(whole(1, 1000))
      ->type_name("N");
  add_list(app, "--percentiles", o.percentiles, "percentiles of the latency to report, such as 50,90,99.9",
           real(0, 100))
      ->default_str("50,90,95,99")
      ->type_name("X[,X]");
  app.add_option("--concurrency", o.concurrency,
                 "also measure the throughput and the latency of one session that N threads call at the same time, for "
                 "--seconds, or with --runs of each thread")
      ->check(whole(1, 1024))
      ->type_name("N");
}

/// Throws WrongUsage if a list has a number twice, which would make two columns of one name.
template <typename Number>
void refuse_repeated(const char* option, const std::vector<Number>& list) {
  for (auto at = list.begin(); at != list.end(); ++at) {
    if (std::find(list.begin(), at, *at) == at) continue;
    std::ostringstream text;
    text << *at;
    throw WrongUsage(std::string(option) + " has " + text.str() + " twice; leave one of them out");
  }
}

void check_and_bench(const BenchOptions& o) {
  const SuiteOptions& suite = o.suite;
  if (int(!o.model.empty()) + int(!suite.folders.empty()) + int(!suite.from.empty()) != 1)
    throw WrongUsage("give one of MODEL, --suite and --from");
  refuse_repeated("--threads", o.threads);
  refuse_repeated("--percentiles", o.percentiles);
  refuse_same_files("--against", o.peers);
  kBenchTable.check(*o.command, !o.model.empty() ? kOneModel : suite.from.empty() ? kSuite : kFrom);
  if (suite.chosen())
    bench_suite(suite, o, [&o](const Scenario& s) { return scenario_words(o, s); });
  else
    bench(o);
}

void add_bench(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "bench", "measure latency, load time and memory; with --against, engines side by side in one process");
  const auto o = std::make_shared<BenchOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  sub->add_option("--against", o->peers,
                  "library of an engine to compare with, for example libonnxruntime.so of the onnxruntime package, or "
                  "libopenvino_c.so of the openvino package: OpenVINO computes in float32, or in the precision that it "
                  "prefers if ':default' follows the name; may be repeated: all engines run in turns in one process; a "
                  "name without a slash is searched for in the library path (LD_LIBRARY_PATH)")
      ->type_name("FILE[:default]")
      ->allow_extra_args(false);
  o->add_threads(*sub, "thread counts to measure", true);
  add_amounts(*sub, *o);
  add_extras(*sub, *o);
  sub->footer("Example: retort bench resnet50.onnx --against libonnxruntime.so.1.32.0 --threads 1,2");
  o->suite.add(*sub);
  sub->get_option("MODEL")->required(false);
  kBenchTable.cover(*sub);
  sub->callback([o] { check_and_bench(*o); });
}

}  // namespace

extern const Command command_bench;
constinit const Command command_bench{30, add_bench};

}  // namespace retort::cli
