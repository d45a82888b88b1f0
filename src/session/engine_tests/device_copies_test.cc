// Copies that are avoided: a value that already lies in the required memory is used there.
#include <gtest/gtest.h>

#include <algorithm>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

class DeviceCopies : public DeviceTest {
 protected:
  void with_pinned_memory() {
    environment->devices()->remove(factory->name());
    control.pinned = true;
    factory = std::make_shared<TestFactory>(control);
    environment->devices()->add(factory);
  }
  Tensor pinned(const Floats& content) {
    MemorySpace space = control.space;
    space.kind = MemoryKind::host_accessible;
    const auto memory = environment->devices()->allocate(space, content.size() * sizeof(float));
    std::ranges::copy(content, static_cast<float*>(memory.get()));
    return Tensor(DType::f32, {int64_t(content.size())}, memory.get(), memory, space);
  }
  /// All copies since the last call.
  int copies() {
    return control.copies_up.exchange(0) + control.copies_down.exchange(0) + control.copies_across.exchange(0);
  }
};

TEST_F(DeviceCopies, PinnedInputsAreReadWhereTheyLie) {
  with_pinned_memory();
  const auto s = session(model_of({"a"}, {"y = Add a two", "z = Neg a"}, {"y", "z"}));
  Tensor a = pinned({1, 2});
  Binding binding(s);
  binding.bind_input("a", a);
  binding.bind_output("y", control.space);
  binding.bind_output("z", MemorySpace());
  for (const float first : {1.0f, 7.0f}) {
    a.mutable_data<float>()[0] = first;
    binding.run(nullptr);
    EXPECT_EQ(content(binding.output_value(1)), (Floats{-first, -2}));
    EXPECT_EQ(copies(), 0);
    EXPECT_EQ(content(binding.output_value(0)), (Floats{first + 2, 4}));
    copies();
  }
  EXPECT_EQ(content(run(*s, {a})[1]), (Floats{-7, -2}));
  EXPECT_EQ(control.copies_up, 0);
  EXPECT_EQ(s->ledger().total_bytes(), 8u) << "y, copied to the host in a run by name";
}

// The device is slow, and the CPU finishes its output much earlier.
TEST_F(DeviceCopies, PinnedInputsStayUntilTheDeviceHasReadThem) {
  with_pinned_memory();
  control.delay = std::chrono::milliseconds(50);
  const auto s = session(model_of({"a", "b"}, {"y = Add a two", "z = Neg b"}, {"y", "z"}));
  const Tensor a = pinned({1, 2});
  Binding binding(s);
  binding.bind_input("a", a);
  binding.bind_input("b", host({5, 6}));
  binding.bind_output("y", control.space);
  binding.bind_output("z", a);
  binding.run(nullptr);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{3, 4}));
  EXPECT_EQ(content(a), (Floats{-5, -6}));
}

TEST_F(DeviceCopies, InputsThatAreOutputsAreReturnedUnchanged) {
  const auto s = session(model_of({"a", "b"}, {"y = Add a b"}, {"y", "a"}));
  const Tensor a = on_device({1, 5});
  Binding binding(s);
  binding.bind_input("a", a);
  binding.bind_input("b", on_device({1, 1}));
  binding.bind_output("y", control.space);
  binding.bind_output("a", control.space);
  for (int i = 0; i < 2; ++i) binding.run(nullptr);
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(binding.output_value(1).tensor()->data(), a.data());
  // Memory without an owner may be freed while the result is in use.
  binding.bind_input("a", Tensor(a.dtype(), a.shape(), const_cast<void*>(a.data()), nullptr, a.space()));
  binding.run(nullptr);
  EXPECT_EQ(copies(), 1);
  EXPECT_NE(binding.output_value(1).tensor()->data(), a.data());
  EXPECT_EQ(content(binding.output_value(1)), (Floats{1, 5}));
  copies();
  // Input and result are on the host: the copy that the device reads is the only one.
  const auto results = run(*s, {host({2, 3}), on_device({1, 1})});
  EXPECT_EQ(content(results[1]), (Floats{2, 3}));
  EXPECT_EQ(control.copies_up, 1);
  EXPECT_EQ(control.copies_down, 1) << "y";
}

TEST_F(DeviceCopies, DefaultsOfInputsLieWhereTheyAreRead) {
  auto model = model_of({"a", "b"}, {"y = Add a b"}, {"y"});
  model->graph->defaults[model->graph->inputs[1]] = Tensor::of<float>({1}, {10});
  const auto s = session(model);
  Binding binding(s);
  binding.bind_input("a", on_device({1}));
  binding.bind_output("y", control.space);
  binding.bind_input("b", on_device({5}));
  binding.run(nullptr);
  EXPECT_EQ(copies(), 1) << "the model's own value, when a plan is made that takes other values";
  binding.run(nullptr);
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{6}));
  copies();
  binding.bind_input("b", host({7}));
  for (int i = 0; i < 2; ++i) binding.run(nullptr);
  EXPECT_EQ(copies(), 1);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{8}));
}

/// Nodes that compute y from a, and how often the result is copied if y is bound over a: with all nodes in one part,
/// and with one part per node.
struct Replacing {
  std::vector<std::string> nodes, outputs;
  int together, apart;
};

