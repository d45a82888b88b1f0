// Tests the effects of options of sessions and runs.
#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kCount = 1 << 20;  // enough work for more than one thread
constexpr float kSmallest = std::numeric_limits<float>::min();

/// y = x / 2
void half(TestGraph& t) { t.output(t.add("Mul", {t.input("x", {kCount}), t.scalar(0.5f)}), "y"); }

/// The number of elements of y that are 0 if all of x are the smallest normal number.
size_t zeros(Session& session) {
  Tensor x(DType::f32, {kCount});
  std::fill_n(x.mutable_data<float>(), kCount, kSmallest);
  const std::vector<Value> y = run(session, {Value(std::move(x))});
  const float* data = y[0].tensor()->data<float>();
  return size_t(std::count(data, data + kCount, 0.0f));
}

TEST(Options, DenormalsAreZerosOnEveryThreadOfARun) {
  TestGraph t;
  half(t);
  for (const int threads : {1, 3}) {
    SCOPED_TRACE(threads);
    SessionOptions options;
    options.threads.intra_threads = threads;
    EXPECT_EQ(zeros(*make_session(t.g, options)), 0u);
    options.config["session.set_denormal_as_zero"] = "1";
    EXPECT_EQ(zeros(*make_session(t.g, options)), size_t(kCount));
    const volatile float smallest = kSmallest;
    EXPECT_NE(smallest / 2, 0.0f) << "the state of the caller's thread has changed";
  }
}

TEST(Options, DenormalsAreZerosOnSharedThreads) {
  TestGraph t;
  half(t);
  const auto model = std::make_shared<Model>(model_with(t.g));
  EnvironmentOptions environment;
  environment.threads = ThreadSettings{.intra_threads = 3, .denormal_as_zero = true};
  SessionOptions options;
  options.own_threads = false;
  Session session(std::make_shared<Environment>(std::move(environment)), model, options);
  EXPECT_EQ(zeros(session), size_t(kCount));
}

std::vector<std::string> files_with(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> found;
  DIR* const open = opendir(folder.c_str());
  while (const dirent* entry = readdir(open)) {
    const std::string name = entry->d_name;
    if (name.starts_with(prefix)) found.push_back(folder + name);
  }
  closedir(open);
  return found;
}

TEST(Options, EachProfiledRunWritesASeparateProfile) {
  TestGraph t;
  half(t);
  SessionOptions options;
  options.threads.intra_threads = 1;
  const auto session = make_session(t.g, options);
  const std::string folder = ::testing::TempDir(), prefix = cat("retort_run_{}", getpid());
  const Value x(Tensor(DType::f32, {kCount}));
  const Value* inputs[] = {&x};
  RunOptions run_options;
  run_options.profile_prefix = folder + prefix;
  for (const bool profiling : {true, false, true}) {
    Value y;
    Value* outputs[] = {&y};
    run_options.profiling = profiling;
    session->run(inputs, outputs, {}, &run_options);
  }
  const std::vector<std::string> files = files_with(folder, prefix);
  EXPECT_EQ(files.size(), 2u);
  for (const std::string& file : files) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_CONTAINS(text, "\"name\":\"model_run\"");
    EXPECT_CONTAINS(text, "\"op_name\":\"Mul\"");
    unlink(file.c_str());
  }
}

TEST(Options, TheLogNamesOptionsWithoutEffect) {
  TestGraph t;
  half(t);
  SessionOptions options;
  std::string log;
  options.log.severity = int(LogLevel::info);
  options.log.sink = [&](LogLevel, std::string_view, std::string_view, std::string_view, std::string_view message) {
    log += message;
  };
  make_session(t.g, options);
  EXPECT_EQ(log.find("no effect"), std::string::npos) << log;
  options.threads.inter_threads = 2;
  options.hints.memory_pattern = false;
  make_session(t.g, options);
  EXPECT_CONTAINS(log, "2 inter-op threads have no effect");
  EXPECT_CONTAINS(log, "pattern");
}

