// What tests of the parts of a session share: ports and routes of small models, without a session around them.
#pragma once
#include <gtest/gtest.h>

#include "base/error.h"
#include "passes/passes_testing.h"
#include "session/environment.h"
#include "session/routes.h"
#include "session/threads.h"

namespace retort::testing {

/// A model in memory with inputs `a` and `b` of shape [n] and an overridable input `w` of shape [1], whose value is 10;
/// y = (a + b) · w. Not overridable: `w` is a constant.
struct SmallModel {
  explicit SmallModel(bool overridable = true) {
    model.ir_version = 8;
    model.opsets[""] = 17;
    Graph& g = *model.graph;
    const ValueType vector = ValueType::tensor(DType::f32, Shape{model.dims->symbol("n")});
    a = input("a", vector);
    b = input("b", vector);
    const Tensor ten = Tensor::of<float>({1}, {10});
    w = overridable ? input("w", ValueType::tensor(DType::f32, Shape{1})) : g.add_constant("w", ten);
    if (overridable) g.defaults[w] = ten;
    y = node("Mul", {node("Add", {a, b}, "sum"), w}, "y");
    g.value(y).type = vector;
    g.outputs = {y};
  }
  ValueId input(const char* name, const ValueType& type) {
    return model.graph->inputs.emplace_back(model.graph->add_value(name, type));
  }
  ValueId node(const char* type, std::vector<ValueId> inputs, const char* name) {
    Graph& g = *model.graph;
    const NodeId id = g.add({.type = type, .inputs = std::move(inputs), .version = 17});
    g.value(g.node(id).outputs[0]).name = name;
    return g.node(id).outputs[0];
  }
  Model model;
  ValueId a, b, w, y;
};

/// The ports of a model in a session without devices.
inline Ports ports_of(const Model& model) {
  return Ports(model, std::make_unique<DimTable>(*model.dims), std::make_shared<Devices>());
}

inline Value vector(const std::vector<float>& content) { return Tensor::of<float>({int64_t(content.size())}, content); }

/// What a session without devices has before its routes.
class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    devices.devices = std::make_shared<Devices>(environment.devices(), std::vector<SessionMemory>());
    devices.uploads = std::make_shared<Uploads>(devices.devices);
  }
  static SessionOptions one_thread() {
    SessionOptions options;
    options.threads.intra_threads = 1;
    return options;
  }
  Logger log() {
    return Logger(LogLevel::warning, "test",
                  [this](LogLevel, auto, auto, auto, std::string_view text) { warnings.emplace_back(text); });
  }

  std::vector<std::string> warnings;
  SessionOptions options = one_thread();
  Environment environment{EnvironmentOptions{}};
  const Logger logger = log();
  SessionDevices devices;
  SessionThreads threads{options, environment};
  const PlanMaker plans{PlanMaker::Parts{options, logger, devices, environment.weights(), threads.inside()}};
};

/// The message of the error that `f` throws; "no error" without one.
template <typename F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

/// Expects that `text` contains `part`.
inline void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace retort::testing
