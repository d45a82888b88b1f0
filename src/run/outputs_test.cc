// Tests that outputs are written to the caller's memory as soon as that is safe, and are copied there at the end
// otherwise.
#include "run/outputs.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct Wanted : PlannedTest {
  void make() {
    PlannedTest::make();
    caches.emplace(*plan);
    inputs.emplace(*table, *joins, *caches, device_run);
    outputs.emplace(*table, *joins, *inputs, *caches, device_run);
    values.resize(plan->outputs.size());
  }
  /// Does what a run does before its steps.
  void bind(const std::vector<Value>& in) {
    given.clear();
    wanted.clear();
    for (const Value& v : in) given.push_back(&v);
    for (Value& v : values) wanted.push_back(&v);
    request.inputs = given;
    request.outputs = wanted;
    outputs->begin(request);
    inputs->bind(request);
    outputs->offer(request);
    outputs->bind(request, branches);
  }
  float* floats(std::string_view name) { return static_cast<float*>((*table)[slot_of(*plan, name)].data); }
  static Tensor of(std::initializer_list<float> content) {
    return Tensor::of<float>({int64_t(content.size())}, std::vector<float>(content));
  }

  DeviceRun device_run;
  std::optional<GrowingCaches> caches;
  std::optional<Inputs> inputs;
  std::optional<Outputs> outputs;
  Branches branches;
  std::vector<Value> values;
  std::vector<const Value*> given;
  std::vector<Value*> wanted;
  RunRequest request;
};

/// y = Neg(x)
struct One : Wanted {
  One() {
    graph.output(graph.add("y", "Neg", {graph.input("x", {4})}));
    make();
  }
};

TEST_F(One, LiesInTheCallersBuffer) {
  Tensor y(DType::f32, {4});
  values[0] = y;
  request.disallow_copies = true;
  const Value x = Tensor(DType::f32, {4});
  bind({x});
  EXPECT_EQ(floats("y"), y.data());
  floats("y")[2] = 5;
  outputs->finish(request);
  EXPECT_EQ(y.data<float>()[2], 5);
  EXPECT_EQ(values[0].tensor()->data(), y.data());
}

TEST_F(One, IsAllocatedIfNoneIsGiven) {
  const Value x = Tensor(DType::f32, {4});
  bind({x});
  ASSERT_NE(floats("y"), nullptr);
  floats("y")[3] = 7;
  const void* made = floats("y");
  outputs->finish(request);
  ASSERT_NE(values[0].tensor(), nullptr);
  EXPECT_EQ(values[0].tensor()->data(), made);
  EXPECT_EQ(values[0].tensor()->data<float>()[3], 7);
}

TEST_F(One, TakesTheSpareOfTheCaller) {
  Spare spare;
  request.spares = {&spare, 1};
  const Value x = Tensor(DType::f32, {4});
  bind({x});
  outputs->finish(request);
  const void* first = values[0].tensor()->data();
  EXPECT_EQ(spare.memory.get(), first);
  values[0] = Value();  // nothing holds the earlier result
  bind({x});
  EXPECT_EQ(floats("y"), first);
  outputs->finish(request);
  const Value kept = values[0];
  values[0] = Value();
  bind({x});
  EXPECT_NE(floats("y"), first);
}

TEST_F(One, RejectsABufferOfAnotherShape) {
  values[0] = Tensor(DType::f32, {5});
  const Value x = Tensor(DType::f32, {4});
  try {
    bind({x});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("output 'y': the given buffer is float32[5], the run produces float32[4]"),
              std::string::npos)
        << e.message();
  }
}

TEST_F(One, AFailedRunLeavesEmptyValuesEmpty) {
  const Value x = Tensor(DType::f32, {4});
  bind({x});
  values[0] = of({1});
  outputs->abandon(request);
  EXPECT_TRUE(values[0].empty());
  const Tensor own(DType::f32, {4});
  values[0] = own;
  bind({x});
  outputs->abandon(request);
  EXPECT_EQ(values[0].tensor()->data(), own.data());
}

TEST_F(One, IsStagedIfItOverlapsAnInputThatIsStillNeeded) {
  float memory[6] = {};
  const Value x = Tensor(DType::f32, {4}, memory, nullptr);
  values[0] = Tensor(DType::f32, {4}, memory + 1, nullptr);
  bind({x});
  EXPECT_NE(floats("y"), memory + 1);
  floats("y")[0] = 3;
  outputs->finish(request);
  EXPECT_EQ(memory[1], 3);
  request.disallow_copies = true;
  EXPECT_THROW(bind({x}), Error);
}

