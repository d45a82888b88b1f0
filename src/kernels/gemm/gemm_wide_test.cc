// Tests products of wide elements against the plain loop, at every instruction level.
#include "kernels/gemm/gemm_wide.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

struct Case {
  size_t m, n, k;
  bool turned_a = false, turned_b = false;
};
constexpr size_t kGap = 3;

template <typename T>
std::vector<T> numbers(size_t count) {
  std::mt19937_64 random(count);
  std::vector<T> v(count);
  for (T& x : v) {
    if constexpr (std::is_same_v<T, double>)
      x = std::normal_distribution<double>()(random);
    else
      x = T(random());
  }
  return v;
}

template <typename T>
std::vector<T> multiply(const Case& s, const std::vector<T>& a, const std::vector<T>& b, bool plain,
                        const Parallel& par = Parallel()) {
  constexpr WideType kType = std::is_same_v<T, double> ? WideType::f64 : sizeof(T) == 4 ? WideType::i32 : WideType::i64;
  std::vector<T> c(s.m * (s.n + kGap), T(77));
  const size_t row = s.turned_b ? 1 : s.n, column = s.turned_b ? s.k : 1;
  GemmWideArgs args{.m = s.m, .n = s.n, .k = s.k, .a = a.data(), .c = c.data(), .c_stride = s.n + kGap};
  args.a_row = s.turned_a ? 1 : s.k;
  args.a_column = s.turned_a ? s.m : 1;
  if (plain) {
    gemm_wide_reference(args, b.data(), row, column);
    return c;
  }
  testing::Lines packed(wide_packed_bytes(kType, s.k, s.n));
  wide_pack_b(kType, b.data(), row, column, s.k, 0, s.n, packed.data());
  args.packed_b = packed.data();
  gemm_wide(kType, args, par);
  return c;
}

template <typename T>
void expect_equal(const Case& s) {
  const std::vector<T> a = numbers<T>(s.m * s.k), b = numbers<T>(s.k * s.n);
  const std::vector<T> want = multiply(s, a, b, true);
  for (const Isa isa : {Isa::v2, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) continue;
    const ScopedIsa scoped(isa);
    const std::vector<T> got = multiply(s, a, b, false);
    const auto name = cat("{}x{}x{} turned {} {} {}", s.m, s.n, s.k, s.turned_a, s.turned_b, isa_name(isa));
    if constexpr (!std::is_same_v<T, double>) {
      EXPECT_EQ(want, got) << name;
    } else {
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(want[i], got[i], 1e-15 * double(s.k + 1) * 4) << name << " at " << i;
    }
  }
}

template <typename T>
void expect_equal_vectors(size_t m, size_t k) {
  constexpr WideType kType = std::is_same_v<T, double> ? WideType::f64 : sizeof(T) == 4 ? WideType::i32 : WideType::i64;
  const std::vector<T> a = numbers<T>(m * k), x = numbers<T>(k), want = multiply({m, 1, k}, a, x, true);
  for (const Isa isa : {Isa::v2, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) continue;
    const ScopedIsa scoped(isa);
    std::vector<T> got(m + 1, T(77));
    gemv_wide(kType, {.m = m, .k = k, .a = a.data(), .a_row = k, .x = x.data(), .c = got.data()}, Parallel());
    EXPECT_EQ(got[m], T(77));
    for (size_t i = 0; i < m; ++i) {
      if constexpr (std::is_same_v<T, double>)
        ASSERT_NEAR(want[i * (1 + kGap)], got[i], 1e-15 * double(k + 1) * 4);
      else
        ASSERT_EQ(want[i * (1 + kGap)], got[i]) << m << "x" << k << " at " << i;
    }
  }
}

TEST(GemmWide, RowsTimesAVector) {
  for (const size_t m : {0, 1, 5, 700}) {
    for (const size_t k : {0, 1, 3, 31, 64, 1001}) {
      expect_equal_vectors<double>(m, k);
      expect_equal_vectors<uint32_t>(m, k);
      expect_equal_vectors<uint64_t>(m, k);
    }
  }
}

void expect_all_equal(const Case& s) {
  expect_equal<double>(s);
  expect_equal<uint32_t>(s);
  expect_equal<uint64_t>(s);
}

TEST(GemmWide, EqualsThePlainLoop) {
  for (size_t m = 1; m <= 27; ++m) expect_all_equal({m, 9, 5});
  for (size_t n = 1; n <= 67; ++n) expect_all_equal({3, n, 4});
  for (const size_t k : {0, 1, 2, 255, 256, 257, 600}) expect_all_equal({7, 35, k});
  for (const size_t n : {1, 3, 8, 16, 17}) {
    for (const size_t k : {0, 1, 7, 600}) expect_all_equal({53, n, k});
  }
  expect_all_equal({110, 600, 3});
  expect_all_equal({0, 4, 4});
  expect_all_equal({4, 0, 4});
}

TEST(GemmWide, ReadsTurnedMatrices) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) expect_all_equal({19, 41, 300, a, b});
  }
}

TEST(GemmWide, NanAndInfinityPass) {
  std::vector<double> a = numbers<double>(20 * 300), b = numbers<double>(300 * 20);
  a[5 * 300 + 7] = std::numeric_limits<double>::quiet_NaN();
  b[299 * 20 + 3] = std::numeric_limits<double>::infinity();
  const std::vector<double> c = multiply({20, 20, 300}, a, b, false);
  for (size_t i = 0; i < 20; ++i) {
    for (size_t j = 0; j < 20; ++j) {
      const double y = c[i * (20 + kGap) + j];
      EXPECT_EQ(i == 5, std::isnan(y));
      EXPECT_EQ(i != 5 && j == 3, std::isinf(y));
    }
  }
}

TEST(GemmWide, SameBitsForAnyNumberOfThreads) {
  const Case s{200, 300, 290};
  const std::vector<double> a = numbers<double>(s.m * s.k), b = numbers<double>(s.k * s.n);
  const std::vector<double> want = multiply(s, a, b, false);
  for (const int threads : {2, 3, 7}) {
    ThreadPool pool({.threads = threads});
    EXPECT_EQ(want, multiply(s, a, b, false, Parallel(&pool, nullptr)));
  }
}

}  // namespace
}  // namespace retort::kernels
