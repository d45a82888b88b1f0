// Tests that every type of an operator's definition has a way to run.
#include "explain/how_it_runs.h"

#include <gtest/gtest.h>

#include "onnx/operator_schemas.h"

namespace retort {
namespace {

TEST(HowItRuns, FollowsTheKernels) {
  const OpDef* exp = find_op("", "Exp");
  ASSERT_TRUE(exp);
  EXPECT_EQ(how_it_runs(*exp, DType::f32), HowItRuns::kernel);
  EXPECT_EQ(how_it_runs(*exp, DType::string), HowItRuns::nothing);
  for (const OpDef* op : op_table()) {
    for (int t = 1; t < kDTypeCount; ++t) {
      const Kernel kernel = find_kernel(*op, DType(t));
      const HowItRuns how = how_it_runs(*op, DType(t));
      const bool parts = !op->run && kernel.fn && (DType(t) == DType::complex64 || DType(t) == DType::complex128);
      EXPECT_EQ(how == HowItRuns::converted, kernel.carried || parts) << op->info.name;
      EXPECT_EQ(how == HowItRuns::nothing, !kernel.fn && !kernel.carried) << op->info.name;
      EXPECT_EQ(how_text(how).empty(), how == HowItRuns::nothing);
    }
  }
}

TEST(HowItRuns, OfANode) {
  Graph g(std::make_shared<DimTable>());
  const ValueId x = g.add_value("x", ValueType::tensor(DType::f64, Shape{2}));
  const ValueId i = g.add_value("i", ValueType::tensor(DType::i64, Shape{2}));
  Node& gather = g.node(g.add({.type = "Gather", .inputs = {x, i}}));
  resolve(gather);
  EXPECT_EQ(computed_type(g, gather), DType::f64);
}

TEST(OperatorVersions, AreThoseOfTheSchemas) {
  EXPECT_EQ(onnx::operator_versions("", "Conv"), (std::vector<int>{1, 11, 22}));
  EXPECT_EQ(onnx::operator_versions("com.microsoft", "FusedConv"), std::vector<int>{1});
  EXPECT_TRUE(onnx::operator_versions("", "Frobnicate").empty());
}

}  // namespace
}  // namespace retort
