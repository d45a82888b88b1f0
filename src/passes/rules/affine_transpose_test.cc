#include "passes/passes_testing.h"

namespace retort {
namespace {

ValueId turned_conv(TestGraph& t) {
  const ValueId y = t.add("Conv", {t.input("x", {1, 2, 5, 5}), t.weight("w", {4, 2, 3, 3})});
  return t.add("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
}

// As a bias and a batch normalisation of TensorFlow are written.
void affine_behind_a_transpose(TestGraph& t) {
  ValueId v = turned_conv(t);
  const ValueId k = t.floats({4}, {1, 2, 0.5f, 4});
  v = t.add("Add", {v, k});
  v = t.add("Mul", {t.floats({1, 1, 1, 4}, {2, 1, 0.5f, 3}), v});
  v = t.add("Div", {v, k});
  t.output(t.add("Sub", {v, t.scalar(2)}), "y");
}
const RuleExample affine_behind_a_transpose_example("affine_behind_a_transpose",
                                                    {"add_transpose", "mul_transpose", "div_transpose", "sub_transpose",
                                                     "conv_add", "conv_mul", "conv_div", "conv_sub"},
                                                    affine_behind_a_transpose, R"(graph(x: float32[1,2,5,5]) {
  Conv#1: float32[1,4,3,3] = Conv(x, weights#1, bias#1)
  y: float32[1,3,3,4] = Transpose(Conv#1) {perm=[0,2,3,1]}
  return y
}
)");

TEST(AffineTranspose, StaysWhereElementsWouldHaveToMove) {
  TestGraph pixels;
  pixels.output(pixels.add("Mul", {turned_conv(pixels), pixels.weight("k", {3, 1, 4})}), "y");
  expect_no_rewrite(pixels, {"mul_transpose"});
  TestGraph reversed;
  reversed.output(reversed.add("Sub", {reversed.floats({4}, {1, 2, 3, 4}), turned_conv(reversed)}), "y");
  expect_no_rewrite(reversed, {"sub_transpose"});
}

}  // namespace
}  // namespace retort
