// Sessions of the C++ interface: options, metadata, adapters, asynchronous runs, edited models, packages, compiled
// models.
#define RETORT_API_DLOPEN
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "cxx_test.h"

namespace api = retort::api;

namespace cxx_test {
namespace {

using Floats = std::vector<float>;

void options() {
  api::Env env;
  api::SessionOptions o;
  o.threads(1).config("session.disable_prepacking", "1").dimension("n", 2);
  expect(o.config("session.disable_prepacking") == "1" && !o.config("session.nothing"), "entries are read again");
  Floats w{1, 0, 0, 1, 0, 0};
  const api::Value weights = api::Value::wrap(w, {3, 2});
  o.initializer("w", weights);
  api::Session session(env, model("dense.onnx"), o);
  expect(session.inputs()[0].tensor.shape[0] == 2, "a free dimension is fixed");
  Floats x{1, 2, 3, 4, 5, 6};
  const api::Value input = api::Value::wrap(x, {2, 3});
  expect(elements<float>(session.run({{"x", input}}, {"y"})[0]) == Floats({1.5f, 1, 4.5f, 4}),
         "an initializer of the caller");
  expect_error(ORT_INVALID_ARGUMENT, "", "two values and one name", [&] {
    const OrtValue* two[] = {weights, weights};
    const char* name = "w";
    o.external_initializers({&name, 1}, two);
  });
}

void metadata() {
  api::Env env;
  const api::Session session(env, model("dense.onnx"));
  const api::ModelMetadata m = session.metadata();
  expect(m.producer == "clients" && m.graph == "dense" && m.version == 3, "the metadata of the model");
  expect(m.graph_description == "tiny" && m.custom.at("made_by") == "make.py", "descriptions and entries");
  expect(session.metadata("made_by") == "make.py" && session.metadata("nothing").empty(), "one entry");
}

void runs() {
  api::Env env;
  api::SessionOptions o;
  o.threads(2);
  api::Session session(env, model("step.onnx"), o);
  Floats x{1, 1, 1, 1}, state{1, 2, 3, 4};
  const api::Value in = api::Value::wrap(x, {4}), old = api::Value::wrap(state, {4});
  const char* out = "state_out";
  {
    const api::NamedValue inputs[] = {{"x", in}, {"state", old}};
    auto later = session.run_async(inputs, {&out, 1});
    expect(elements<float>(later.get()[0]) == Floats({2, 3, 4, 5}), "a run on another thread");
    const Floats three(3, 1.0f);
    const api::Value bad = api::Value::wrap(std::span(three), {3});
    const api::NamedValue wrong[] = {{"x", bad}, {"state", old}};
    expect_error(ORT_INVALID_ARGUMENT, "x", "its error comes with the future", [&] {
      (void)session.run_async(wrong, {&out, 1}).get();
    });
  }
  const api::LoraAdapter adapter(model("state.onnx_adapter"));
  api::RunOptions adapted;
  adapted.tag("adapted").adapter(adapter);
  expect(elements<float>(session.run({{"x", in}}, {out}, adapted)[0]) == Floats({11, 21, 31, 41}), "an adapter");
  std::ifstream file(model("state.onnx_adapter"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const api::LoraAdapter from_bytes(std::as_bytes(std::span(bytes)));
  api::RunOptions stopped;
  stopped.adapter(from_bytes).terminate();
  expect_error(ORT_FAIL, "", "a terminated run", [&] { (void)session.run({{"x", in}}, {out}, stopped); });
  stopped.reset();
  expect(session.run({{"x", in}}, {out}, stopped).size() == 1, "a run that may continue");
}

void environments() {
  api::KeyValues config{{"a", "1"}};
  config.set("b", "2");
  expect(config.entries() == std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}, "keys and values");
  const api::Env first, second(ORT_LOGGING_LEVEL_ERROR, "cxx", config);
  expect(first.get() == second.get(), "environments are one");
}

/// A package whose only variant is for the CPU.
void packages() {
  std::string folder = (std::filesystem::temp_directory_path() / "cxx-package-XXXXXX").string();
  if (!mkdtemp(folder.data())) return expect(false, "a folder");
  std::filesystem::create_directories(folder + "/cpu");
  std::filesystem::copy(model("step.onnx"), folder + "/cpu/step.onnx");
  std::ofstream(folder + "/manifest.json") << R"({"schema_version": "1.0", "components": {"main": {"variants": {"cpu":
      {"ep": "CPUExecutionProvider", "executor_info": {"ort": {"model_file": "step.onnx"}}}}}}})";
  api::Env env;
  {
    const api::ModelPackage package(folder);
    expect(package.components() == std::vector<std::string>{"main"}, "components");
    expect(package.variants("main") == std::vector<std::string>{"cpu"}, "variants");
    expect(package.provider("main", "cpu") == "CPUExecutionProvider", "their provider");
    const api::PackageSelection selected = package.select(env, "main");
    expect(selected.variant() == "cpu" && selected.folder().filename() == "cpu", "the variant for this machine");
    expect(selected.open(env).inputs().size() == 2, "its session");
    expect_error(ORT_INVALID_ARGUMENT, "", "no such component", [&] { (void)package.select(env, "nothing"); });
  }
  std::filesystem::remove_all(folder);
}

/// Compiles a file to bytes, and bytes to a file; both run.
void compiling() {
  api::Env env;
  std::vector<std::byte> bytes;
  size_t pieces = 0;
  api::Compilation(env)
      .from(model("dense.onnx"))
      .to([&](std::span<const std::byte> piece) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        ++pieces;
      })
      .run();
  expect(pieces > 0 && api::Session(env, bytes).inputs().size() == 1, "a compiled model in memory");
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("cxx-compiled-" + std::to_string(getpid()) + ".onnx");
  std::filesystem::remove(file);
  api::Compilation(env).from(bytes).to(file).optimization(ORT_DISABLE_ALL).weightless(OrtWeightlessSupport_ALL).run();
  expect(api::Session(env, file).outputs()[0].name == "y", "a compiled model in a file");
  expect_error(ORT_FAIL, "disk full", "what the function throws", [&] {
    api::Compilation(env)
        .from(model("dense.onnx"))
        .to([](std::span<const std::byte>) { throw std::runtime_error("disk full"); })
        .run();
  });
  expect_error(ORT_INVALID_ARGUMENT, "", "nothing to compile", [&] { api::Compilation(env).to(file).run(); });
  std::filesystem::remove(file);
}

}  // namespace

void sessions() {
  environments();
  options();
  metadata();
  runs();
  packages();
  compiling();
}

}  // namespace cxx_test
