// Tests that the inputs and attributes to which traits refer exist.
#include <gtest/gtest.h>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

TEST(Traits, OperatorsAlongAnAxisHaveThatAttribute) {
  for (const OpDef* op : op_table()) {
    if (!op->has(kAlongAxis)) continue;
    EXPECT_NO_THROW(op->parse({{"axis", int64_t(1)}})) << op->info.name;
  }
}

TEST(Traits, ReductionsReadTheirAxesFromInput1) {
  size_t found = 0;
  for (const OpDef* op : op_table()) {
    const bool reduces = op->info.name.starts_with("Reduce") && op->info.domain.empty();
    EXPECT_EQ(op->has(kReduces), reduces) << op->info.name;
    if (!op->has(kReduces)) continue;
    ++found;
    EXPECT_EQ(op->info.inputs[1].text(), "axes: int64?") << op->info.name;
    EXPECT_NO_THROW(op->parse({{"keepdims", int64_t(1)}})) << op->info.name;
  }
  EXPECT_GE(found, 10u);
}

}  // namespace
}  // namespace retort::ops
