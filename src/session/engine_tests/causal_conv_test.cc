// CausalConvWithState with weights whose shape is known only in a run: the same results as with constant weights.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

/// How much of the shapes the model knows.
enum class Known { all, channels, nothing };

struct CausalConv : TestGraph {
  CausalConv(Known known, bool with_past, int64_t dilation) {
    const bool all = known == Known::all, channels = known != Known::nothing;
    const Dim c = channels ? Dim(3) : symbol("c");
    std::vector<ValueId> inputs{input("x", {2, c, symbol("rows")})};
    inputs.push_back(input("w", {all ? Dim(3) : symbol("m"), 1, all ? Dim(4) : symbol("k")}));
    inputs.push_back(input("bias", {channels ? Dim(3) : symbol("m")}));
    if (with_past) inputs.push_back(input("past", {2, c, symbol("kept")}));
    const Node& n = g.node(g.add({.type = "CausalConvWithState",
                                  .inputs = inputs,
                                  .attributes = {{"activation", std::string("silu")}, {"dilation", dilation}},
                                  .domain = "com.microsoft",
                                  .name = "conv",
                                  .outputs = 2}));
    g.outputs = n.outputs;
  }
};

void expect_equal(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (size_t i = 0; i < got.count(); ++i)
    EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5) << "element " << i;
}

TEST(CausalConv, ComputesTheReachOfUnknownWeights) {
  for (const bool with_past : {false, true}) {
    for (const int64_t dilation : {1, 2}) {
      std::vector<Value> inputs{image({2, 3, 5}), image({3, 1, 4}, 4), image({3}, 5)};
      if (with_past) inputs.push_back(image({2, 3, 3 * dilation}, 6));
      const auto expected = run(CausalConv(Known::all, with_past, dilation).g, inputs, OptimizationLevel::all);
      EXPECT_EQ(expected[1].tensor()->shape(), (Shape{2, 3, 3 * dilation}));
      for (const Known known : {Known::channels, Known::nothing}) {
        SCOPED_TRACE(cat("knows {}, past {}, dilation {}", int(known), with_past, dilation));
        const auto got = run(CausalConv(known, with_past, dilation).g, inputs, OptimizationLevel::all);
        for (size_t i = 0; i < 2; ++i) expect_equal(*got[i].tensor(), *expected[i].tensor());
      }
    }
  }
}

// With windows of one element, nothing is kept.
TEST(CausalConv, MayKeepNothing) {
  const std::vector<Value> inputs{image({2, 3, 5}), image({3, 1, 1}, 4), image({3}, 5)};
  const auto got = run(CausalConv(Known::nothing, false, 1).g, inputs, OptimizationLevel::all);
  EXPECT_EQ(got[0].tensor()->shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(got[1].tensor()->shape(), (Shape{2, 3, 0}));
}

}  // namespace
}  // namespace retort
