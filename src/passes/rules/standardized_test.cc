// What looks like a written-out normalisation, but computes something else, stays as it is.
#include "passes/passes_testing.h"

namespace retort {
namespace {

const std::initializer_list<std::string_view> kNormRules = {"group_norm", "layer_norm", "layer_norm_gain",
                                                            "rms_norm_div", "rms_norm_mul"};

ValueId mean_over(TestGraph& t, ValueId x, const std::vector<int64_t>& axes, int64_t keepdims = 1) {
  return t.add("ReduceMean", {x, t.ints(axes)}, {{"keepdims", keepdims}});
}
ValueId deviation_of(TestGraph& t, ValueId squares, const std::vector<int64_t>& axes) {
  return t.add("Sqrt", {t.add("Add", {mean_over(t, squares, axes), t.scalar(8)})});
}
ValueId square(TestGraph& t, ValueId x) { return t.add("Mul", {x, x}); }

/// (x - mean) / √(variance + ε) with one thing changed.
struct OtherStandardization {
  bool cube = false, product = false, other_mean = false, other_difference = false;
  std::vector<int64_t> axes_of_difference = {};
  int64_t keepdims = 1;
  Shape shape = {6, 6, 6};
};
void expect_standardization_stays(const OtherStandardization& o, const std::vector<int64_t>& axes) {
  TestGraph t;
  const ValueId x = t.input("x", o.shape), z = t.input("z", o.shape);
  const ValueId off = t.add("Sub", {x, mean_over(t, o.other_mean ? z : x, axes, o.keepdims)});
  ValueId base = off;
  if (o.other_difference) base = t.add("Sub", {z, mean_over(t, z, axes)});
  if (!o.axes_of_difference.empty()) base = t.add("Sub", {x, mean_over(t, x, o.axes_of_difference)});
  const ValueId squares = o.cube      ? t.add("Pow", {base, t.scalar(3)})
                          : o.product ? t.add("Mul", {base, x})
                                      : square(t, base);
  t.output(t.add("Div", {off, deviation_of(t, squares, axes)}), "y");
  expect_no_rewrite(t, {"group_norm", "layer_norm"});
}
TEST(Standardized, OthersStay) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {1, 2}}) {
    expect_standardization_stays({.cube = true}, axes);
    expect_standardization_stays({.product = true}, axes);
    expect_standardization_stays({.other_mean = true}, axes);
    expect_standardization_stays({.other_difference = true}, axes);
    expect_standardization_stays({.axes_of_difference = {1}}, axes);
    expect_standardization_stays({.keepdims = 0}, axes);
  }
  expect_standardization_stays({}, {0});
  expect_standardization_stays({}, {1});
  expect_standardization_stays({.shape = {6, 6}}, {0, 1});
}

TEST(Standardized, DoublesStay) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {1, 2}}) {
    TestGraph t;
    const ValueId x = t.input("x", {2, 3, 4}, DType::f64);
    const ValueId off = t.add("Sub", {x, mean_over(t, x, axes)});
    const ValueId epsilon = t.g.add_constant("epsilon", Tensor::of<double>({}, {1e-5}));
    const ValueId sum = t.add("Add", {mean_over(t, square(t, off), axes), epsilon});
    t.output(t.add("Div", {off, t.add("Sqrt", {sum})}), "y");
    expect_no_rewrite(t, kNormRules);
  }
}

TEST(Standardized, RootsOfOtherMeansStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 6}), z = t.input("z", {2, 6, 6});
  t.output(t.add("Div", {x, deviation_of(t, square(t, z), {2})}), "other");
  t.output(t.add("Div", {x, deviation_of(t, square(t, x), {1})}), "axis");
  t.output(t.add("Mul", {x, t.add("Reciprocal", {deviation_of(t, square(t, z), {-1})})}), "product");
  expect_no_rewrite(t, kNormRules);
}

/// x · k + (β - mean · k) with k = γ · (1 / √(variance + ε)), with one thing changed.
struct OtherGain {
  std::vector<int64_t> axes = {2}, of_difference = {2}, of_variance = {2};
  bool other_variance = false, other_x = false;
  Shape beta = {6};
};
void expect_gain_stays(const OtherGain& o) {
  TestGraph t;
  const ValueId x = t.input("x", {6, 6, 6}), z = t.input("z", {6, 6, 6});
  const ValueId mean = mean_over(t, x, o.axes), varying = o.other_variance ? z : x;
  const ValueId squares = square(t, t.add("Sub", {varying, mean_over(t, varying, o.of_difference)}));
  const ValueId gain =
      t.add("Mul", {t.add("Reciprocal", {deviation_of(t, squares, o.of_variance)}), t.weight("gamma", {6})});
  const ValueId moved = t.add("Sub", {t.weight("beta", o.beta), t.add("Mul", {mean, gain})});
  t.output(t.add("Add", {t.add("Mul", {o.other_x ? z : x, gain}), moved}), "y");
  expect_no_rewrite(t, kNormRules);
}
TEST(Standardized, OtherGainsStay) {
  expect_gain_stays({.axes = {1}, .of_difference = {1}, .of_variance = {1}});
  expect_gain_stays({.of_difference = {1}});
  expect_gain_stays({.of_variance = {1}});
  expect_gain_stays({.other_variance = true});
  expect_gain_stays({.other_x = true});
  expect_gain_stays({.beta = {1, 1, 1, 6}});
}

}  // namespace
}  // namespace retort
