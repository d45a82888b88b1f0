// Which values lie in the memory of devices, and for how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

/// y = 2 * a, for operators that the engine does not know.
class Doubling : public Compiled {
 public:
  Doubling(MemorySpace space, FencedMemory& memory) : space_(space), memory_(memory) {}
  MemorySpace input_space(size_t) const override { return space_; }
  MemorySpace output_space(size_t) const override { return space_; }
  void run(PartitionRun& run) const override {
    const Tensor& a = run.input(0);
    Tensor& y = run.output(0, DType::f32, a.shape());
    const FencedMemory::Open in(memory_, a.data()), out(memory_, y.data());
    const bool strings = a.dtype() == DType::string;
    for (size_t i = 0; i < a.count(); ++i)
      y.mutable_data<float>()[i] = 2 * (strings ? std::stof(a.data<std::string>()[i]) : a.data<float>()[i]);
  }

 private:
  const MemorySpace space_;
  FencedMemory& memory_;
};

class DeviceValues : public DeviceTest {
 protected:
  void claim_unknown() {
    control.streams = false;
    control.claimed = {"Mystery"};
    control.compile = [this](const Partition&, FencedMemory& memory) {
      return std::make_shared<Doubling>(control.space, memory);
    };
  }
};

TEST_F(DeviceValues, TypesNeedNotBeKnown) {
  claim_unknown();
  control.one_by_one = true;
  const auto s = session(model_of({"a"}, {"m = Mystery a", "y = Mystery m"}, {"y", "m"}));
  for (float k = 1; k < 3; ++k) {
    const auto results = run(*s, {host({k, 5})});
    EXPECT_EQ(content(results[0]), (Floats{4 * k, 20}));
    EXPECT_EQ(content(results[1]), (Floats{2 * k, 10}));
  }
  EXPECT_EQ(control.copies_across, 0);
}

TEST_F(DeviceValues, StringsStayOnTheHost) {
  claim_unknown();
  auto model = model_of({"a"}, {"y = Mystery a"}, {"y"});
  model->graph->value(model->graph->inputs[0]).type = ValueType::tensor(DType::string, Shape{2});
  const auto s = session(model);
  Tensor words(DType::string, {2});
  words.mutable_data<std::string>()[0] = "3";
  words.mutable_data<std::string>()[1] = "4.5";
  EXPECT_EQ(content(run(*s, {words})[0]), (Floats{6, 9}));
  EXPECT_TRUE(s->input_spaces(0)[0].host_readable());
}

TEST_F(DeviceValues, SessionsAtRestKeepNoInputs) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  const Tensor y = on_device({0});
  {
    Binding binding(s);
    binding.bind_input("a", on_device({1}));
    binding.bind_output("y", y);
    binding.run(nullptr);
  }
  EXPECT_EQ(content(y), (Floats{3}));
  EXPECT_EQ(factory->memory().blocks(), 1u) << "that of y";
}

// "z = Identity y" is the same value for the plan, not for the caller.
TEST_F(DeviceValues, OneValueAsTwoOutputs) {
  for (const char* made : {"y = Add a two", "y = Neg a"}) {
    const auto s = session(model_of({"a"}, {made, "z = Identity y"}, {"y", "z"}));
    const float expected = content(run(*s, {host({1})})[0])[0];
    Binding binding(s);
    binding.bind_input("a", on_device({1}));
    const Tensor given = on_device({0});
    for (const std::string first : {"y", "z"}) {
      const std::string second = first == "y" ? "z" : "y";
      binding.clear_outputs();
      binding.bind_output(first, given);
      binding.bind_output(second, control.space);
      for (int i = 0; i < 2; ++i) binding.run(nullptr);
      EXPECT_EQ(content(given), (Floats{expected}));
      EXPECT_EQ(content(binding.output_value(1)), (Floats{expected}));
      EXPECT_NE(binding.output_value(1).tensor()->data(), given.data());
      binding.bind_output(second, MemorySpace());
      binding.run(nullptr);
      EXPECT_EQ(content(binding.output_value(1)), (Floats{expected}));
    }
    binding.bind_output("y", control.space);
    binding.bind_output("z", control.space);
    binding.run(nullptr);
    EXPECT_NE(binding.output_value(0).tensor()->data(), binding.output_value(1).tensor()->data());
    EXPECT_EQ(content(binding.output_value(0)), content(binding.output_value(1)));
  }
}

