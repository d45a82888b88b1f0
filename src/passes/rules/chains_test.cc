// Tests of rules for nodes that only move or convert elements.
#include "passes/passes_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

TEST(CastChain, ACastThatLosesNothing) {
  TestGraph t;
  const auto cast = [&](ValueId v, DType to) { return t.add("Cast", {v}, {{"to", int64_t(to)}}); };
  t.output(cast(cast(t.input("x", {3}, DType::boolean), DType::i32), DType::f32), "y");
  expect_rewrite(t, {"cast_chain"}, R"(graph(x: bool[3]) {
  y: float32[3] = Cast(x) {to=1}
  return y
}
)");
}

TEST(ReshapeChain, OnlyTheLastOneMatters) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 3, 4});
  t.output(t.add("Reshape", {t.add("Reshape", {x, t.ints({6, 4})}), t.ints({3, 8})}), "y");
  expect_rewrite(t, {"reshape_chain"}, R"(graph(x: float32[2,3,4]) {
  y: float32[3,8] = Reshape(x, i#1)
  return y
}
)");
}

TEST(ConstantReshape, ATargetOfSymbols) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("batch"), t.symbol("length"), 6});
  const ValueId extents = t.add("Shape", {x}, {{"end", int64_t(2)}});
  t.output(t.add("Reshape", {x, t.add("Concat", {extents, t.ints({2, 3})}, {{"axis", int64_t(0)}})}), "y");
  expect_rewrite(t, {"constant_reshape"}, R"(graph(x: float32[batch,length,6]) {
  y: float32[batch,length,2,3] = Reshape(x, shape#1)
  return y
}
)");
}

TEST(TransposeChain, OneIsEnough) {
  TestGraph t;
  const ValueId first = t.add("Transpose", {t.input("x", {2, 3, 4})}, {{"perm", Ints{1, 0, 2}}});
  t.output(t.add("Transpose", {first}, {{"perm", Ints{2, 1, 0}}}), "y");
  expect_rewrite(t, {"transpose_chain"}, R"(graph(x: float32[2,3,4]) {
  y: float32[4,2,3] = Transpose(x) {perm=[2,0,1]}
  return y
}
)");
}

// Of another number of axes, it is an error of the run.
TEST(NoopTranspose, StaysIfTheRankIsUnknown) {
  for (const bool known : {true, false}) {
    TestGraph t;
    const ValueId x = t.input("x", {2});
    if (!known) t.g.value(x).type = ValueType::tensor(DType::f32);
    const ValueId y = t.add("Transpose", {t.add("Relu", {x})}, {{"perm", Ints{0}}});
    t.output(t.add("Neg", {y}), "y");
    const std::string_view rule = "noop_transpose";
    const PassOptions options;
    PassContext context(options);
    rewrite(t.g, rules_named({&rule, 1}), context);
    EXPECT_EQ(t.g.order().size(), known ? 2u : 3u);
  }
}

TEST(TransposeUnit, MovesNothing) {
  TestGraph t;
  t.output(t.add("Transpose", {t.input("x", {2, 3, 1, 1})}, {{"perm", Ints{0, 2, 3, 1}}}), "y");
  expect_rewrite(t, {"transpose_unit"}, R"(graph(x: float32[2,3,1,1]) {
  y: float32[2,1,1,3] = Reshape(x, shape#1)
  return y
}
)");
}

TEST(TransposeUnit, OfAnEmptyBatchMovesNothingEither) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("N"), 1, t.symbol("S"), 4});
  t.output(t.add("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}}), "y");
  expect_rewrite(t, {"transpose_unit"}, R"(graph(x: float32[N,1,S,4]) {
  Squeeze#1: float32[N,S,4] = Squeeze(x, axes#1)
  y: float32[N,S,1,4] = Unsqueeze(Squeeze#1, axes#2)
  return y
}
)");
}

}  // namespace
}  // namespace retort