TEST(Options, TheLogNamesUnknownPasses) {
  TestGraph t;
  half(t);
  SessionOptions options;
  std::string log;
  options.log.severity = int(LogLevel::warning);
  options.log.sink = [&](LogLevel, std::string_view, std::string_view, std::string_view, std::string_view message) {
    log += message;
  };
  options.config["optimization.disable_specified_optimizers"] = "epilogues;epilogue_relu";
  make_session(t.g, options);
  EXPECT_EQ(log, "");
  options.config["optimization.disable_specified_optimizers"] = "epilogues;epilogue;wholly_unlike";
  make_session(t.g, options);
  EXPECT_CONTAINS(log, "no pass or rule 'epilogue'; use 'epilogues'");
  EXPECT_CONTAINS(log, "no pass or rule 'wholly_unlike'; the passes are affine, attention, ");
}

TEST(Options, LargeWeightsOfASavedModelGoToAFileBesideIt) {
  TestGraph t;
  t.output(t.add("Add", {t.input("x", {300}), t.weight("w", {300})}), "y");
  const std::string folder = ::testing::TempDir(), name = cat("retort_saved_{}", getpid());
  SessionOptions options;
  options.optimized_model_path = folder + name + ".onnx";
  options.config["session.optimized_model_external_initializers_file_name"] = name + ".data";
  options.config["session.optimized_model_external_initializers_min_size_in_bytes"] = "1200";
  const std::vector<Value> inputs{Value(random_inputs(t.g)[0])};
  const std::vector<Value> y = run(*make_session(t.g, options), inputs);
  EXPECT_EQ(files_with(folder, name + ".data").size(), 1u);
  {
    Session again(std::make_shared<Environment>(EnvironmentOptions{}), options.optimized_model_path, {});
    expect_equal_results({*y[0].tensor()}, {*run(again, inputs)[0].tensor()});
  }
  for (const std::string& file : files_with(folder, name)) unlink(file.c_str());
  options.config["session.optimized_model_external_initializers_min_size_in_bytes"] = "1 KB";
  EXPECT_THROW(make_session(t.g, options), Error);
  options.config["session.save_model_format"] = "TXT";
  EXPECT_THROW(make_session(t.g, options), Error);
}

TEST(Options, SavedInOrtFormatByNameOrKey) {
  TestGraph t;
  t.output(t.add("Add", {t.input("x", {300}), t.weight("w", {300})}), "y");
  const std::vector<Value> inputs{Value(random_inputs(t.g)[0])};
  for (const char* suffix : {".ort", ".ORT", ".onnx"}) {
    SessionOptions options;
    options.optimized_model_path = cat("{}retort_saved_{}{}", ::testing::TempDir(), getpid(), suffix);
    if (suffix == std::string(".onnx")) options.config["session.save_model_format"] = "ORT";
    const std::vector<Value> y = run(*make_session(t.g, options), inputs);
    SessionOptions reading;
    reading.config["session.load_model_format"] = "ORT";
    Session again(std::make_shared<Environment>(EnvironmentOptions{}), options.optimized_model_path, reading);
    expect_equal_results({*y[0].tensor()}, {*run(again, inputs)[0].tensor()});
    unlink(options.optimized_model_path.c_str());
  }
}

TEST(Options, OrtFormatHasNoOperatorsThatAreFunctionsElsewhere) {
  TestGraph t;
  const ValueId x = t.input("x", {8});
  t.output(t.add("Mul", {x, t.add("Sigmoid", {x})}), "y");
  for (const char* suffix : {".ort", ".onnx"}) {
    SessionOptions options;
    options.optimized_model_path = cat("{}retort_silu_{}{}", ::testing::TempDir(), getpid(), suffix);
    make_session(t.g, options);
    const auto saved = load_model(options.optimized_model_path);
    size_t swish = 0;
    for (const NodeId id : saved->graph->order()) swish += saved->graph->node(id).type == "Swish";
    EXPECT_EQ(swish, suffix == std::string(".ort") ? 0u : 1u);
    unlink(options.optimized_model_path.c_str());
  }
}

}  // namespace
}  // namespace retort
