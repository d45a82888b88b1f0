#include "passes/passes_testing.h"

namespace retort {
namespace {

/// (x - mean) / √(variance + ε) over some axes.
ValueId standardize(TestGraph& t, ValueId x, std::initializer_list<int64_t> axes) {
  const ValueId off = t.add("Sub", {x, t.add("ReduceMean", {x, t.ints(axes)})});
  const ValueId variance = t.add("ReduceMean", {t.add("Mul", {off, off}), t.ints(axes)});
  return t.add("Div", {off, t.add("Sqrt", {t.add("Add", {variance, t.scalar(1e-5f)})})});
}

void written_out(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 6, t.symbol("t")});
  const ValueId all = t.add("Mul", {standardize(t, x, {2, -2}), t.weight("g", {6, 1})});
  t.output(t.add("Add", {t.weight("b", {1, 6, 1}), all}), "all");
  t.output(standardize(t, x, {-1}), "each");
}
const RuleExample example_of_global("group_norm_written_out", {"group_norm", "group_norm_scale", "group_norm_shift"},
                                    written_out, R"(graph(x: float32[n,6,t]) {
  all: float32[n,6,t] = GroupNormalization(x, scale#1, bias#1) {epsilon=1e-05, num_groups=1}
  each: float32[n,6,t] = InstanceNormalization(x, scale#2, bias#2) {epsilon=1e-05}
  return all, each
}
)");

void reshaped(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 6, 4, 5});
  const ValueId images = t.add("Reshape", {x, t.ints({0, 3, -1})});
  const ValueId norm = t.add("InstanceNormalization", {images, t.weight("one", {3}), t.weight("zero", {3})});
  const ValueId back = t.add("Reshape", {norm, t.add("Shape", {x})});
  const ValueId scaled = t.add("Mul", {back, t.weight("g", {6, 1, 1})});
  t.output(t.add("Add", {scaled, t.weight("b", {6, 1, 1})}), "y");
}
const RuleExample example_of_reshaped("group_norm_of_reshaped_groups",
                                      {"group_norm_reshape", "group_norm_scale", "group_norm_shift"}, reshaped,
                                      R"(graph(x: float32[n,6,4,5]) {
  y: float32[n,6,4,5] = GroupNormalization(x, scale#1, bias#1) {num_groups=3}
  return y
}
)");

TEST(GroupNorm, OtherAxesStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 4, 5});
  t.output(standardize(t, x, {1, 2}), "a");
  t.output(standardize(t, x, {0, 1, 2, 3}), "b");
  t.output(standardize(t, x, {3}), "c");
  t.output(standardize(t, t.input("z", {3, t.symbol("channels"), 5}), {1, 2}), "d");
  t.output(standardize(t, t.input("rows", {3, 5}), {1}), "e");
  expect_no_rewrite(t, {"group_norm"});
}

TEST(GroupNorm, MeansOverDifferentAxesStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 4});
  const ValueId off = t.add("Sub", {x, t.add("ReduceMean", {x, t.ints({1, 2})})});
  const ValueId variance = t.add("ReduceMean", {t.add("Mul", {off, off}), t.ints({2})});
  t.output(t.add("Div", {off, t.add("Sqrt", {t.add("Add", {variance, t.scalar(1e-5f)})})}), "y");
  expect_no_rewrite(t, {"group_norm"});
}

TEST(GroupNorm, GroupsThatMixImagesStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 4, 5});
  const auto through = [&](std::initializer_list<int64_t> images, std::initializer_list<int64_t> back, int64_t groups) {
    const ValueId one = t.weight("one" + std::to_string(groups), {groups}),
                  zero = t.weight("zero" + std::to_string(groups), {groups});
    const ValueId norm = t.add("InstanceNormalization", {t.add("Reshape", {x, t.ints(images)}), one, zero});
    return t.add("Reshape", {norm, t.ints(back)});
  };
  t.output(through({4, 3, -1}, {2, 6, 4, 5}, 3), "batch");
  t.output(through({2, 4, -1}, {2, 6, 4, 5}, 4), "parts_of_channels");
  t.output(through({2, 2, -1}, {2, 6, 20}, 2), "other_shape");
  expect_no_rewrite(t, {"group_norm_reshape"});
}

TEST(GroupNorm, DoublesStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 5}, DType::f64);
  const auto numbers = [&](Shape shape, const char* name) {
    Tensor c(DType::f64, shape);
    std::fill_n(c.mutable_data<double>(), c.count(), 0.5);
    return t.g.add_constant(name, std::move(c));
  };
  const ValueId norm = t.add("InstanceNormalization",
                             {t.add("Reshape", {x, t.ints({0, 3, -1})}), numbers({3}, "scale"), numbers({3}, "bias")});
  t.output(t.add("Mul", {t.add("Reshape", {norm, t.ints({2, 6, 5})}), numbers({6, 1}, "g")}), "groups");
  const ValueId each = t.add("InstanceNormalization", {x, numbers({6}, "scales"), numbers({6}, "biases")});
  t.output(t.add("Add", {each, numbers({6, 1}, "b")}), "each");
  expect_no_rewrite(t, {"group_norm_reshape", "group_norm_scale", "group_norm_shift"});
}

TEST(GroupNorm, ConstantsOfOtherAxesStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 6});
  const ValueId norm = t.add("InstanceNormalization", {x, t.weight("one", {6}), t.weight("zero", {6})});
  t.output(t.add("Mul", {norm, t.weight("g", {6})}), "y");
  const ValueId z = t.input("z", {2, 1, 6});
  const ValueId few = t.add("InstanceNormalization", {z, t.weight("one1", {1}), t.weight("zero1", {1})});
  t.output(t.add("Add", {few, t.weight("b", {6, 1})}), "wider");
  t.output(t.add("Mul", {t.add("InstanceNormalization", {x, t.weight("two", {6}), t.weight("none", {6})}),
                         t.weight("columns", {1, 6})}),
           "columns");
  t.output(t.add("Add", {t.add("InstanceNormalization", {x, t.weight("three", {6}), t.weight("nil", {6})}),
                         t.weight("deep", {1, 1, 1, 1})}),
           "deeper");
  expect_no_rewrite(t, {"group_norm_scale", "group_norm_shift"});
}

}  // namespace
}  // namespace retort
