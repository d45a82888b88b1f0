// retort run: runs a model once or several times, and shows or saves its outputs.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "cli/interrupt.h"
#include "cli/modes.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "measure/allocations.h"
#include "measure/stats.h"
#include "results/expected.h"
#include "results/layers.h"
#include "results/run_list.h"
#include "results/top.h"

namespace retort::cli {
namespace {

struct RunOptions : Common {
  enum Mode : unsigned { once, list_of_runs, inner_values };
  static constexpr const char* kModes[] = {"for one set of inputs", "with --list", "with --layers"};
  static constexpr OptionUse kUses[] = {
      {"MODEL", 7},      {"--library", 7}, {"--config", 7}, {"--provider", 7}, {"--plugin", 7},   {"--vulkan", 7},
      {"--virtual", 7},  {"--json", 7},    {"--input", 5},  {"--inputs", 5},   {"--shape", 5},    {"--seed", 7},
      {"--resize", 7},   {"--scale", 7},   {"--mean", 7},   {"--std", 7},      {"--layout", 7},   {"--bgr", 7},
      {"--fit", 7},      {"--disable", 7}, {"--random", 7}, {"--threads", 7},  {"--parallel", 7}, {"--repeat", 1},
      {"--save", 3},     {"--csv", 3},     {"--copies", 1}, {"--profile", 3},  {"--top", 3},      {"--labels", 3},
      {"--expected", 1}, {"--rtol", 1},    {"--atol", 1},   {"--list", 2},     {"--layers", 4}};
  static constexpr Modes kTable{kModes, kUses};

  std::string save, profile, labels, list;
  Expectation expected;
  int repeat = 1;
  size_t top = 0;
  bool copies = false, csv = false, layers = false;
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

/// A finished run, or several on the same inputs.
struct Result {
  HostValues inputs, outputs;
  std::vector<double> times;
  nlohmann::json top, expected;  ///< null without the option
};

/// The classes with the highest scores of each output that has some.
nlohmann::json top_of(const HostValues& outputs, size_t count, const std::vector<std::string>& labels) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, value] : outputs) {
    if (value.kind != HostValue::Kind::tensor) continue;
    auto rows = top_classes(value.tensor, count, labels);
    if (rows.is_null()) continue;
    all[name] = std::move(rows);
    const auto classes = size_t(value.tensor.shape.back());
    if (!labels.empty() && labels.size() != classes)
      std::fprintf(stderr, "retort run: --labels has %zu name%s, and the output '%s' has %zu classes\n", labels.size(),
                   labels.size() == 1 ? "" : "s", clean(name).c_str(), classes);
  }
  if (all.empty()) throw WrongUsage("--top is not used: no output has scores of several classes; leave it out");
  return all;
}

void print_outputs(const EngineSession& session, const Result& r) {
  for (const PortInfo& port : session.outputs()) {
    std::fputs(value_text(clean(port.name), r.outputs.at(port.name)).c_str(), stdout);
    if (r.top.contains(port.name)) std::fputs(top_text(r.top[port.name]).c_str(), stdout);
  }
  if (!r.expected.is_null()) std::fputs(expected_text(r.expected).c_str(), stdout);
}

void print_text(const RunOptions& o, const EngineSession& session, const Result& r, const Cost& cost) {
  print_outputs(session, r);
  if (o.inputs.empty() && o.input_folder.empty() && !r.inputs.empty())
    std::printf("%s\n", paint(Paint::dim, "inputs are random (seed " + std::to_string(o.seed) +
                                              "); --input NAME=FILE gives actual data")
                            .c_str());
  if (o.repeat > 1)
    std::printf("%zu run%s: median %s ms, fastest %s ms, slowest %s ms\n", r.times.size(),
                r.times.size() == 1 ? "" : "s", milliseconds_text(quantile(r.times, 0.5)).c_str(),
                milliseconds_text(quantile(r.times, 0)).c_str(), milliseconds_text(quantile(r.times, 1)).c_str());
  if (!o.copies) return;
  std::printf("a bound run copies %s and makes %s\n",
              told(cost.copied, " bytes", "(not reported by this engine)").c_str(),
              told(cost.allocations, " heap allocations", "(not counted in this build)").c_str());
  for (const nlohmann::json& c : clean(cost.copies))
    std::printf("  %s: %s bytes in %s copies from %s to %s (%s)\n", c.at("tensor").get<std::string>().c_str(),
                c.at("bytes").dump().c_str(), c.at("count").dump().c_str(), c.at("from").get<std::string>().c_str(),
                c.at("to").get<std::string>().c_str(), c.at("cause").get<std::string>().c_str());
}

