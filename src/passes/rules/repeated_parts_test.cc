#include "passes/passes_testing.h"

namespace retort {
namespace {

/// The single rows of x [2, 3, 4] along axis 1.
std::vector<ValueId> rows_of(TestGraph& t, ValueId x, int64_t axis = 1) {
  return t.add_multi(
      {.type = "Split", .inputs = {x}, .attributes = {{"axis", axis}, {"num_outputs", int64_t(3)}}, .outputs = 3});
}

void each_row_twice(TestGraph& t) {
  const auto r = rows_of(t, t.input("x", {2, 3, 4}), -2);
  t.output(t.add("Concat", {r[0], r[0], r[1], r[1], r[2], r[2]}, {{"axis", int64_t(1)}}), "y");
}
const RuleExample each_row_twice_example("each_row_twice", {"repeated_parts"}, each_row_twice,
                                         R"(graph(x: float32[2,3,4]) {
  y: float32[2,6,4] = Gather(x, rows#1) {axis=1}
  return y
}
)");

TEST(RepeatedParts, AnyOrderAndNotAllRows) {
  TestGraph t;
  const auto r = rows_of(t, t.input("x", {2, 3, 4}));
  t.output(t.add("Concat", {r[2], r[0], r[2], r[2], r[0]}, {{"axis", int64_t(-2)}}), "y");
  expect_rewrite(t, {"repeated_parts"}, R"(graph(x: float32[2,3,4]) {
  y: float32[2,5,4] = Gather(x, rows#1) {axis=1}
  return y
}
)");
}

TEST(RepeatedParts, OthersStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 3, 4}), y = t.input("y", {2, 3, 4}), z = t.input("z", {2, 6, 4});
  const Attributes rows{{"axis", int64_t(1)}};
  auto r = rows_of(t, x), s = rows_of(t, y), w = rows_of(t, z), u = rows_of(t, x), v = rows_of(t, y);
  t.output(t.add("Concat", {r[0], r[0], s[1], r[1]}, rows), "two_tensors");
  t.output(t.add("Concat", {w[0], w[0], w[1], w[2]}, rows), "parts_of_two_rows");
  t.output(t.add("Concat", {u[0], u[0], u[1], u[2]}, {{"axis", int64_t(2)}}), "another_axis");
  t.output(t.add("Concat", {v[0], v[0], v[1], v[2]}, rows), "used_elsewhere");
  t.output(t.add("Relu", {v[2]}), "elsewhere");
  const auto few = rows_of(t, x);
  t.output(t.add("Concat", {few[2], few[1], few[0]}, rows), "few");
  expect_no_rewrite(t, {"repeated_parts"});
}

}  // namespace
}  // namespace retort
