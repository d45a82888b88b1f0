// What a run reads on a route: values of the caller, of the binding, or of the model.
#include "session/route.h"

#include "plan/plan_testing.h"
#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

const MemorySpace kDevice{DeviceType::gpu, MemoryKind::device, 0xbeef, 0, 0};

/// A plan with the inputs of SmallModel.
std::shared_ptr<const Plan> plan_of_three(std::vector<MemorySpace> spaces = {}) {
  PlanGraph p;
  const ValueId a = p.input("a", {2}), b = p.input("b", {2}), w = p.input("w", {1});
  p.output(p.add("y", "Mul", {p.add("sum", "Add", {a, b}), w}));
  return build_plan(p.g, {.input_spaces = std::move(spaces)});
}

class RouteTest : public ::testing::Test {
 protected:
  static RouteInputs three() {
    RouteInputs inputs;
    inputs.add(0, {}, false);
    inputs.add(1, {}, false);
    inputs.add(2, Tensor::of<float>({1}, {10}), false);
    return inputs;
  }
  const Value* read(const Route& route, size_t position, const BindingMemory& memory = {}) const {
    return route.read({given, {}, {}, nullptr, memory}, position);
  }

  SmallModel small;
  const Ports ports = ports_of(small.model);
  const Value a = vector({1, 2}), b = vector({3, 4}), w = vector({5});
  std::vector<const Value*> given{&a, &b, nullptr};
};

TEST_F(RouteTest, ReadsWhatTheCallerGivesOrElseTheModelsValue) {
  const Route route(ports, three(), plan_of_three(), nullptr);
  EXPECT_EQ(read(route, 0), &a);
  EXPECT_EQ(read(route, 1), &b);
  EXPECT_EQ(read(route, 2)->tensor()->data<float>()[0], 10);
  given[2] = &w;
  EXPECT_EQ(read(route, 2), &w);
}

TEST_F(RouteTest, InputsOfThePlanMayHaveAnotherOrder) {
  RouteInputs inputs;
  inputs.add(1, {}, false);
  inputs.add(0, {}, false);
  inputs.add(2, {}, false);
  const Route route(ports, std::move(inputs), plan_of_three(), nullptr);
  EXPECT_EQ(read(route, 0), &b);
  EXPECT_EQ(read(route, 1), &a);
}

TEST_F(RouteTest, AMissingInputIsNamedWithItsType) {
  const Route route(ports, three(), plan_of_three(), nullptr);
  given[1] = nullptr;
  expect_part(error_of([&] { read(route, 1); }), "input 'b' was not given; give a float32[n]");
}

TEST_F(RouteTest, AnInputThatNothingReadsMayBeMissing) {
  small.input("unread", ValueType::tensor(DType::f32, Shape{1}));
  const Ports more = ports_of(small.model);
  RouteInputs inputs = three();
  inputs.index[2] = 2;  // the unread input: overridable ones come behind it
  const Route route(more, std::move(inputs), plan_of_three(), nullptr);
  given.push_back(nullptr);
  EXPECT_EQ(read(route, 2), nullptr);
}

TEST_F(RouteTest, AScalarOfAnotherShapeIsReadThroughAView) {
  small.input("scalar", ValueType::tensor(DType::f32, Shape{}));
  const Ports more = ports_of(small.model);
  RouteInputs inputs;
  inputs.add(0, {}, false);
  inputs.add(1, {}, false);
  inputs.add(2, {}, true);
  const Route route(more, std::move(inputs), plan_of_three(), nullptr);
  given = {&a, &b, &w, nullptr};
  std::vector<const Value*> ordered(3);
  std::vector<Value> views;
  route.order({given, {}, {}, nullptr, {}}, ordered, views);
  EXPECT_EQ(ordered[0], &a);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(ordered[2], &views[0]);
  EXPECT_EQ(ordered[2]->tensor()->shape().rank(), 0u);
  EXPECT_EQ(ordered[2]->tensor()->data(), w.tensor()->data());
}

TEST_F(RouteTest, CopiesOfABindingServeWhereThePlanReadsThem) {
  const Route route(ports, three(), plan_of_three({kDevice, {}, {}}), nullptr);
  float memory[2] = {};
  const Resident residents[] = {{1, Value(Tensor(DType::f32, {2}, memory, nullptr, kDevice))},
                                {0, Value(Tensor(DType::f32, {2}, memory, nullptr, kDevice))}};
  const BindingMemory binding{residents, {}, {}};
  EXPECT_EQ(read(route, 0, binding), &residents[1].value);
  EXPECT_EQ(read(route, 1, binding), &b) << "the plan reads it on the host";
  EXPECT_EQ(read(route, 0), &a) << "without a copy, the run makes one";
}

TEST_F(RouteTest, ARepeatedInputIsTheSameInputOfTheSession) {
  RouteInputs inputs;
  inputs.add(0, {}, true);
  inputs.add(2, w, false);
  inputs.repeat(1);
  inputs.repeat(0);
  EXPECT_EQ(inputs.index, (std::vector<uint32_t>{0, 2, 2, 0}));
  EXPECT_EQ(inputs.scalars, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(inputs.defaults[2].tensor()->data(), w.tensor()->data());
}

TEST_F(RouteTest, LiesOnTheHostWithoutDevices) {
  EXPECT_TRUE(Route(ports, three(), plan_of_three(), nullptr).space(1).host_readable());
  EXPECT_EQ(Route(ports, three(), plan_of_three({{}, kDevice, {}}), nullptr).space(1), kDevice);
}

}  // namespace
}  // namespace retort
