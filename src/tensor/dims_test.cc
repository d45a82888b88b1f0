#include "tensor/dims.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace retort {
namespace {

TEST(DimTable, KnownNumbersAreArithmetic) {
  DimTable t;
  EXPECT_EQ(t.add(2, 3), 5);
  EXPECT_EQ(t.sub(2, 3), -1);
  EXPECT_EQ(t.div(7, 2), 3);
  EXPECT_EQ(t.div(-7, 2), -4);
  EXPECT_EQ(t.broadcast(1, 0), 0);
  EXPECT_THROW(t.broadcast(2, 3), Error);
  EXPECT_THROW(t.mul(INT64_MAX, 2), Error);
}

TEST(DimTable, EqualExpressionsHaveEqualHandles) {
  DimTable t;
  const Dim b = t.symbol("batch"), s = t.symbol("seq");
  EXPECT_EQ(b, t.symbol("batch"));
  EXPECT_NE(b, s);
  EXPECT_EQ(t.add(b, s), t.add(s, b));
  EXPECT_EQ(t.sub(t.add(b, 1), 1), b);
  EXPECT_EQ(t.div(t.mul(t.mul(b, s), 12), 12), t.mul(b, s));
  EXPECT_EQ(t.div(t.mul(t.mul(b, s), 768), s), t.mul(b, 768));
  EXPECT_EQ(t.broadcast(b, 1), b);
  EXPECT_EQ(t.broadcast(b, 7), 7);
  EXPECT_NE(t.fresh(), t.fresh());
}

TEST(DimTable, Text) {
  DimTable t;
  const Dim b = t.symbol("batch");
  EXPECT_EQ(t.text(Shape{b, 3}), "[batch,3]");
  EXPECT_EQ(t.text(t.sub(b, 2)), "batch-2");
}

}  // namespace
}  // namespace retort
