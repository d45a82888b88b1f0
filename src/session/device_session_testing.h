// Shared by the tests of sessions with devices.
#pragma once
#include <gtest/gtest.h>

#include <sstream>

#include "session/binding.h"
#include "session/device_testing.h"
#include "session/session_testing.h"

namespace retort::testing {

/// A model of vectors of any length, with nodes written as "c = Add a b".
inline std::shared_ptr<Model> model_of(const std::vector<std::string>& inputs, const std::vector<std::string>& nodes,
                                       const std::vector<std::string>& outputs) {
  auto model = std::make_shared<Model>();
  model->ir_version = 8;
  model->opsets[""] = 17;
  Graph& g = *model->graph;
  std::map<std::string, ValueId> values;
  for (const std::string& name : inputs) {
    values[name] = g.add_value(name, ValueType::tensor(DType::f32, Shape{model->dims->symbol("n")}));
    g.inputs.push_back(values[name]);
  }
  values["two"] = g.add_constant("two", Tensor::of<float>({1}, {2}));
  for (const std::string& line : nodes) {
    std::istringstream words(line);
    std::string out, equals, type, in;
    words >> out >> equals >> type;
    std::vector<ValueId> given;
    while (words >> in) given.push_back(values.at(in));
    const NodeId id = g.add({.type = type, .inputs = given, .name = "make_" + out, .version = 17});
    values[out] = g.node(id).outputs[0];
    g.value(values[out]).name = out;
  }
  for (const std::string& name : outputs) g.outputs.push_back(values.at(name));
  return model;
}

class DeviceTest : public ::testing::Test {
 protected:
  DeviceTest() { environment->devices()->add(factory); }

  SessionOptions options() {
    SessionOptions o;
    o.threads.intra_threads = 1;
    o.choose_providers = [this](const Model&) {
      std::vector<std::shared_ptr<Provider>> all;
      all.push_back(factory->make_provider({}, {}, nullptr));
      return all;
    };
    return o;
  }
  std::shared_ptr<Session> session(const std::shared_ptr<Model>& model) { return session(model, options()); }
  std::shared_ptr<Session> session(const std::shared_ptr<Model>& model, const SessionOptions& o) {
    return std::make_shared<Session>(environment, model, o);
  }
  Tensor on_device(const std::vector<float>& content) {
    const Tensor host = Tensor::of<float>({int64_t(content.size())}, content);
    const auto memory = environment->devices()->allocate(control.space, host.bytes());
    Tensor t(DType::f32, host.shape(), memory.get(), memory, control.space);
    environment->devices()->copy(host, t, nullptr);
    control.copies_up = 0;
    return t;
  }
  std::vector<float> content(const Value& value) {
    const Tensor& t = *value.tensor();
    Tensor host(t.dtype(), t.shape());
    environment->devices()->copy(t, host, nullptr);
    return {host.data<float>(), host.data<float>() + host.count()};
  }
  static Value host(const std::vector<float>& v) { return Tensor::of<float>({int64_t(v.size())}, v); }
  static std::string error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }

  DeviceControl control;
  std::shared_ptr<TestFactory> factory = std::make_shared<TestFactory>(control);
  std::shared_ptr<Environment> environment = std::make_shared<Environment>(EnvironmentOptions{});
};

using Floats = std::vector<float>;

}  // namespace retort::testing
