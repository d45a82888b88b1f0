#include "passes/passes_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

ValueId conv(TestGraph& t, ValueId x, const std::string& name, Shape filters, Attributes attributes = {}) {
  const int64_t count = filters[0];
  return t.add("Conv", {x, t.weight(name, std::move(filters)), t.weight(name + "_bias", {count})},
               std::move(attributes));
}
ValueId norm(TestGraph& t, ValueId x, int64_t channels) {
  std::vector<float> variance;
  for (int64_t i = 0; i < channels; ++i) variance.push_back(0.5f + 0.25f * float(i));
  return t.add("BatchNormalization",
               {x, t.weight("scale", {channels}), t.weight("shift", {channels}), t.weight("mean", {channels}),
                t.floats({channels}, variance)},
               {{"epsilon", 0.01f}});
}

void three_branches(TestGraph& t) {
  const ValueId x = t.input("x", {2, 6, 5, 7});
  const ValueId sum = t.add("Add", {norm(t, x, 6), conv(t, x, "narrow", {6, 3, 1, 1}, {{"group", int64_t(2)}})});
  const ValueId wide = conv(t, x, "wide", {6, 3, 3, 3}, {{"group", int64_t(2)}, {"pads", Ints{1, 1, 1, 1}}});
  t.output(t.add("Add", {sum, wide}), "y");
}
const RuleExample three_branches_example("sum_of_parallel_convs", {"parallel_convs"}, three_branches,
                                         R"(graph(x: float32[2,6,5,7]) {
  y: float32[2,6,5,7] = Conv(x, weights#1, bias#1) {group=2, pads=[1,1,1,1]}
  return y
}
)");

// A mixer of tokens, as FastViT has it: branches less the normalised image.
void depthwise_less_norm(TestGraph& t) {
  const ValueId x = t.input("x", {1, 4, 5, 6});
  const ValueId wide = conv(t, x, "wide", {4, 1, 3, 3}, {{"group", int64_t(4)}, {"pads", Ints{1, 1, 1, 1}}});
  const ValueId mixed = t.add("Sub", {wide, norm(t, x, 4)});
  t.output(t.add("Add", {x, t.add("Mul", {mixed, t.weight("factors", {4, 1, 1})})}), "y");
}
const RuleExample depthwise_less_norm_example("depthwise_conv_less_norm",
                                              {"parallel_convs", "parallel_convs_sub", "conv_mul"}, depthwise_less_norm,
                                              R"(graph(x: float32[1,4,5,6]) {
  y: float32[1,4,5,6] = Conv(x, weights#1, bias#1) {group=4, pads=[1,1,1,1]}
  return y
}
)");

/// Adds or subtracts the results of two convolutions of one image [2, 4, 9, 8].
struct Pair {
  Shape first{6, 4, 3, 3};
  Attributes first_attributes{{"pads", Ints{1, 1, 1, 1}}};
  Shape second{6, 4, 1, 1};
  Attributes second_attributes{};
  const char* type = "Add";
};
void build(TestGraph& t, const Pair& p) {
  const ValueId x = t.input("x", {2, 4, 9, 8});
  const ValueId a = conv(t, x, "first", p.first, p.first_attributes);
  const ValueId b = conv(t, x, "second", p.second, p.second_attributes);
  t.output(t.add(p.type, {a, b}), "y");
}
void expect_one_conv(const Pair& p, const std::string& attributes, const std::string& shape) {
  TestGraph t;
  build(t, p);
  expect_rewrite(t, {"parallel_convs", "parallel_convs_sub"},
                 "graph(x: float32[2,4,9,8]) {\n  y: float32" + shape + " = Conv(x, weights#1, bias#1)" + attributes +
                     "\n  return y\n}\n");
}
void expect_two_convs(const Pair& p) {
  TestGraph t;
  build(t, p);
  expect_no_rewrite(t, {"parallel_convs", "parallel_convs_sub"});
}