// A graph may list an output twice: results are apart, and a caller's memory is only his.
TEST_F(DeviceValues, OutputsListedTwice) {
  for (const char* node : {"y = Add a two", "y = Neg a", "y = Compress a which"}) {
    const bool selects = std::string(node).find("Compress") != std::string::npos;
    auto model = model_of({"a", "which"}, {node}, {"y", "y"});
    if (selects) model->graph->value(model->graph->inputs[1]).type.dtype = DType::boolean;
    const auto s = session(model);
    const Value a = host({1, 1}), which = selects ? Value(Tensor::of<bool>({2}, {true, true})) : host({1, 1});
    const auto results = run(*s, {a, which});
    EXPECT_EQ(content(results[0]), content(results[1]));
    EXPECT_NE(results[0].tensor()->data(), results[1].tensor()->data());
    const Value* const in[] = {&a, &which};
    for (const bool on_host : {false, true}) {
      Value given = on_host ? host({9, 9}) : Value(on_device({9, 9})), made;
      Value *const first[] = {&given, &made}, *const second[] = {&made, &given};
      for (const auto& out : {first, second}) {
        made = Value();
        s->run(in, std::span(out, 2), {}, nullptr);
        EXPECT_EQ(content(given), content(results[0]));
        EXPECT_EQ(content(made), content(results[0]));
        EXPECT_NE(given.tensor()->data(), made.tensor()->data());
      }
    }
  }
}

TEST_F(DeviceValues, ResultsInMemoryThatTheDeviceReaches) {
  environment->devices()->remove(factory->name());
  control.pinned = true;
  factory = std::make_shared<TestFactory>(control);
  environment->devices()->add(factory);
  MemorySpace pinned = control.space;
  pinned.kind = MemoryKind::host_accessible;
  const auto s = session(model_of({"a"}, {"y = Add a two", "z = Neg a"}, {"y", "z"}));
  Binding binding(s);
  binding.bind_input("a", host({1}));
  binding.bind_output("y", pinned);
  binding.bind_output("z", pinned);
  for (int i = 0; i < 2; ++i) binding.run(nullptr);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{3}));
  EXPECT_EQ(content(binding.output_value(1)), (Floats{-1}));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(binding.output_value(i).tensor()->space(), pinned);
}

// Inputs with a value in the model: that lies on the device once, whether or not the plan takes them as inputs.
TEST_F(DeviceValues, DefaultsOfInputs) {
  const auto model = [] {
    auto m = model_of({"a", "b"}, {"y = Add a b"}, {"y"});
    m->graph->defaults[m->graph->inputs[1]] = Tensor::of<float>({1}, {10});
    return m;
  };
  for (const auto level : {OptimizationLevel::none, OptimizationLevel::all}) {
    SessionOptions o = options();
    o.optimization = level;
    const auto s = session(model(), o);
    const Value a = on_device({1}), b = host({5});
    Value y = on_device({0});
    Value* const out[] = {&y};
    const Value *const left_out[] = {&a, nullptr}, *const given[] = {&a, &b};
    s->run(given, out, {}, nullptr);
    EXPECT_EQ(content(y), (Floats{6}));
    control.copies_up = 0;
    for (int i = 0; i < 3; ++i) s->run(left_out, out, {}, nullptr);
    EXPECT_EQ(content(y), (Floats{11}));
    EXPECT_EQ(control.copies_up, 0);
  }
}

