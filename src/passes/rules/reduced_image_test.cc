#include "passes/passes_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

ValueId convolved(TestGraph& t, const std::string& name) {
  return t.add("Conv", {t.input(name, {2, 3, 7}), t.weight(name + "w", {5, 3, 1})});
}
void reductions(TestGraph& t) {
  const Attributes drops{{"keepdims", int64_t{0}}};
  t.output(t.add("ReduceMax", {t.add("Relu", {convolved(t, "a")}), t.ints({2})}, drops), "most");
  t.output(t.add("ReduceMean", {convolved(t, "b"), t.ints({-1})}, drops), "mean");
  t.output(t.add("ReduceSum", {convolved(t, "c"), t.ints({1, 2})}, drops), "sum");
}
const RuleExample example("reduced_image", {"reduced_image_max", "reduced_image_mean", "reduced_image_sum"}, reductions,
                          R"(graph(a: float32[2,3,7], b: float32[2,3,7], c: float32[2,3,7]) {
  Conv#1: float32[2,5,7] = Conv(a, aw)
  Relu#1: float32[2,5,7] = Relu(Conv#1)
  ReduceMax#1: float32[2,5,1] = ReduceMax(Relu#1, i#1) {keepdims=1}
  most: float32[2,5] = Squeeze(ReduceMax#1, i#1)
  Conv#2: float32[2,5,7] = Conv(b, bw)
  ReduceMean#1: float32[2,5,1] = ReduceMean(Conv#2, i#2) {keepdims=1}
  mean: float32[2,5] = Squeeze(ReduceMean#1, i#2)
  Conv#3: float32[2,5,7] = Conv(c, cw)
  ReduceSum#1: float32[2,1,1] = ReduceSum(Conv#3, i#3) {keepdims=1}
  sum: float32[2] = Squeeze(ReduceSum#1, i#3)
  return most, mean, sum
}
)");

TEST(ReducedImage, OthersStay) {
  const Attributes drops{{"keepdims", int64_t{0}}};
  TestGraph t;
  t.output(t.add("ReduceMax", {convolved(t, "a"), t.ints({2})}, {{"keepdims", int64_t{1}}}), "kept");
  t.output(t.add("ReduceMax", {t.input("x", {2, 3, 7}), t.ints({2})}, drops), "plain");
  t.output(t.add("ReduceMax", {convolved(t, "b"), t.input("axes", {1}, DType::i64)}, drops), "any");
  t.output(t.add("ReduceMax", {convolved(t, "c"), t.ints({})}, drops), "all");
  t.output(t.add("ReduceMax", {t.add("Softmax", {convolved(t, "d")}), t.ints({2})}, drops), "softmax");
  ValueId far = convolved(t, "e");
  for (int i = 0; i < 4; ++i) far = t.add("Sigmoid", {far});
  t.output(t.add("ReduceMax", {far, t.ints({2})}, drops), "far");
  t.output(t.add("ReduceSum", {t.input("rows", {3, 7}), t.ints({1})}, drops), "rows_sum");
  expect_no_rewrite(t, {"reduced_image_max", "reduced_image_mean", "reduced_image_sum"});
}

}  // namespace
}  // namespace retort
