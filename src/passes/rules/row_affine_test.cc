#include "passes/passes_testing.h"

namespace retort {
namespace {

void affine_rows(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 5, 20});
  const ValueId scaled = t.add("Mul", {t.weight("s", {1, 1, 20}), x});
  t.output(t.add("Relu", {t.add("Add", {scaled, t.weight("b", {20})})}), "y");
}
const RuleExample example_of_rows("affine_rows", {"row_affine", "epilogue_relu"}, affine_rows,
                                  R"(graph(x: float32[n,5,20]) {
  y: float32[n,5,20] = retort.RowAffine(x, scale#1, shift#1) {activation="relu", activation_a=0, activation_b=0}
  return y
}
)");

void affine_planes(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 3, 5, 20});
  const ValueId scaled = t.add("Mul", {x, t.weight("s", {3, 1, 1})});
  t.output(t.add("Relu", {t.add("Add", {t.weight("b", {1, 3, 1, 1}), scaled})}), "y");
}
const RuleExample example_of_planes("affine_planes", {"row_affine", "epilogue_relu"}, affine_planes,
                                    R"(graph(x: float32[n,3,5,20]) {
  y: float32[n,3,5,20] = retort.RowAffine(x, scale#1, shift#1) {activation="relu", activation_a=0, activation_b=0, planes=1}
  return y
}
)");

TEST(RowAffine, OtherConstantsStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 20, 20}), few = t.input("few", {2, 8}), one = t.input("one", {1, 20});
  t.output(t.add("Add", {t.add("Mul", {x, t.weight("a", {20, 1})}), t.weight("b", {20})}), "other_axis");
  t.output(t.add("Add", {t.add("Mul", {x, t.weight("c", {20})}), t.scalar(1)}), "scalar");
  t.output(t.add("Add", {t.add("Mul", {few, t.weight("d", {8})}), t.weight("e", {8})}), "short_rows");
  t.output(t.add("Add", {t.add("Mul", {one, t.weight("f", {20})}), t.weight("g", {20, 20})}), "matrix");
  t.output(t.add("Add", {t.add("Mul", {x, x}), t.weight("h", {20})}), "square");
  t.output(t.add("Add", {t.add("Mul", {one, t.weight("i", {1, 1, 20})}), t.weight("j", {20})}), "more_axes");
  const ValueId image = t.input("image", {2, 3, 5, 7});
  t.output(t.add("Add", {t.add("Mul", {image, t.weight("m", {3, 1, 1})}), t.weight("n", {5, 1})}), "lines");
  t.output(t.add("Add", {t.add("Mul", {image, t.weight("o", {3, 5, 1})}), t.weight("p", {3, 1, 1})}),
           "lines_of_planes");
  t.output(t.add("Add", {t.add("Mul", {image, t.weight("q", {3, 1, 1})}), t.scalar(1)}), "one_shift");
  t.output(t.add("Add", {t.add("Mul", {image, t.input("r", {3, 1, 1})}), t.weight("s", {3, 1, 1})}), "of_a_run");
  const ValueId shared = t.add("Mul", {x, t.weight("k", {20})});
  t.output(t.add("Add", {shared, t.weight("l", {20})}), "shared");
  t.output(shared, "product");
  expect_no_rewrite(t, {"row_affine"});
}

}  // namespace
}  // namespace retort