TEST_F(DeviceCopies, AnOutputReplacesAnInputThatIsNotNeededAgain) {
  const std::vector<Replacing> cases{
      {{"y = Mul a two"}, {"y"}, 0, 0},
      {{"c = Mul a two", "y = Relu c"}, {"y"}, 0, 0},
      {{"c = Mul a two", "d = Relu c", "y = Add c d"}, {"y"}, 0, 0},
      {{"c = Mul a two", "y = Add c a"}, {"y"}, 1, 0},  // a part may keep c in y's memory
      {{"y = Mul a two", "z = Sub a two"}, {"y", "z"}, 1, 1},
      {{"c = Mul a two", "y = Relu c", "z = Sub c two"}, {"y", "z"}, 1, 0},  // it may compute c again for z
      {{"y = Mul a two"}, {"y", "a"}, 1, 1},
      {{"y = MatMul a a"}, {"y"}, 1, 1},
  };
  for (const Replacing& c : cases) {
    for (const bool apart : {false, true}) {
      control.one_by_one = apart;
      const bool is_product = c.nodes[0] == "y = MatMul a a";
      auto model = model_of({"a"}, c.nodes, c.outputs);
      if (is_product) model->graph->value(model->graph->inputs[0]).type = ValueType::tensor(DType::f32, Shape{2, 2});
      const auto s = session(model);
      const Tensor flat = on_device({-1, 5, 2, 3}), a = is_product ? flat.reshaped({2, 2}) : flat;
      const Floats expected = content(run(*s, {a})[0]);
      Binding binding(s);
      binding.bind_input("a", a);
      binding.bind_output("y", a);
      copies();
      binding.run(nullptr);
      EXPECT_EQ(copies(), apart ? c.apart : c.together) << c.nodes.back() << (apart ? " apart" : " together");
      EXPECT_EQ(content(a), expected) << c.nodes.back();
    }
  }
}

TEST_F(DeviceCopies, ValuesThatBothSidesReadAreOutputsOfBoth) {
  const auto s = session(model_of({"a"}, {"c = Add a two", "y = Neg c"}, {"y", "c"}));
  const auto results = run(*s, {on_device({1})});
  EXPECT_EQ(content(results[1]), (Floats{3}));
  EXPECT_EQ(control.copies_down, 1);
  const Floats again = content(run(*s, {on_device({4})})[1]);
  EXPECT_EQ(again, (Floats{6}));
  EXPECT_EQ(content(results[1]), (Floats{3})) << "a held result is not overwritten";
}

TEST_F(DeviceCopies, ResultsOfConstantsAreNotComputedInRuns) {
  for (const auto level : {OptimizationLevel::none, OptimizationLevel::all}) {
    SessionOptions o = options();
    o.optimization = level;
    control.runs = 0;
    const auto s =
        session(model_of({"a"}, {"b = Add two two", "c = Abs b", "d = Mul c b", "y = Sub a d"}, {"y", "d"}), o);
    const auto results = run(*s, {on_device({1})});
    EXPECT_EQ(content(results[0]), (Floats{-15}));
    EXPECT_EQ(content(results[1]), (Floats{16}));
    EXPECT_EQ(control.runs, level == OptimizationLevel::none ? 2 : 1);
  }
}

// Runs by name: new memory would be allocated by the system page by page while the device copies into it.
TEST_F(DeviceCopies, ResultsAreCopiedToTheSameMemoryAgain) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  const auto result = [&](float a) { return run(*s, {on_device({a})})[0]; };
  const void* const first = result(1).tensor()->data();
  const Value held = result(2);
  EXPECT_EQ(held.tensor()->data(), first);
  EXPECT_NE(result(3).tensor()->data(), first);
  EXPECT_EQ(content(held), (Floats{4})) << "the caller holds it";
}

TEST_F(DeviceCopies, ConstantsGoToADeviceOnce) {
  Uploads uploads(environment->devices());
  const Tensor weight = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  Tensor first = uploads.get(weight, control.space);
  EXPECT_EQ(uploads.get(weight.reshaped({4}), control.space).data(), first.data());
  EXPECT_EQ(uploads.get(weight, MemorySpace()).data(), weight.data());
  EXPECT_EQ(control.copies_up, 1);
  // While a plan is made, a weight that a kernel has packed and released is found for the next plan.
  const void* const place = first.data();
  first = Tensor();
  first = uploads.get(weight, control.space);
  EXPECT_EQ(first.data(), place);
  EXPECT_EQ(factory->memory().blocks(), 1u);
  uploads.settle();
  EXPECT_EQ(uploads.get(weight, control.space).data(), place) << "it is in use";
  first = Tensor();
  EXPECT_EQ(factory->memory().blocks(), 0u);
  EXPECT_EQ(control.copies_up, 1);
}

TEST_F(DeviceCopies, UploadsAreFoundByConstantAndMemory) {
  Uploads uploads(environment->devices());
  const Tensor weight = Tensor::of<float>({1}, {1});
  EXPECT_FALSE(uploads.find(weight, control.space));
  const Tensor there = uploads.get(weight, control.space);
  EXPECT_EQ(uploads.find(weight, control.space).data(), there.data());
  EXPECT_FALSE(uploads.find(Tensor::of<float>({1}, {1}), control.space));
}

// The address of a constant may later be that of another.
TEST_F(DeviceCopies, ConstantsAreKnownWhileTheyLive) {
  Uploads uploads(environment->devices());
  float memory[1] = {1};
  std::vector<Tensor> held;
  const auto owned = [&] { return Tensor(DType::f32, {1}, memory, std::shared_ptr<void>(memory, [](void*) {})); };
  held.push_back(uploads.get(owned(), control.space));
  memory[0] = 2;
  held.push_back(uploads.get(owned(), control.space));
  EXPECT_EQ(content(held[0]), (Floats{1}));
  EXPECT_EQ(content(held[1]), (Floats{2}));
  const Tensor lent(DType::f32, {1}, memory, nullptr);
  held.push_back(uploads.get(lent, control.space));
  uploads.settle();
  memory[0] = 3;
  held.push_back(uploads.get(lent, control.space));
  EXPECT_EQ(content(held[3]), (Floats{3}));
}

}  // namespace
}  // namespace retort
