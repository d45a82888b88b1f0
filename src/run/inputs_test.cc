// Tests that inputs reach the slots without a copy, or as a copy where the plan cannot read them in place.
#include "run/inputs.h"

#include <cstring>

#include "run/run_testing.h"

namespace retort {
namespace {

constexpr MemorySpace kDevice{.device = DeviceType::gpu, .vendor_id = 7};
constexpr MemorySpace kPinned{.device = DeviceType::gpu, .kind = MemoryKind::host_accessible, .vendor_id = 7};

struct Given : PlannedTest {
  void make(std::vector<MemorySpace> spaces = {}) {
    PlanOptions options;
    options.input_spaces = std::move(spaces);
    PlannedTest::make(options);
    caches.emplace(*plan);
    inputs.emplace(*table, *joins, *caches, device_run);
  }
  void bind(const std::vector<Value>& values, bool disallow_copies = false) {
    std::vector<const Value*> given;
    for (const Value& v : values) given.push_back(v.empty() ? nullptr : &v);
    inputs->bind({.inputs = given, .disallow_copies = disallow_copies});
  }
  std::string failure(const std::vector<Value>& values) {
    try {
      bind(values, true);
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }
  Slot& slot(std::string_view name) { return (*table)[slot_of(*plan, name)]; }

  DeviceRun device_run;
  std::optional<GrowingCaches> caches;
  std::optional<Inputs> inputs;
};

/// y = Neg(row); row is a view of x
struct Viewed : Given {
  Viewed() {
    const ValueId x = graph.input("x", {6});
    graph.output(graph.add("y", "Neg", {graph.add("row", "Reshape", {x, graph.ints("to", {1, 6})})}));
    make();
  }
};

TEST_F(Viewed, LieWhereTheCallerHasThem) {
  const Tensor x(DType::f32, {6});
  bind({x}, true);
  EXPECT_EQ(slot("x").data, x.data());
  EXPECT_EQ(slot("row").data, x.data());
  EXPECT_EQ(inputs->copy_of(0), nullptr);
  EXPECT_EQ(inputs->bytes(), 0u);
}

TEST_F(Viewed, AreCopiedFromOddAddresses) {
  const Tensor source = Tensor::of<float>({6}, {1, 2, 3, 4, 5, 6});
  alignas(8) std::byte bytes[32];
  std::memcpy(bytes + 1, source.data(), 24);
  const Tensor odd(DType::f32, {6}, bytes + 1, nullptr);
  bind({odd});
  ASSERT_NE(slot("x").data, odd.data());
  EXPECT_EQ(slot("row").data, slot("x").data);
  EXPECT_EQ(static_cast<const float*>(slot("x").data)[5], 6);
  ASSERT_NE(inputs->copy_of(0), nullptr);
  const void* first = slot("x").data;
  bind({odd});
  EXPECT_EQ(slot("x").data, first);
  EXPECT_GE(inputs->bytes(), 24u);
  inputs->give_back();
  EXPECT_EQ(inputs->bytes(), 0u);
  EXPECT_NE(failure({odd}).find("lies at an address that is not aligned for its elements"), std::string::npos);
  bind({source});
  EXPECT_EQ(slot("x").data, source.data());
  EXPECT_EQ(inputs->copy_of(0), nullptr);
}

TEST_F(Given, FromOtherMemoryTheyAreCopied) {
  graph.output(graph.add("y", "Neg", {graph.input("x", {6})}));
  make();
  std::byte nothing[24];
  const Tensor x(DType::f32, {6}, nothing, nullptr, kDevice);
  EXPECT_NE(failure({x}).find("input 'x' lies in GPU 0"), std::string::npos) << failure({x});
  EXPECT_THROW(bind({x}), Error);  // there is no provider that could copy
}

TEST_F(Given, PinnedMemoryIsReadWhereItLies) {
  graph.output(graph.add("y", "Neg", {graph.input("x", {6})}));
  make({kDevice});
  EXPECT_EQ(inputs->space(0), kDevice);
  std::byte pinned[24];
  const auto owner = std::make_shared<int>();
  bind({Tensor(DType::f32, {6}, pinned, owner, kPinned)}, true);
  EXPECT_EQ(slot("x").data, pinned);
  ASSERT_NE(slot("x").boxed.tensor(), nullptr);
  EXPECT_EQ(slot("x").boxed.tensor()->space(), kPinned);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(Given, StringsAndOmittedInputsAreBoxed) {
  const ValueId x = graph.input("x", {2}, DType::string), low = graph.input("low", {});
  graph.output(graph.add("s", "Concat", {x, x}, {{"axis", int64_t(0)}}));
  graph.output(graph.add("y", "Neg", {low}));
  make();
  EXPECT_EQ(inputs->space(0), MemorySpace());
  const Tensor words(DType::string, {2});
  bind({words, Value()});
  EXPECT_EQ(slot("x").boxed.tensor()->data(), words.data());
  EXPECT_EQ(slot("low").data, nullptr);
  EXPECT_NE(slot("low").boxed.get<Optional>(), nullptr);
  const Tensor number(DType::f32, {});
  bind({words, number});
  EXPECT_TRUE(slot("low").boxed.empty());
  EXPECT_EQ(slot("low").data, number.data());
}

}  // namespace
}  // namespace retort
