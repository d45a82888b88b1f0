// retort run: one model, once or several times, outputs shown or saved.
#include <cmath>
#include <cstring>
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
  Summary s;
  if (t.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || t.count() == 0) return s;
  const auto* v = reinterpret_cast<const float*>(t.bytes.data());
  s = {v[0], v[0], 0, true};
  for (size_t i = 0; i < t.count(); ++i) {
    s.low = std::min(s.low, double(v[i]));
    s.high = std::max(s.high, double(v[i]));
    s.mean += v[i] / double(t.count());
  }
  return s;
}

void print_text(const std::map<std::string, HostTensor>& outputs) {
  for (const auto& [name, t] : outputs) {
    const Summary s = summarise(t);
    std::printf("%-24s %s %s", name.c_str(), type_name(t.type), dims_text(t.shape).c_str());
    if (s.valid) std::printf("   min %.6g  mean %.6g  max %.6g", s.low, s.mean, s.high);
    std::printf("\n");
  }
}

void print_json(const std::map<std::string, HostTensor>& outputs) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, t] : outputs) {
    all[name] = {{"type", type_name(t.type)}, {"shape", t.shape}};
    const Summary s = summarise(t);
    if (s.valid) all[name].update({{"min", s.low}, {"mean", s.mean}, {"max", s.high}});
  }
  std::printf("%s\n", all.dump(2).c_str());
}

void run(const Options& o) {
  const EngineLibrary engine(default_library(o.library));
  SessionSettings settings = o.settings(o.thread_counts().at(0));
  settings.profile = o.profile;
  EngineSession session(engine, o.model, settings);
  auto inputs = o.read_inputs(session.inputs());
  BoundRun bound(session, inputs);
  for (int i = 0; i < o.repeat; ++i) bound.run();
  const auto outputs = bound.outputs();
  o.json ? print_json(outputs) : print_text(outputs);
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
  sub->add_option("--threads", o->threads, "threads inside an operator")->capture_default_str();
  sub->add_option("--repeat", o->repeat, "number of runs")->capture_default_str()->check(CLI::PositiveNumber);
  sub->add_option("--save", o->save, "folder for the outputs, one .npy each");
  sub->add_option("--profile", o->profile, "write a Chrome trace to <prefix>_<time>.json");
  sub->footer("example: retort run resnet50.onnx --input input=cat.npy --save out");
  sub->callback([o] { run(*o); });
}

}  // namespace retort::cli
