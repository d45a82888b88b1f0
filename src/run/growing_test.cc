// Tests when a cache lies in a block with spare rows.
#include "run/growing.h"

#include "run/run_testing.h"

namespace retort {
namespace {

Slot rows(int64_t n) {
  Slot slot;
  slot.type = ValueType::tensor(DType::f32, {1, 2, n, 4});
  slot.count = size_t(8 * n);
  return slot;
}

Tensor dense(int64_t n) { return Tensor(DType::f32, {1, 2, n, 4}); }

Tensor in_block(const std::shared_ptr<GrownRows>& block, int64_t n) { return Tensor(DType::f32, {1, 2, n, 4}, block); }

TEST(Growing, BeginsWhenThePresentIsHandedBack) {
  Growing cache;
  cache.begin(nullptr);
  EXPECT_EQ(cache.present(rows(3)), nullptr);
  const Tensor first = dense(3), stranger = dense(3);
  cache.remember(first);
  cache.begin(&stranger);
  EXPECT_EQ(cache.present(rows(4)), nullptr);
  cache.begin(&first);
  const auto block = cache.present(rows(4));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->rows(), 4u);
  EXPECT_GT(block->room(), 4u);
}

TEST(Growing, RowsAreAddedInTheSameBlock) {
  Growing cache;
  const Tensor first = dense(3);
  cache.remember(first);
  cache.begin(&first);
  const auto block = cache.present(rows(4));
  const Tensor second = in_block(block, 4);
  cache.remember(second);
  cache.begin(&second);
  ASSERT_NE(cache.past(), nullptr);
  EXPECT_EQ(cache.past()->block(), block->block());
  const auto more = cache.present(rows(5));
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->block(), block->block());
  EXPECT_EQ(more->rows(), 5u);
}

TEST(Growing, PausesIfTheCallerReadsThePresent) {
  Growing cache;
  const Tensor first = dense(3);
  cache.remember(first);
  cache.begin(&first);
  const Tensor second = in_block(cache.present(rows(4)), 4);
  cache.remember(second);
  EXPECT_NE(second.data(), nullptr);  // makes a copy without gaps
  cache.begin(&second);
  EXPECT_EQ(cache.past(), nullptr);
  EXPECT_EQ(cache.present(rows(5)), nullptr);
}

TEST(GrowingCaches, GoByTheInputsAndOutputsOfThePlan) {
  PlanGraph graph;
  const ValueId x = graph.input("x", {1, 2, 1, 4});
  const ValueId k = graph.input("k", {1, 2, 3, 4}), v = graph.input("v", {1, 2, 3, 4});
  for (const ValueId out : graph.add_multi("out", "Attention", {x, x, x, ValueId::none, k, v}, {}, 3))
    graph.output(out);
  const auto plan = graph.plan();
  GrowingCaches caches(*plan);
  EXPECT_FALSE(caches.is_output(0));
  EXPECT_TRUE(caches.is_output(1));
  EXPECT_TRUE(caches.is_output(2));
  const Tensor key = dense(3);
  caches.remember(1, key);
  const Value given = key, other = dense(3), query = Tensor(DType::f32, {1, 2, 1, 4});
  const Value* const inputs[] = {&query, &given, &other};
  caches.begin({.inputs = inputs, .caches_grow = true});
  EXPECT_EQ(caches.past(0), nullptr);
  EXPECT_NE(caches.present(1, rows(4)), nullptr);
  EXPECT_EQ(caches.present(2, rows(4)), nullptr);
  caches.begin({.inputs = inputs, .caches_grow = false});
  EXPECT_EQ(caches.present(1, rows(4)), nullptr);
}

}  // namespace
}  // namespace retort
