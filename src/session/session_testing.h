// Shared by the tests of sessions: makes a session of a graph and runs it on tensors.
#pragma once
#include <random>

#include "onnx/reader.h"
#include "passes/passes_testing.h"
#include "session/session.h"

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace retort {

/// A logger that keeps its lines.
struct LogLines {
  std::vector<std::string> all;
  Logger::Sink sink() {
    return [this](LogLevel, auto, auto, auto, std::string_view message) { all.emplace_back(message); };
  }
  Logger logger(LogLevel level = LogLevel::warning) { return Logger(level, "test", sink()); }
};

/// What optimised and unoptimised sessions are compared at.
inline constexpr OptimizationLevel kLevels[] = {OptimizationLevel::none, OptimizationLevel::all};

/// A convolution with random weights `w` of the given shape, and a bias.
inline ValueId conv(TestGraph& t, ValueId x, const std::string& w, Shape shape, Attributes attributes = {}) {
  return t.add("Conv", {x, t.weight(w, shape), t.weight(w + "b", {shape[0]})}, std::move(attributes));
}

/// A model of a copy of `graph`.
inline Model model_with(const Graph& graph) {
  Model m;
  m.dims = graph.shared_dims();
  m.graph = graph.clone();
  return m;
}
/// One that can be written to a file.
inline Model writable_model(const Graph& graph) {
  Model m = model_with(graph);
  m.ir_version = 8;
  m.opsets[""] = 17;
  return m;
}

/// A session of a copy of `graph`.
inline std::unique_ptr<Session> make_session(const Graph& graph, const SessionOptions& options) {
  return std::make_unique<Session>(std::make_shared<Environment>(EnvironmentOptions{}),
                                   std::make_shared<Model>(model_with(graph)), options);
}

/// Numbers between -2 and 2, the same for the same seed.
inline Value image(Shape shape, unsigned seed = 3) {
  std::mt19937 random(seed);
  Tensor t(DType::f32, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i)
    t.mutable_data<float>()[i] = std::uniform_real_distribution<float>(-2, 2)(random);
  return t;
}

/// The elements of a float32 tensor.
inline std::vector<float> floats(const Value& v) {
  const Tensor& t = *v.tensor();
  return {t.data<float>(), t.data<float>() + t.count()};
}

/// One run; inputs in the graph's order.
inline std::vector<Value> run(Session& session, const std::vector<Value>& inputs) {
  std::vector<const Value*> given;
  for (const Value& v : inputs) given.push_back(&v);
  std::vector<Value> results(session.outputs().size());
  std::vector<Value*> outputs;
  for (Value& v : results) outputs.push_back(&v);
  session.run(given, outputs, {}, nullptr);
  return results;
}

inline std::vector<Value> run(const Graph& graph, const std::vector<Value>& inputs, OptimizationLevel level) {
  SessionOptions options;
  options.optimization = level;
  options.threads.intra_threads = 1;
  return run(*make_session(graph, options), inputs);
}

/// The message of the error that such a run ends with.
inline std::string failure(const Graph& g, const std::vector<Value>& inputs) {
  try {
    run(g, inputs, OptimizationLevel::all);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

}  // namespace retort
