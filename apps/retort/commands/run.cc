// retort run: runs a model once or several times, and shows or saves its outputs.
#include <cstdio>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "measure/allocations.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

struct RunOptions : Common {
  std::string save, profile;
  int repeat = 1;
  bool copies = false;
};

/// The costs of a bound run besides computing.
struct Cost {
  std::optional<uint64_t> copied;       ///< bytes
  std::optional<uint64_t> allocations;  ///< of the whole process; the largest number of one run
  nlohmann::json copies;                ///< since the session was made, one entry per tensor and reason
};

/// Measures runs that write to the outputs of the last run, after two that may still allocate.
Cost measure_cost(EngineSession& session, BoundRun& bound) {
  constexpr int kRuns = 8;
  bound.keep_outputs();
  bound.run();
  bound.run();
  Cost cost;
  const auto before = session.copied_bytes();
  for (int i = 0; i < kRuns && allocations_are_counted(); ++i) {
    count_allocations(true);
    const uint64_t start = allocations();
    bound.run();
    const uint64_t made = allocations() - start;
    count_allocations(false);
    cost.allocations = std::max(cost.allocations.value_or(0), made);
  }
  if (before) cost.copied = (*session.copied_bytes() - *before) / kRuns;
  const std::string copies = session.copies();
  if (!copies.empty()) cost.copies = nlohmann::json::parse(copies).at("copies");
  return cost;
}

std::string told(std::optional<uint64_t> number, const char* unit, const char* otherwise) {
  return number ? std::to_string(*number) + unit : otherwise;
}

void print_text(const RunOptions& o, const EngineSession& session, const HostValues& inputs, const HostValues& outputs,
                const std::vector<double>& times, const Cost& cost) {
  for (const PortInfo& port : session.outputs())
    std::fputs(value_text(port.name, outputs.at(port.name)).c_str(), stdout);
  if (o.inputs.empty() && o.input_folder.empty() && !inputs.empty())
    std::printf("%s\n", paint(Paint::dim, "inputs are random (seed " + std::to_string(o.seed) +
                                              "); --input NAME=FILE gives actual data")
                            .c_str());
  if (o.repeat > 1)
    std::printf("%d runs: median %s ms, fastest %s ms, slowest %s ms\n", o.repeat,
                milliseconds_text(quantile(times, 0.5)).c_str(), milliseconds_text(quantile(times, 0)).c_str(),
                milliseconds_text(quantile(times, 1)).c_str());
  if (!o.copies) return;
  std::printf("a bound run copies %s and makes %s\n",
              told(cost.copied, " bytes", "(not reported by this engine)").c_str(),
              told(cost.allocations, " heap allocations", "(not counted in this build)").c_str());
  for (const nlohmann::json& c : cost.copies)
    std::printf("  %s: %s bytes in %s copies from %s to %s (%s)\n", c.at("tensor").get<std::string>().c_str(),
                c.at("bytes").dump().c_str(), c.at("count").dump().c_str(), c.at("from").get<std::string>().c_str(),
                c.at("to").get<std::string>().c_str(), c.at("cause").get<std::string>().c_str());
}

nlohmann::json report(const RunOptions& o, const EngineSession& session, const HostValues& inputs,
                      const HostValues& outputs, const std::vector<double>& times, const Cost& cost) {
  nlohmann::json all = {{"model", o.model}, {"engine", session.engine().name()}};
  for (const auto& [name, value] : inputs) {
    const HostTensor& t = value.tensor;
    const bool is_tensor = value.kind == HostValue::Kind::tensor;
    all["inputs"][name] =
        is_tensor ? nlohmann::json{{"type", type_name(t.type)}, {"shape", t.shape}} : value_json(value);
  }
  for (const auto& [name, value] : outputs) all["outputs"][name] = value_json(value);
  all["runs"] = {{"count", o.repeat},
                 {"median_ms", quantile(times, 0.5)},
                 {"min_ms", quantile(times, 0)},
                 {"max_ms", quantile(times, 1)}};
  if (o.copies) {
    all["per_run"] = {{"copied_bytes", nullptr}, {"allocations", nullptr}};
    if (cost.copied) all["per_run"]["copied_bytes"] = *cost.copied;
    if (cost.allocations) all["per_run"]["allocations"] = *cost.allocations;
    all["copies"] = cost.copies;
  }
  return all;
}

std::vector<double> run_often(BoundRun& bound, int repeat) {
  std::vector<double> times;
  Progress progress("running");
  for (int i = 0; i < repeat; ++i) {
    const auto begin = Clock::now();
    bound.run();
    times.push_back(milliseconds(Clock::now() - begin));
    if (repeat > 1) progress.show(double(i + 1) / repeat);
  }
  return times;
}

void run(const RunOptions& o) {
  if (!o.save.empty()) check_can_write(o.save, o.save.ends_with(".npz"));
  const EngineLibrary engine(default_library(o.library));
  SessionSettings settings = o.settings(o.threads.at(0));
  settings.profile = o.profile;
  EngineSession session(engine, o.model, settings);
  auto inputs = o.read_inputs(session.inputs());
  BoundRun bound(session, inputs);
  const std::vector<double> times = run_often(bound, o.repeat);
  const auto outputs = bound.values();
  const Cost cost = o.copies ? measure_cost(session, bound) : Cost();
  if (o.json)
    std::printf("%s\n", report(o, session, inputs, outputs, times, cost)
                            // Strings may contain any bytes.
                            .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                            .c_str());
  else
    print_text(o, session, inputs, outputs, times, cost);
  if (!o.save.empty()) write_values(o.save, outputs);
  if (!o.profile.empty()) std::fprintf(stderr, "profile: %s\n", session.end_profiling().c_str());
}

void add_run(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("run", "run a model on inputs from files (or random ones) and show or save its outputs");
  const auto o = std::make_shared<RunOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  o->random = false;
  sub->add_flag(
      "--random", o->random,
      "fill inputs that no file gives with random numbers; without it, this happens only if no input is given at all");
  o->add_threads(*sub, "threads inside an operator");
  sub->get_option("--threads")->expected(1)->type_name("N");
  sub->add_option("--repeat", o->repeat, "number of runs")->capture_default_str()->check(kPositive)->type_name("N");
  sub->add_option("--save", o->save,
                  "where to save the outputs: a folder (made if it does not exist), with a .npy for each, or a .pb "
                  "(ONNX protobuf) "
                  "for strings, sequences, maps and element types that numpy lacks; or a file .npz")
      ->type_name("DIR|FILE.npz");
  sub->add_flag(
      "--copies", o->copies,
      "report what a run with bound inputs and outputs costs besides computing: bytes that the engine copies and "
      "heap allocations; both should be 0");
  sub->add_option("--profile", o->profile, "write a Chrome trace to PREFIX_<time>.json; see retort profile")
      ->type_name("PREFIX");
  sub->footer(
      "A picture becomes (pixel / 255 * scale - mean) / std, per channel.\n\n"
      "Example: retort run model.onnx --input image=cat.jpg --resize 224x224 --mean 0.485,0.456,0.406 \\\n"
      "                               --std 0.229,0.224,0.225 --save out");
  sub->callback([o] { run(*o); });
}

}  // namespace

extern const Command command_run;
constinit const Command command_run{10, add_run};

}  // namespace retort::cli
