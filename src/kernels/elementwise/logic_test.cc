#include "kernels/elementwise/logic.h"

#include <limits>
#include <memory>
#include <string>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

using testing::Random;
using Dims = std::vector<int64_t>;

struct Bools {
  explicit Bools(size_t n) : data(new bool[n]()) {}
  std::unique_ptr<bool[]> data;
  bool* get() const { return data.get(); }
  bool operator[](size_t i) const { return data[i]; }
};
Bools random_bools(Random& random, size_t n) {
  Bools b(n);
  for (size_t i = 0; i < n; ++i) b.data[i] = random.bits() & 1;
  return b;
}

template <typename T>
bool holds(Compare op, T a, T b) {
  switch (op) {
    case Compare::equal:
      return a == b;
    case Compare::not_equal:
      return a != b;
    case Compare::less:
      return a < b;
    case Compare::less_equal:
      return a <= b;
    case Compare::greater:
      return a > b;
    case Compare::greater_equal:
      return a >= b;
  }
  return false;
}

class LogicKernel : public testing::PerIsa {
 protected:
  // a and b have n elements each, or one of them is a scalar.
  template <typename T>
  void check_compare(const std::vector<T>& a, const std::vector<T>& b) {
    const Dims da{int64_t(a.size())}, db{int64_t(b.size())};
    const auto plan = BroadcastPlan<2>::make({da, db});
    for (int op = 0; op <= int(Compare::greater_equal); ++op) {
      Bools y(plan->count);
      compare(Compare(op), a.data(), b.data(), y.get(), *plan, three_threads());
      for (size_t i = 0; i < plan->count; ++i) {
        ASSERT_EQ(y[i], holds(Compare(op), a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
      }
    }
  }
};

TEST_P(LogicKernel, ComparesFloats) {
  Random random(1);
  for (const size_t n : {1, 2, 33, 1000, 20001}) {
    auto a = random.floats(n, -1, 1), b = random.floats(n, -1, 1);
    for (size_t i = 0; i < n; i += 3) b[i] = a[i];
    for (size_t i = 1; i < n; i += 7) a[i] = std::numeric_limits<float>::quiet_NaN();
    check_compare(a, b);
    check_compare(a, {0.25f});
    check_compare({0.25f}, a);
  }
}

TEST_P(LogicKernel, ComparesOtherTypes) {
  Random random(2);
  check_compare(random.integers<int64_t>(1003, -5, 5), random.integers<int64_t>(1003, -5, 5));
  check_compare(random.integers<int32_t>(1003, -5, 5), {int32_t(2)});
  check_compare({int64_t(-1)}, random.integers<int64_t>(77, -5, 5));
  check_compare(random.integers<uint8_t>(1003, 0, 255), random.integers<uint8_t>(1003, 0, 255));
  check_compare(random.integers<double>(130, -5, 5), random.integers<double>(130, -5, 5));
}

TEST_P(LogicKernel, LogicOnBooleans) {
  Random random(3);
  const size_t rows = 40, n = 501;
  const Bools a = random_bools(random, rows * n), row = random_bools(random, n), column = random_bools(random, rows);
  const Dims da{int64_t(rows), int64_t(n)}, drow{int64_t(n)}, dcolumn{int64_t(rows), 1};
  Bools y(rows * n);
  logic(Logic::logic_and, a.get(), row.get(), y.get(), *BroadcastPlan<2>::make({da, drow}), three_threads());
  for (size_t i = 0; i < rows * n; ++i) ASSERT_EQ(y[i], a[i] && row[i % n]);
  logic(Logic::logic_or, column.get(), a.get(), y.get(), *BroadcastPlan<2>::make({dcolumn, da}), three_threads());
  for (size_t i = 0; i < rows * n; ++i) ASSERT_EQ(y[i], a[i] || column[i / n]);
  logic(Logic::logic_xor, a.get(), a.get(), y.get(), *BroadcastPlan<2>::make({da, da}), three_threads());
  for (size_t i = 0; i < rows * n; ++i) ASSERT_FALSE(y[i]);
  logic_not(a.get(), y.get(), rows * n, three_threads());
  for (size_t i = 0; i < rows * n; ++i) ASSERT_EQ(y[i], !a[i]);
}

TEST_P(LogicKernel, AllBytesButZeroAreTrue) {
  const uint8_t a[] = {0, 2, 4, 255}, b[] = {64, 1, 0, 2};
  const auto bools = [](const uint8_t* p) { return reinterpret_cast<const bool*>(p); };
  const auto plan = *BroadcastPlan<2>::make({Dims{4}, Dims{4}});
  uint8_t y[4];
  const auto is = [&](int w0, int w1, int w2, int w3) {
    EXPECT_EQ(std::vector<int>(y, y + 4), (std::vector<int>{w0, w1, w2, w3}));
  };
  logic(Logic::logic_and, bools(a), bools(b), reinterpret_cast<bool*>(y), plan, Parallel());
  is(0, 1, 0, 1);
  logic(Logic::logic_or, bools(a), bools(b), reinterpret_cast<bool*>(y), plan, Parallel());
  is(1, 1, 1, 1);
  logic(Logic::logic_xor, bools(a), bools(b), reinterpret_cast<bool*>(y), plan, Parallel());
  is(1, 0, 1, 0);
  logic_not(bools(a), reinterpret_cast<bool*>(y), 4, Parallel());
  is(1, 0, 0, 0);
}

template <typename T>
void check_where(const Dims& dc, const Dims& da, const Dims& db, const Parallel& par) {
  Random random(4);
  const auto plan = BroadcastPlan<3>::make({dc, da, db});
  const auto size = [](const Dims& d) { return size_t(d[0] * d[1]); };
  const Bools condition = random_bools(random, size(dc));
  const auto a = random.integers<T>(size(da), 0, 100), b = random.integers<T>(size(db), 101, 200);
  const size_t columns = size_t(std::max({dc[1], da[1], db[1]}));
  std::vector<T> y(plan->count);
  where(condition.get(), a.data(), b.data(), y.data(), *plan, par);
  const auto at = [&](const Dims& d, size_t i) {
    return (d[0] == 1 ? 0 : i / columns) * size_t(d[1]) + (d[1] == 1 ? 0 : i % columns);
  };
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(y[i], condition[at(dc, i)] ? a[at(da, i)] : b[at(db, i)]) << i;
  }
}

TEST_P(LogicKernel, WhereOfEverySizeAndShape) {
  const Dims full{130, 201}, row{1, 201}, column{130, 1}, scalar{1, 1};
  for (const auto& [c, a, b] : std::vector<std::array<Dims, 3>>{{full, full, full},
                                                                {full, scalar, full},
                                                                {full, full, scalar},
                                                                {full, scalar, scalar},
                                                                {row, full, scalar},
                                                                {column, full, row},
                                                                {column, scalar, full},
                                                                {scalar, row, column}}) {
    check_where<uint8_t>(c, a, b, three_threads());
    check_where<uint16_t>(c, a, b, three_threads());
    check_where<uint32_t>(c, a, b, three_threads());
    check_where<uint64_t>(c, a, b, three_threads());
  }
}

TEST(Logic, WhereOfStrings) {
  const bool condition[3] = {true, false, true};
  const std::string a[3] = {"a", "b", "c"}, b[1] = {"none"};
  std::string y[3];
  const Dims d{3}, one{1};
  where_serial(condition, a, b, y, *BroadcastPlan<3>::make({d, d, one}));
  EXPECT_EQ(y[0], "a");
  EXPECT_EQ(y[1], "none");
  EXPECT_EQ(y[2], "c");
}

INSTANTIATE_TEST_SUITE_P(Levels, LogicKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