nlohmann::json result_json(const Result& r) {
  nlohmann::json all;
  for (const auto& [name, value] : r.inputs) {
    const HostTensor& t = value.tensor;
    const bool is_tensor = value.kind == HostValue::Kind::tensor;
    all["inputs"][name] =
        is_tensor ? nlohmann::json{{"type", type_name(t.type)}, {"shape", t.shape}} : value_json(value);
  }
  for (const auto& [name, value] : r.outputs) {
    all["outputs"][name] = value_json(value);
    if (r.top.contains(name)) all["outputs"][name]["top"] = r.top[name];
  }
  if (!r.expected.is_null()) all["expected"] = r.expected;
  return all;
}

nlohmann::json report(const RunOptions& o, const EngineSession& session, const Result& r, const Cost& cost) {
  nlohmann::json all = {{"model", o.model_name()}, {"engine", session.engine().name()}};
  all.update(result_json(r));
  all["runs"] = {{"count", r.times.size()},
                 {"median_ms", quantile(r.times, 0.5)},
                 {"min_ms", quantile(r.times, 0)},
                 {"max_ms", quantile(r.times, 1)}};
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
  for (int i = 0; i < repeat && (i == 0 || !interrupted()); ++i) {
    const auto begin = Clock::now();
    bound.run();
    times.push_back(milliseconds(Clock::now() - begin));
    if (repeat > 1) progress.show(double(i + 1) / repeat);
  }
  return times;
}

/// Throws if the outputs cannot all be in one table.
void check_table(const RunOptions& o, const EngineSession& session) {
  if (has_suffix(o.save, ".csv") && session.outputs().size() != 1)
    throw WrongUsage("--save " + o.save + " has room for one output, and the model has " +
                     std::to_string(session.outputs().size()) + "; give a folder and --csv");
}

void run_once(const RunOptions& o, EngineSession& session, const std::vector<std::string>& labels) {
  Result r{.inputs = o.read_inputs(session.inputs()), .outputs = {}, .times = {}, .top = {}, .expected = {}};
  const HostValues right = read_expectation(o.expected, session.outputs());
  BoundRun bound(session, r.inputs);
  if (o.repeat > 1) catch_interrupt();  // one run has no part that could be told
  r.times = run_often(bound, o.repeat);
  r.outputs = bound.values();
  if (o.top > 0) r.top = top_of(r.outputs, o.top, labels);
  if (!right.empty()) r.expected = compare_expected(r.outputs, right, o.expected);
  const Cost cost = o.copies ? measure_cost(session, bound) : Cost();
  if (o.json)
    print_json(report(o, session, r, cost));
  else
    print_text(o, session, r, cost);
  if (!o.save.empty()) write_values(o.save, r.outputs, o.csv);
  end_if_interrupted();
  if (!r.expected.is_null() && !r.expected["agree"]) throw Exit{kDifferent};
}

/// Ends a list at a run that failed: with --json, the report has the runs before it and the failure in its place.
[[noreturn]] void end_list(const RunOptions& o, nlohmann::json& all, const std::string& why, int code) {
  const size_t failed = all["runs"].size();
  const std::string text = "run " + std::to_string(failed) + ": " + why;
  if (!o.json || failed == 0) {
    if (code == kWrongUsage) throw WrongUsage(text);
    throw Failure(text);
  }
  all["runs"].push_back({{"error", why}});
  all.update({{"error", text}, {"exit_code", code}});
  print_json(all);
  std::fprintf(stderr, "retort run: %s\n", clean_lines(text).c_str());
  throw Exit{code};
}

