#include "passes/passes_testing.h"

namespace retort {
namespace {

ValueId rotary_part(TestGraph& t, ValueId x, int64_t start, int64_t end, int64_t step = 1) {
  return t.add("Slice", {x, t.ints({start}), t.ints({end}), t.ints({-1}), t.ints({step})});
}
ValueId joined_rows(TestGraph& t, std::vector<ValueId> parts) {
  return t.add("Concat", std::move(parts), {{"axis", int64_t(-1)}});
}
ValueId with_axis(TestGraph& t, ValueId x, int64_t axis) { return t.add("Unsqueeze", {x, t.ints({axis})}); }
/// The second half, negated, before the first one.
ValueId turned_halves(TestGraph& t, ValueId x, int64_t half) {
  const ValueId second = rotary_part(t, x, half, INT64_MAX), first = rotary_part(t, x, 0, half);
  return joined_rows(t, {t.add("Neg", {second}), first});
}
/// Neighbours in each other's place, the first one negated.
ValueId turned_neighbours(TestGraph& t, ValueId x, const std::vector<int64_t>& shape) {
  const ValueId odd = rotary_part(t, x, 1, INT64_MAX, 2), even = rotary_part(t, x, 0, INT64_MAX, 2);
  const ValueId pairs = joined_rows(t, {with_axis(t, t.add("Neg", {odd}), -1), with_axis(t, even, -1)});
  return t.add("Reshape", {pairs, t.ints(shape)});
}
ValueId rotary_sum(TestGraph& t, ValueId x, ValueId cos, ValueId turned, ValueId sin) {
  return t.add("Add", {t.add("Mul", {x, cos}), t.add("Mul", {turned, sin})});
}

// All batches have the same angles; the cosines and sines are scaled.
void rotary_halves(TestGraph& t) {
  const Dim rows = t.symbol("rows");
  const ValueId x = t.input("x", {t.symbol("batch"), 2, rows, 6}), angles = t.input("angles", {1, rows, 3});
  const ValueId twice = joined_rows(t, {angles, angles});
  const ValueId cos = t.add("Mul", {t.add("Cos", {twice}), t.scalar(1.5f)}),
                sin = t.add("Mul", {t.scalar(1.5f), t.add("Sin", {twice})});
  t.output(rotary_sum(t, x, with_axis(t, cos, 1), turned_halves(t, x, 3), with_axis(t, sin, 1)), "y");
}
const RuleExample example_of_rotary_halves("rotary_halves", {"rotary"}, rotary_halves,
                                           R"(graph(x: float32[batch,2,rows,6], angles: float32[1,rows,3]) {
  Concat#1: float32[1,rows,6] = Concat(angles, angles) {axis=-1}
  Cos#1: float32[1,rows,6] = Cos(Concat#1)
  Mul#1: float32[1,rows,6] = Mul(Cos#1, c#1)
  Sin#1: float32[1,rows,6] = Sin(Concat#1)
  Mul#2: float32[1,rows,6] = Mul(c#2, Sin#1)
  Unsqueeze#1: float32[1,1,rows,6] = Unsqueeze(Mul#2, i#1)
  Unsqueeze#2: float32[1,1,rows,6] = Unsqueeze(Mul#1, i#2)
  Slice#1: float32[1,1,rows,3] = Slice(Unsqueeze#2, start#1, end#1, axis#1, step#1)
  Squeeze#1: float32[1,rows,3] = Squeeze(Slice#1, axis#2)
  Slice#2: float32[1,1,rows,3] = Slice(Unsqueeze#1, start#2, end#2, axis#3, step#2)
  Squeeze#2: float32[1,rows,3] = Squeeze(Slice#2, axis#4)
  y: float32[batch,2,rows,6] = RotaryEmbedding(x, Squeeze#1, Squeeze#2)
  return y
}
)");

void rotary_neighbours(TestGraph& t) {
  const Dim batch = t.symbol("batch"), rows = t.symbol("rows");
  const ValueId x = t.input("x", {batch, rows, 2, 6}), angles = t.input("angles", {batch, rows, 3});
  const ValueId pairs = t.add("Expand", {with_axis(t, angles, 3), t.ints({1, 1, 1, 2})});
  const ValueId twice = with_axis(t, t.add("Reshape", {pairs, t.ints({0, 0, 6})}), 2);
  const ValueId turned = turned_neighbours(t, x, {0, 0, 0, 6});
  t.output(t.add("Add", {t.add("Mul", {t.add("Sin", {twice}), turned}), t.add("Mul", {t.add("Cos", {twice}), x})}),
           "y");
}
const RuleExample example_of_rotary_neighbours("rotary_neighbours", {"rotary"}, rotary_neighbours,
                                               R"(graph(x: float32[batch,rows,2,6], angles: float32[batch,rows,3]) {
  Unsqueeze#1: float32[batch,rows,3,1] = Unsqueeze(angles, i#1)
  Expand#1: float32[batch,rows,3,2] = Expand(Unsqueeze#1, i#2)
  Reshape#1: float32[batch,rows,6] = Reshape(Expand#1, i#3)
  Unsqueeze#2: float32[batch,rows,1,6] = Unsqueeze(Reshape#1, i#4)
  Sin#1: float32[batch,rows,1,6] = Sin(Unsqueeze#2)
  Slice#1: float32[batch,rows,1,3] = Slice(Sin#1, start#1, end#1, axis#1, step#1)
  Squeeze#1: float32[batch,rows,3] = Squeeze(Slice#1, axis#2)
  Reshape#2: float32[batch,rows,12] = Reshape(x, joined#1)
  Cos#1: float32[batch,rows,1,6] = Cos(Unsqueeze#2)
  Slice#2: float32[batch,rows,1,3] = Slice(Cos#1, start#2, end#2, axis#3, step#2)
  Squeeze#2: float32[batch,rows,3] = Squeeze(Slice#2, axis#4)
  RotaryEmbedding#1: float32[batch,rows,12] = RotaryEmbedding(Reshape#2, Squeeze#2, Squeeze#1) {interleaved=1, num_heads=2}
  y: float32[batch,rows,2,6] = Reshape(RotaryEmbedding#1, apart#1)
  return y
}
)");

// Tables of all positions, and halves by Split.
void rotary_tables(TestGraph& t) {
  const Dim batch = t.symbol("batch"), rows = t.symbol("rows");
  const ValueId x = t.input("x", {batch, 2, rows, 4}), at = t.input("at", {batch, rows}, DType::i64);
  const ValueId cos = t.floats({3, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6}),
                sin = t.floats({3, 4}, {7, 8, 7, 8, 1, 0, 1, 0, 2, 3, 2, 3});
  const Attributes in_two = {{"axis", int64_t(3)}, {"num_outputs", int64_t(2)}};
  const auto two = t.add_multi({.type = "Split", .inputs = {x}, .attributes = in_two, .outputs = 2});
  const ValueId turned = joined_rows(t, {t.add("Neg", {two[1]}), two[0]});
  t.output(rotary_sum(t, x, with_axis(t, t.add("Gather", {cos, at}), 1), turned,
                      with_axis(t, t.add("Gather", {sin, at}), 1)),
           "y");
}
const RuleExample example_of_rotary_tables("rotary_tables", {"rotary"}, rotary_tables,
                                           R"(graph(x: float32[batch,2,rows,4], at: int64[batch,rows]) {
  Gather#1: float32[batch,rows,4] = Gather(w#1, at)
  Unsqueeze#1: float32[batch,1,rows,4] = Unsqueeze(Gather#1, i#1)
  Gather#2: float32[batch,rows,4] = Gather(w#2, at)
  Unsqueeze#2: float32[batch,1,rows,4] = Unsqueeze(Gather#2, i#2)
  Slice#1: float32[batch,1,rows,2] = Slice(Unsqueeze#2, start#1, end#1, axis#1, step#1)
  Squeeze#1: float32[batch,rows,2] = Squeeze(Slice#1, axis#2)
  Slice#2: float32[batch,1,rows,2] = Slice(Unsqueeze#1, start#2, end#2, axis#3, step#2)
  Squeeze#2: float32[batch,rows,2] = Squeeze(Slice#2, axis#4)
  y: float32[batch,2,rows,4] = RotaryEmbedding(x, Squeeze#1, Squeeze#2)
  return y
}
)");

TEST(Rotary, TablesOfRows) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 3, 2, 4});
  const ValueId cos = t.floats({2, 4}, {1, 1, 2, 2, 3, 3, 4, 4}), sin = t.floats({2, 4}, {5, 5, 6, 6, 7, 7, 8, 8});
  t.output(rotary_sum(t, x, cos, turned_neighbours(t, x, {2, 3, 2, 4}), sin), "y");
  expect_rewrite(t, {"rotary"}, R"(graph(x: float32[2,3,2,4]) {
  Slice#1: float32[2,2] = Slice(w#1, start#1, end#1, axis#1, step#1)
  Unsqueeze#1: float32[1,2,2] = Unsqueeze(Slice#1, axis#2)
  Slice#2: float32[2,2] = Slice(w#2, start#2, end#2, axis#3, step#2)
  Unsqueeze#2: float32[1,2,2] = Unsqueeze(Slice#2, axis#4)
  y: float32[2,3,2,4] = RotaryEmbedding(x, Unsqueeze#1, Unsqueeze#2) {interleaved=1}
  return y
}
)");
}