TEST_F(DeviceValues, ShapesThatGrowAndShrink) {
  control.one_by_one = true;
  const auto s = session(
      model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "e = Mul d a", "f = Abs a", "y = Add e f"}, {"y", "d"}));
  Binding binding(s);
  binding.bind_output("y", control.space);
  binding.bind_output("d", MemorySpace());
  Value held;
  for (int i = 0; i < 200; ++i) {
    const auto size = size_t(i * 7919 % 50);  // none, too
    binding.bind_input("a", on_device(Floats(size, 2)));
    binding.bind_input("b", host(Floats(size, float(i))));
    binding.run(nullptr);
    EXPECT_EQ(content(binding.output_value(0)), Floats(size, -(2 + float(i)) * 2 + 2));
    EXPECT_EQ(content(binding.output_value(1)), Floats(size, -(2 + float(i))));
    if (i == 101) held = binding.output_value(0);
  }
  EXPECT_EQ(content(held), Floats(size_t(101 * 7919 % 50), -204));
}

/// A node for each name, of what came before.
std::vector<std::string> random_nodes(std::mt19937& random, std::vector<std::string>& values) {
  std::vector<std::string> nodes;
  const auto any = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < 12; ++i) {
    const char* kTypes[] = {"Add", "Mul", "Sub", "Neg", "Abs", "Identity"};
    const size_t type = random() % 6;
    const std::string name = cat("v{}", i);
    nodes.push_back(cat("{} = {} {}", name, kTypes[type], any()) + (type < 3 ? " " + any() : ""));
    values.push_back(name);
  }
  return nodes;
}

bool same(const Floats& a, const Floats& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// Whoever runs what, results are those of the CPU.
TEST_F(DeviceValues, AnyPartsOfAnyModel) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> values{"a", "b", "two"};
    const std::vector<std::string> nodes = random_nodes(random, values);
    std::vector<std::string> outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != "two" && (random() % 3 == 0 || i + 1 == values.size())) outputs.push_back(values[i]);
    }
    control.one_by_one = random() % 2;
    control.streams = random() % 2;
    control.results_on_host = random() % 4 == 0;
    control.claimed.clear();
    for (const char* type : {"Add", "Mul", "Sub", "Neg", "Abs", "Identity"}) {
      if (random() % 2) control.claimed.insert(type);
    }
    SessionOptions o = options(), plain;
    o.parallel_execution = random() % 2;
    o.threads.inter_threads = 2;
    o.optimization = random() % 2 ? OptimizationLevel::none : OptimizationLevel::all;
    const auto s = session(model_of({"a", "b"}, nodes, outputs), o);
    const auto cpu = session(model_of({"a", "b"}, nodes, outputs), plain);
    for (int i = 0; i < 2; ++i) {
      const Value a = random() % 2 ? host({1, 2}) : Value(on_device({1, 2}));
      const auto wanted = run(*cpu, {a, host({0.5f, -3})}), got = run(*s, {a, host({0.5f, -3})});
      for (size_t k = 0; k < outputs.size(); ++k) {
        EXPECT_TRUE(same(content(got[k]), content(wanted[k]))) << "round " << round << ", " << outputs[k];
      }
    }
  }
}

TEST_F(DeviceValues, WhoRunsWhichNodesIsRecorded) {
  SessionOptions o = options();
  o.config["session.record_ep_graph_assignment_info"] = "1";
  const auto s = session(model_of({"a"}, {"c = Add a two", "d = Mul c two", "e = Neg d", "y = Sub e a"}, {"y"}), o);
  std::string all;
  for (const AssignedPart& part : s->assigned()) {
    all += part.provider + ":";
    for (const AssignedNode& node : part.nodes) all += " " + node.name;
    all += "; ";
  }
  EXPECT_EQ(all, "TestProvider: make_c make_d; TestProvider: make_y; CPUExecutionProvider: make_e; ");
}

}  // namespace
}  // namespace retort
