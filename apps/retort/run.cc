// retort run: one model, once or several times, outputs shown or saved.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "tensors.h"

namespace retort::cli {
namespace {

struct Options : Common {
  std::string save, profile;
  int repeat = 1;
};

std::string dims_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "x" : "") + std::to_string(shape[i]);
  return text.empty() ? "scalar" : text;
}

std::string file_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == ':' || c == '\\') c = '_';
  }
  return name + ".npy";
}

struct Summary {
  double low = 0, high = 0, mean = 0;
  bool valid = false;
};

Summary summarise(const HostTensor& t) {
  const size_t n = t.count();
  if (n == 0 || !is_real(t.type)) return {};
  Summary s{number(t, 0), number(t, 0), 0, true};
  for (size_t i = 0; i < n; ++i) {
    const double v = number(t, i);
    s.low = std::min(s.low, v);
    s.high = std::max(s.high, v);
    s.mean += v / double(n);
  }
  return s;
}

constexpr size_t kShown = 10;  // outputs of up to so many numbers are printed whole

void print_text(const PortInfo& port, const HostTensor* t) {
  if (!t) {
    std::printf("%-24s not a tensor of numbers: not shown\n", port.name.c_str());
    return;
  }
  std::printf("%-24s %s %s", port.name.c_str(), type_name(t->type), dims_text(t->shape).c_str());
  const Summary s = summarise(*t);
  if (s.valid && t->count() > kShown) std::printf("   min %.6g  mean %.6g  max %.6g", s.low, s.mean, s.high);
  if (s.valid && t->count() <= kShown) {
    std::printf("  ");
    for (size_t i = 0; i < t->count(); ++i) {
      const double v = number(*t, i);
      std::printf(" %.*g", v == std::floor(v) ? 15 : 6, v);
    }
  }
  std::printf("\n");
}

nlohmann::json json_of(const HostTensor& t) {
  nlohmann::json all = {{"type", type_name(t.type)}, {"shape", t.shape}};
  const Summary s = summarise(t);
  if (s.valid) all.update({{"min", s.low}, {"mean", s.mean}, {"max", s.high}});
  return all;
}

void print(const std::vector<PortInfo>& ports, const std::map<std::string, HostTensor>& outputs, bool json) {
  nlohmann::json all = nlohmann::json::object();
  for (const PortInfo& port : ports) {
    const auto found = outputs.find(port.name);
    if (!json) print_text(port, found == outputs.end() ? nullptr : &found->second);
    if (json && found != outputs.end()) all[port.name] = json_of(found->second);
  }
  if (json) std::printf("%s\n", all.dump(2).c_str());
}

void run(const Options& o) {
  const EngineLibrary engine(default_library(o.library));
  SessionSettings settings = o.settings(o.threads.at(0));
  settings.profile = o.profile;
  EngineSession session(engine, o.model, settings);
  auto inputs = o.read_inputs(session.inputs());
  BoundRun bound(session, inputs);
  for (int i = 0; i < o.repeat; ++i) bound.run();
  const auto outputs = bound.outputs();
  print(session.outputs(), outputs, o.json);
  if (!o.save.empty()) {
    std::filesystem::create_directories(o.save);
    for (const auto& [name, t] : outputs) write_npy(o.save + "/" + file_name(name), t);
  }
  if (!o.profile.empty()) std::fprintf(stderr, "profile: %s\n", session.end_profiling().c_str());
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("run", "run a model on inputs from files (or random ones) and show or save its outputs");
  const auto o = std::make_shared<Options>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_threads(*sub, "threads inside an operator");
  sub->get_option("--threads")->expected(1)->type_name("N");
  sub->add_option("--repeat", o->repeat, "number of runs")
      ->capture_default_str()
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
  sub->add_option("--save", o->save, "folder for the outputs, one .npy each; made where there is none")
      ->type_name("DIR");
  sub->add_option("--profile", o->profile, "write a Chrome trace to PREFIX_<time>.json")->type_name("PREFIX");
  sub->footer("Example: retort run model.onnx --input image=cat.npy --save out");
  sub->callback([o] { run(*o); });
}

}  // namespace retort::cli