TEST(ParallelConvs, AKernelInsideTheOther) {
  const Attributes steps{{"strides", Ints{2, 3}}};
  Attributes wide = steps;
  wide.set("pads", Ints{2, 0, 1, 2});
  Attributes narrow = steps;
  narrow.set("pads", Ints{1, 0, 0, 1});
  const std::string text = " {pads=[2,0,1,2], strides=[2,3]}", shape = "[2,6,5,3]";
  expect_one_conv({{6, 4, 4, 3}, wide, {6, 4, 2, 2}, narrow}, text, shape);
  expect_one_conv({{6, 4, 2, 2}, narrow, {6, 4, 4, 3}, wide}, text, shape);
  expect_one_conv({{6, 4, 4, 3}, wide, {6, 4, 2, 2}, narrow, "Sub"}, text, shape);
  expect_one_conv({{6, 4, 2, 2}, narrow, {6, 4, 4, 3}, wide, "Sub"}, text, shape);
}

TEST(ParallelConvs, KernelsOfOneSize) {
  expect_one_conv({{6, 4, 3, 2}, {{"auto_pad", std::string("VALID")}}, {6, 4, 3, 2}, {}}, " {auto_pad=\"VALID\"}",
                  "[2,6,7,7]");
}

TEST(ParallelConvs, OtherConvolutionsStay) {
  const Attributes padded{{"pads", Ints{1, 1, 1, 1}}};
  expect_two_convs(
      {{6, 4, 3, 1}, {{"pads", Ints{1, 0, 1, 0}}}, {6, 4, 1, 3}, {{"pads", Ints{0, 1, 0, 1}}}});  // a cross
  expect_two_convs({{6, 4, 3, 3}, {{"pads", Ints{0, 1, 2, 1}}}, {6, 4, 3, 3}, padded});           // shifted
  expect_two_convs({{6, 4, 3, 3}, {{"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{2, 2}}}, {6, 4, 1, 1}});
  expect_two_convs({{6, 4, 3, 3}, padded, {6, 2, 1, 1}, {{"group", int64_t(2)}}});
  // As many pixels by other steps: 9 of 9, or 1 of all.
  expect_two_convs({{6, 4, 9, 8}, {{"strides", Ints{2, 2}}}, {6, 4, 9, 8}});
  // One image for all filters of the second.
  expect_two_convs({{6, 4, 3, 3}, padded, {1, 4, 1, 1}});
}

TEST(ParallelConvs, ResultsThatAreUsedElsewhereStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 4, 9, 8});
  const ValueId a = conv(t, x, "first", {6, 4, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}});
  const ValueId b = conv(t, x, "second", {6, 4, 1, 1});
  t.output(t.add("Add", {a, b}), "y");
  t.output(t.add("Relu", {b}), "z");
  expect_no_rewrite(t, {"parallel_convs"});
}

TEST(ParallelConvs, OtherImagesAndComputedFiltersStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 4, 9, 8}), filters = t.input("filters", {4, 4, 1, 1});
  const ValueId a = conv(t, x, "first", {4, 4, 1, 1});
  t.output(t.add("Add", {a, conv(t, t.input("other", {2, 4, 9, 8}), "second", {4, 4, 1, 1})}), "y");
  t.output(t.add("Add", {t.add("Conv", {x, filters}), conv(t, x, "third", {4, 4, 1, 1})}), "z");
  t.output(t.add("Add", {t.add("Conv", {x, filters}), x}), "u");
  expect_no_rewrite(t, {"parallel_convs"});
}

TEST(ParallelConvs, TheImageOfOtherStepsStays) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 4, 1, 1});
  t.output(t.add("Add", {conv(t, x, "w", {4, 4, 1, 1}, {{"strides", Ints{2, 2}}}), x}), "y");
  t.output(t.add("Add", {conv(t, x, "v", {1, 4, 1, 1}), x}), "z");  // one channel for all
  expect_no_rewrite(t, {"parallel_convs"});
}

TEST(ParallelConvs, FiltersOfOneAxis) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 3, t.symbol("n")});
  t.output(t.add("Add", {conv(t, x, "w", {3, 1, 5}, {{"group", int64_t(3)}, {"pads", Ints{3, 1}}}), x}), "y");
  expect_rewrite(t, {"parallel_convs"}, R"(graph(x: float32[2,3,n]) {
  y: float32[2,3,n] = Conv(x, weights#1, bias#1) {group=3, pads=[3,1]}
  return y
}
)");
}

}  // namespace
}  // namespace retort
