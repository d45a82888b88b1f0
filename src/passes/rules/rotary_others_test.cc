// What looks like a rotary embedding, but computes something else, stays as it is.
#include <functional>
#include <numeric>

#include "passes/passes_testing.h"

namespace retort {
namespace {

using Maker = std::function<ValueId(TestGraph&, ValueId x)>;

ValueId piece(TestGraph& t, ValueId x, int64_t start, int64_t end, int64_t step = 1) {
  return t.add("Slice", {x, t.ints({start}), t.ints({end}), t.ints({-1}), t.ints({step})});
}
ValueId concat(TestGraph& t, std::vector<ValueId> parts, int64_t axis = -1) {
  return t.add("Concat", std::move(parts), {{"axis", axis}});
}
/// Two elements of each row, the first ones negated, before two others.
Maker turned(int64_t start, int64_t end, int64_t step, int64_t second, int64_t second_end, int64_t second_step = 1) {
  return [=](TestGraph& t, ValueId x) {
    const ValueId first = piece(t, x, start, end, step);
    return concat(t, {t.add("Neg", {first}), piece(t, x, second, second_end, second_step)});
  };
}
/// The same as pairs of neighbours.
Maker paired(int64_t start, int64_t end, int64_t step, int64_t second, int64_t second_end, int64_t second_step,
             int64_t axis = -1, std::vector<int64_t> shape = {1, 2, 2, 4}) {
  return [=](TestGraph& t, ValueId x) {
    const auto each = [&](ValueId v) { return t.add("Unsqueeze", {v, t.ints({-1})}); };
    const ValueId first = each(t.add("Neg", {piece(t, x, start, end, step)}));
    return t.add("Reshape",
                 {concat(t, {first, each(piece(t, x, second, second_end, second_step))}, axis), t.ints(shape)});
  };
}
const Maker kHalves = turned(2, 4, 1, 0, 2), kPairs = paired(1, 4, 2, 0, 4, 2);

/// A constant whose rows [a, b, a, b], or [a, a, b, b], have the angles twice.
Maker table(Shape shape, bool pairs = false) {
  return [=](TestGraph& t, ValueId) {
    const size_t count = size_t(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()));
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = float(i / 4 * 2 + (pairs ? i % 4 / 2 : i % 2) + 1) / 8;
    return t.floats(shape, numbers);
  };
}

void expect_rotation_stays(const Maker& turn, const Maker& cos, const Maker& sin, Shape shape = {1, 2, 2, 4},
                           DType type = DType::f32) {
  TestGraph t;
  const ValueId x = t.input("x", std::move(shape), type);
  t.output(t.add("Add", {t.add("Mul", {x, cos(t, x)}), t.add("Mul", {turn(t, x), sin(t, x)})}), "y");
  expect_no_rewrite(t, {"rotary"});
}

TEST(RotaryOthers, OtherElements) {
  const Maker uneven = [](TestGraph& t, ValueId x) {
    const auto parts = t.add_multi(
        {.type = "Split", .inputs = {x, t.ints({1, 3})}, .attributes = {{"axis", int64_t(-1)}}, .outputs = 2});
    return concat(t, {t.add("Neg", {parts[1]}), parts[0]});
  };
  for (const Maker& turn : {uneven, turned(2, 4, 1, 2, 4), turned(2, 0, -1, 0, 2), turned(2, 4, 1, 0, 4, 2),
                            turned(1, 3, 1, 0, 2), turned(0, 2, 1, 0, 2)})
    expect_rotation_stays(turn, table({2, 4}), table({2, 4}));
  for (const Maker& turn : {paired(0, 4, 2, 0, 4, 2), paired(1, 3, 1, 0, 4, 2), paired(1, 4, 2, 0, 2, 1),
                            paired(1, 4, 2, 1, 4, 2), paired(1, 4, 2, 0, 4, 2, -2)})
    expect_rotation_stays(turn, table({2, 4}, true), table({2, 4}, true));
  expect_rotation_stays(paired(1, 4, 2, 0, 4, 2, -1, {1, 2, 2, 4}), table({2, 4}, true), table({2, 4}, true),
                        {2, 1, 2, 4});
}

TEST(RotaryOthers, AnglesThatAreNotThereTwice) {
  const Maker right = table({2, 4});
  const auto of_half = [](auto&& make) {
    return [=](TestGraph& t, ValueId) { return make(t, t.weight("a", {2, 2}), t.weight("b", {2, 2})); };
  };
  const Maker both = of_half([](TestGraph& t, ValueId a, ValueId b) { return t.add("Cos", {concat(t, {a, b})}); });
  const Maker rows = [](TestGraph& t, ValueId) {
    const ValueId angles = t.input("angles", {1, 4});
    return concat(t, {angles, angles}, 0);
  };
  const Maker turned_table = [](TestGraph& t, ValueId x) { return t.add("Transpose", {table({4, 4})(t, x)}); };
  const Maker short_rows = [](TestGraph& t, ValueId) {
    return t.add("Reshape", {t.floats({4, 2}, {1, 1, 2, 2, 3, 3, 4, 4}), t.ints({2, 4})});
  };
  const Maker columns = [](TestGraph& t, ValueId x) {
    return t.add("Gather", {table({2, 4})(t, x), t.ints({0, 1, 1, 0})}, {{"axis", int64_t(1)}});
  };
  for (const Maker& angles : {both, rows, short_rows, columns}) expect_rotation_stays(kHalves, right, angles);
  expect_rotation_stays(kHalves, table({4, 4}), turned_table, {1, 2, 4, 4});
}

TEST(RotaryOthers, AnglesThatAreNotThereTwiceAsNeighbours) {
  const Maker right = table({2, 4}, true);
  const auto joined = [](TestGraph& t, ValueId pairs) { return t.add("Reshape", {pairs, t.ints({2, 4})}); };
  const Maker expanded = [=](TestGraph& t, ValueId) {
    return joined(t, t.add("Expand", {t.input("angles", {1, 2, 2}), t.ints({2, 2, 2})}));
  };
  const Maker different = [=](TestGraph& t, ValueId) {
    return joined(t, concat(t, {t.input("a", {2, 2, 1}), t.input("b", {2, 2, 1})}));
  };
  for (const Maker& angles : {expanded, different}) expect_rotation_stays(kPairs, right, angles);
}

TEST(RotaryOthers, AnglesOfOtherShapes) {
  const auto expect_all = [](const Shape& cos, const Shape& sin, Shape x) {
    expect_rotation_stays(kHalves, table(cos), table(sin), std::move(x));
  };
  for (const Shape& s : {Shape{2, 1, 2, 4}, {1, 1, 1, 4}, {2, 2, 4}, {1, 2, 2, 4}, {1, 1, 1, 2, 4}})
    expect_all(s, s, {1, 2, 2, 4});
  expect_all({1, 1, 2, 4}, {2, 1, 2, 4}, {2, 2, 2, 4});
  expect_all({4, 4}, {4, 4}, {2, 4, 4});
}

TEST(RotaryOthers, Doubles) {
  const Maker angles = [](TestGraph& t, ValueId) {
    const ValueId half = t.input(t.g.unique_name("angles"), {2, 2}, DType::f64);
    return concat(t, {half, half});
  };
  expect_rotation_stays(kHalves, angles, angles, {1, 2, 2, 4}, DType::f64);
}

}  // namespace
}  // namespace retort