void run_all(const RunOptions& o, EngineSession& session, const std::vector<std::string>& labels) {
  const auto list = read_run_list(o.list);
  catch_interrupt();
  nlohmann::json all = {
      {"model", o.model_name()}, {"engine", session.engine().name()}, {"runs", nlohmann::json::array()}};
  for (size_t i = 0; i < list.size() && !interrupted(); ++i) try {
      RunOptions one = o;
      one.inputs = list[i];
      Result r{.inputs = one.read_inputs(session.inputs()), .outputs = {}, .times = {}, .top = {}, .expected = {}};
      BoundRun bound(session, r.inputs);
      r.times = run_often(bound, 1);
      r.outputs = bound.values();
      if (o.top > 0) r.top = top_of(r.outputs, o.top, labels);
      if (!o.save.empty()) write_values(o.save + "/" + std::to_string(i), r.outputs, o.csv);
      if (!o.json) std::printf("%s\n", paint(Paint::bold, "run " + std::to_string(i)).c_str());
      if (!o.json) print_outputs(session, r);
      all["runs"].push_back(result_json(r));
      all["runs"].back()["ms"] = r.times.at(0);
    } catch (const WrongUsage& e) {
      end_list(o, all, e.what(), kWrongUsage);
    } catch (const Failure& e) {
      end_list(o, all, e.what(), kFailed);
    }
  if (o.json) print_json(all);
  end_if_interrupted();
}

void show_layers(const RunOptions& o) {
  catch_interrupt();
  const nlohmann::json layers = measure_layers(o);
  if (o.json)
    print_json({{"model", o.model_name()}, {"layers", layers}});
  else
    print_layers(clean(layers));
  end_if_interrupted();
}

/// Throws if outputs cannot be saved in a folder of that name, or if the name is that of a file.
void check_folder(const std::string& name) {
  refuse_dash("--save", name);
  std::string suffix = std::filesystem::path(name).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  std::error_code error;
  for (const char* of_files : {".npz", ".csv", ".npy", ".pb", ".json", ".txt", ".onnx"}) {
    if (suffix == of_files && !std::filesystem::is_directory(name, error))
      throw WrongUsage("--save " + name +
                       " names a file whose suffix is not .npz or .csv; for a folder of that name, add /");
  }
  check_can_write(name, false);
}

std::vector<NamedFile> files_read(const RunOptions& o) {
  std::vector<NamedFile> read = o.files_read();
  for (const std::string& place : o.expected.places) add_read_file(read, "--expected", place);
  read.push_back({"--labels", o.labels});
  return read;
}

void check_options(const RunOptions& o) {
  RunOptions::kTable.check(*o.command, o.layers          ? RunOptions::inner_values
                                       : !o.list.empty() ? RunOptions::list_of_runs
                                                         : RunOptions::once);
  check_needs(*o.command, "--labels", "--top");
  check_needs(*o.command, "--rtol", "--expected");
  check_needs(*o.command, "--atol", "--expected");
  check_needs(*o.command, "--csv", "--save");
  const bool file = has_suffix(o.save, ".npz") || has_suffix(o.save, ".csv");
  if (o.csv && file) throw WrongUsage("--csv is not used with --save " + o.save + ", which is a file; leave it out");
  if (!o.list.empty() && file)
    throw WrongUsage("--save with --list needs a folder; '" + o.save + "' would be one file");
  if (o.list == "-" && o.model_name() == "standard input")
    throw WrongUsage("MODEL and --list cannot both be standard input; name a file for one of them");
  if (file) check_output_files({{"--save", o.save}}, files_read(o));
  if (!o.save.empty() && !file) check_folder(o.save);
  if (!o.profile.empty()) check_can_write(o.profile + "_", true);
}