/// What a spelled-out embedding may have that the operator does not compute.
struct OtherSum {
  std::vector<float> sin = {5, 6, 5, 6, 7, 8, 7, 8};
  int64_t half = 2, step = 1;
  Shape angles = {2, 4};
  bool negated_first = true, same = true, used = false;
};
void expect_sum_stays(const OtherSum& o) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2, 2, 4}), other = t.input("other", {1, 2, 2, 4});
  const ValueId cos = t.floats(o.angles, {1, 2, 1, 2, 3, 4, 3, 4}), sin = t.floats(o.angles, o.sin);
  const ValueId second = rotary_part(t, x, o.half, INT64_MAX, o.step),
                first = rotary_part(t, o.same ? x : other, 0, 4 - (4 - o.half) / o.step);
  const ValueId turned = o.negated_first ? joined_rows(t, {t.add("Neg", {second}), first})
                                         : joined_rows(t, {second, t.add("Neg", {first})});
  t.output(rotary_sum(t, x, cos, turned, sin), "y");
  if (o.used) t.output(turned, "turned");
  expect_no_rewrite(t, {"rotary"});
}
TEST(Rotary, OtherSumsStay) {
  expect_sum_stays({.sin = {5, 6, 5, 7, 7, 8, 7, 8}});  // the angles of a pair differ
  expect_sum_stays({.half = 1});
  expect_sum_stays({.angles = {2, 1, 4}});  // angles of heads
  expect_sum_stays({.negated_first = false});
  expect_sum_stays({.same = false});
  expect_sum_stays({.used = true});
}

TEST(Rotary, NeighboursDoNotHaveTheAnglesOfHalves) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2, 2, 4});
  const ValueId table = t.floats({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4});
  t.output(rotary_sum(t, x, table, turned_neighbours(t, x, {1, 2, 2, 4}), table), "y");
  expect_no_rewrite(t, {"rotary"});
}

}  // namespace
}  // namespace retort