TEST_F(One, MayLieOverItsInput) {
  float memory[4] = {};
  const Value x = Tensor(DType::f32, {4}, memory, nullptr);
  values[0] = x;
  request.disallow_copies = true;
  bind({x});
  EXPECT_EQ(floats("y"), memory);
}

TEST_F(Wanted, AnOutputThatIsRequestedTwiceIsCopied) {
  const ValueId y = graph.add("y", "Neg", {graph.input("x", {4})});
  graph.output(y);
  graph.output(y);
  make();
  Tensor second(DType::f32, {4});
  values[1] = second;
  const Value x = Tensor(DType::f32, {4});
  bind({x});
  EXPECT_NE(floats("y"), second.data());  // the first output has the caller's buffer
  floats("y")[1] = 9;
  outputs->finish(request);
  EXPECT_EQ(values[0].tensor()->data<float>()[1], 9);
  EXPECT_EQ(second.data<float>()[1], 9);
}

TEST_F(Wanted, InputsAndConstantsAreCopiedOut) {
  const ValueId x = graph.input("x", {2});
  graph.output(x);
  graph.output(graph.floats("w", {3}, 4));
  graph.output(graph.add("y", "Neg", {x}));
  make();
  const Tensor in = of({1, 2});
  const Value v = in;
  bind({v});
  outputs->finish(request);
  EXPECT_NE(values[0].tensor()->data(), in.data());
  EXPECT_EQ(values[0].tensor()->data<float>()[1], 2);
  EXPECT_EQ(values[1].tensor()->data<float>()[2], 4);
}

TEST_F(Wanted, ABufferOfUnknownFitStaysUntouched) {
  graph.output(graph.add("y", "NonZero", {graph.input("x", {4})}));
  make();
  Tensor buffer(DType::i64, {1, 2});
  values[0] = buffer;
  const Value x = Tensor(DType::f32, {4});
  bind({x});
  Slot& y = (*table)[slot_of(*plan, "y")];
  ASSERT_NE(y.offered, nullptr);
  EXPECT_EQ(y.offered->data(), buffer.data());
  const Tensor made = Tensor::of<int64_t>({1, 2}, {1, 3});
  y.type = ValueType::tensor(DType::i64, {1, 2});  // as if the step had run without using the offered memory
  y.boxed = made;
  y.data = read_only(made.data());
  y.count = 2;
  outputs->finish(request);
  EXPECT_EQ(buffer.data<int64_t>()[1], 3);
  EXPECT_EQ(y.offered, nullptr);
}

TEST_F(Wanted, StringsAreWrittenToTheCallersTensor) {
  const ValueId x = graph.input("x", {1}, DType::string);
  graph.output(graph.add("y", "Concat", {x, x}, {{"axis", int64_t(0)}}));
  make();
  Tensor words(DType::string, {2});
  values[0] = words;
  const Value in = Tensor(DType::string, {1});
  bind({in});
  EXPECT_EQ((*table)[slot_of(*plan, "y")].data, words.data());
  outputs->finish(request);
  EXPECT_EQ(values[0].tensor()->data(), words.data());
}

TEST_F(Wanted, CachesGrowWhereTheyLie) {
  const ValueId x = graph.input("x", {1, 2, 1, 4});
  const ValueId k = graph.input("past_k", {1, 2, 3, 4}), v = graph.input("past_v", {1, 2, 3, 4});
  for (const ValueId out : graph.add_multi("out", "Attention", {x, x, x, ValueId::none, k, v}, {}, 3))
    graph.output(out);
  make();
  ASSERT_EQ(plan->caches.size(), 2u);
  request.caches_grow = true;
  const Value q = Tensor(DType::f32, {1, 2, 1, 4});
  Value keys = Tensor(DType::f32, {1, 2, 3, 4}), others = Tensor(DType::f32, {1, 2, 3, 4});
  bind({q, keys, others});
  outputs->finish(request);
  EXPECT_EQ(values[1].tensor()->grown(), nullptr);  // nothing has been passed back yet
  give_shape(*table, "past_k", {1, 2, 4, 4});
  give_shape(*table, "past_v", {1, 2, 4, 4});
  give_shape(*table, "out1", {1, 2, 5, 4});
  give_shape(*table, "out2", {1, 2, 5, 4});
  keys = values[1];
  others = values[2];
  for (Value& value : values) value = Value();
  bind({q, keys, others});
  EXPECT_GT((*table)[slot_of(*plan, "out1")].room, 5u);
  outputs->finish(request);
  EXPECT_NE(values[1].tensor()->grown(), nullptr);
}

}  // namespace
}  // namespace retort