void run(const RunOptions& o) {
  check_options(o);
  if (o.layers) return show_layers(o);
  const std::vector<std::string> labels = o.labels.empty() ? std::vector<std::string>() : read_labels(o.labels);
  const EngineLibrary engine(default_library(o.library));
  SessionSettings settings = o.settings(o.threads.at(0));
  settings.profile = o.profile;
  EngineSession session(engine, o.model, settings);
  check_table(o, session);
  if (o.list.empty())
    run_once(o, session, labels);
  else
    run_all(o, session, labels);
  if (!o.profile.empty())
    std::fprintf(stderr, "retort run: the profile is %s\n", clean(session.end_profiling()).c_str());
}

/// Options about what is shown of the outputs.
void add_results(CLI::App& app, RunOptions& o) {
  constexpr const char* kGroup = "Results";
  app.add_option("--save", o.save,
                 "save the outputs: in a folder, which is made if it does not exist, each as .npy (as .pb, ONNX "
                 "protobuf, if it has texts, is a sequence or a map, or has a type that numpy lacks); all in one file "
                 ".npz; or the only one as .csv. With --list, the folder gets a folder for each run")
      ->type_name("DIR|FILE.npz|FILE.csv")
      ->group(kGroup);
  app.add_flag("--csv", o.csv, "save tensors as .csv, a row for each element of the first axis")->group(kGroup);
  app.add_option("--top", o.top, "show the N classes with the highest scores of each output")
      ->check(whole(1, 1000000))
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--labels", o.labels, "names of the classes for --top: a text file with one in each line")
      ->check(existing_file())
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--expected", o.expected.places,
                 "compare the outputs with expected ones: a folder with output_0.pb (or .npy), … or with what --save "
                 "wrote, or a file or value as for --input; may be repeated; exit code 3: they differ")
      ->type_name("DIR|[NAME=]FILE|VALUE")
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("--rtol", o.expected.rtol,
                 "relative tolerance: an element agrees if |actual - expected| <= atol + rtol * |expected|")
      ->check(real(0, 1e30))
      ->capture_default_str()
      ->type_name("X")
      ->group(kGroup);
  app.add_option("--atol", o.expected.atol, "absolute tolerance, the other part of that sum")
      ->check(real(0, 1e30))
      ->capture_default_str()
      ->type_name("X")
      ->group(kGroup);
  app.add_flag("--layers", o.layers, "show statistics and a histogram of every value inside the model")
      ->excludes("--list")
      ->group(kGroup);
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
      "fill inputs that are not given with random numbers; without it, this happens only if no input is given at all");
  o->add_threads(*sub, "threads inside an operator");
  sub->add_option("--repeat", o->repeat, "number of runs")
      ->capture_default_str()
      ->check(whole(1, 10000000))
      ->type_name("N");
  sub->add_option("--list", o->list,
                  "run once for each line of a text file, whose words are inputs as --input takes them; - reads "
                  "standard input")
      ->check(existing_file(true))
      ->type_name("FILE");
  add_results(*sub, *o);
  sub->add_flag(
      "--copies", o->copies,
      "report what a run with bound inputs and outputs costs besides computing: bytes that the engine copies and "
      "heap allocations; both should be 0");
  sub->add_option("--profile", o->profile, "write a Chrome trace to PREFIX_<time>.json; see retort profile")
      ->type_name("PREFIX");
  sub->footer(
      "A picture becomes (pixel / 255 * scale - mean) / std, per channel.\n\n"
      "Examples: retort run model.onnx --input image=cat.jpg --resize 224x224 --mean 0.485,0.456,0.406 --std "
      "0.229,0.224,0.225 --top 5 --labels classes.txt\n"
      "          retort run model.onnx -i sr=16000 -i audio=a.wav --save out\n"
      "          retort run model.onnx --inputs test_data_set_0 --expected test_data_set_0");
  RunOptions::kTable.cover(*sub);
  sub->callback([o] { run(*o); });
}

}  // namespace

extern const Command command_run;
constinit const Command command_run{10, add_run};

}  // namespace retort::cli
