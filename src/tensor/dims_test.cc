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
  EXPECT_EQ(t.broadcast(b, t.broadcast(b, s)), t.broadcast(b, s));
  EXPECT_NE(t.fresh(), t.fresh());
  EXPECT_NE(t.fresh_extent(), t.fresh_extent());
}

TEST(DimTable, ACappedExtentBroadcastsWithItselfOnlyBelowTheCap) {
  DimTable t;
  const Dim s = t.symbol("seq"), n = t.symbol("n");
  EXPECT_EQ(t.broadcast(s, t.min(512, s)), s);
  EXPECT_EQ(t.broadcast(t.min(s, 512), s), s);
  EXPECT_NE(t.broadcast(s, t.min(1, s)), s);  // s is 0 or 1
  EXPECT_NE(t.broadcast(n, t.min(512, s)), n);
}

TEST(DimTable, DifferencesCancel) {
  DimTable t;
  const Dim n = t.symbol("n"), m = t.symbol("m");
  EXPECT_EQ(t.sub(t.add(n, 3), t.add(n, 1)), 2);
  EXPECT_EQ(t.sub(t.add(n, m), m), n);
  EXPECT_EQ(t.sub(t.add(t.add(n, m), 2), n), t.add(m, 2));
  EXPECT_THROW(t.sub(0, INT64_MIN), Error);
  EXPECT_THROW(t.div(INT64_MIN, -1), Error);
}

TEST(DimTable, SignAndValueOfExpressions) {
  DimTable t;
  const Dim n = t.symbol("n"), m = t.symbol("m");
  EXPECT_TRUE(t.nonnegative(t.mul(t.add(n, 2), m)));
  EXPECT_TRUE(t.nonnegative(t.max(t.sub(n, 1), 0)));
  EXPECT_FALSE(t.nonnegative(t.sub(n, 1)));
  EXPECT_FALSE(t.nonnegative(t.fresh()));
  EXPECT_TRUE(t.nonnegative(t.fresh_extent()));
  const std::pair<Dim, int64_t> at[] = {{n, 7}, {m, 1}};
  EXPECT_EQ(t.evaluate(t.div(t.add(t.mul(n, 3), -1), 2), at), 10);
  EXPECT_EQ(t.evaluate(t.broadcast(n, m), at), 7);
  EXPECT_EQ(t.evaluate(t.add(t.fresh(), n), at), std::nullopt);
}

TEST(DimTable, Text) {
  DimTable t;
  const Dim b = t.symbol("batch");
  EXPECT_EQ(t.text(Shape{b, 3}), "[batch,3]");
  EXPECT_EQ(t.text(t.sub(b, 2)), "batch-2");
}

}  // namespace
}  // namespace retort
