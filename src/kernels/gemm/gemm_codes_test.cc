// Tests products of codes against the plain loop, bit for bit, at every instruction level and with every unit.
#include "kernels/gemm/gemm_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

struct Shape {
  size_t m, n, k;
};
enum class Zeros { none, one, each, rows };  ///< rows: those of A differ, B has one

constexpr size_t kGap = 3;  ///< elements between the rows of results

/// Operands at the end of their memory blocks, so that the address sanitizer detects any read beyond them.
struct Operands {
  Shape s;
  bool a_signed, b_signed;
  Zeros zeros;
  bool even = false;  ///< rows have the same scale
  std::vector<uint8_t> a, b, a_zero, b_zero;
  std::vector<int32_t> bias;
  std::vector<float> row_scale, column_scale, column_bias, residual;

  Operands(Shape shape, bool a_is_signed, bool b_is_signed, Zeros z)
      : s(shape), a_signed(a_is_signed), b_signed(b_is_signed), zeros(z) {
    std::mt19937 random(unsigned(s.m * 31 + s.n * 7 + s.k));
    const auto codes = [&](size_t count) {
      std::vector<uint8_t> v(count);
      for (uint8_t& x : v) x = uint8_t(random() % 3 == 0 ? random() % 2 * 255 : random());
      return v;
    };
    a = codes(s.m * s.k);
    b = codes(s.k * s.n);
    a_zero = codes(s.m + 1);
    b_zero = codes(s.n + 1);
    for (size_t i = 0; i < s.m; ++i) bias.push_back(i % 3 == 0 ? INT32_MAX : int32_t(random() % 2000));
    const float unit = 1 / (40 * std::sqrt(float(s.k + 1)));
    for (size_t i = 0; i < s.m; ++i) row_scale.push_back(unit * float(random() % 100) / 50);
    for (size_t j = 0; j < s.n; ++j) column_scale.push_back(float(random() % 100) / 50);
    for (size_t j = 0; j < s.n; ++j) column_bias.push_back(float(random() % 100) / 7);
    for (size_t i = 0; i < s.m * (s.n + kGap); ++i) residual.push_back(float(random() % 100) / 9);
    if (s.n > 2) column_scale[s.n - 1] = std::numeric_limits<float>::quiet_NaN();
  }
  Codes zero(const std::vector<uint8_t>& v, bool is_signed) const {
    if (zeros == Zeros::none) return {};
    return {v.data(), is_signed, zeros == Zeros::each || (zeros == Zeros::rows && &v == &a_zero) ? v.size() : 1};
  }
  Codes a_codes() const { return {a.data(), a_signed}; }
  Codes b_codes() const { return {b.data(), b_signed}; }
};

constexpr char kGuard = 77;

/// Returns what gemm_codes() or the reference writes, including gaps between rows.
std::vector<char> multiply(const Operands& o, CodesResult c, bool plain, CodesSums sums = CodesSums::exact,
                           const Parallel& par = Parallel()) {
  const Shape& s = o.s;
  std::vector<char> result((c.is_codes ? 1 : sizeof(int32_t)) * (s.m * (s.n + kGap)), kGuard);
  c.data = result.data();
  c.stride = s.n + kGap;
  c.column_scale = o.column_scale.data();
  if (c.is_float) c.column_bias = o.column_bias.data();
  std::vector<CodeRow> rows(s.m);
  testing::Lines a(codes_rows_bytes(s.m, s.k, sums)), b(codes_packed_bytes(s.k, s.n));
  auto* to = reinterpret_cast<int8_t*>(a.data());
  const Codes a_zero = o.zero(o.a_zero, o.a_signed), b_zero = o.zero(o.b_zero, o.b_signed);
  pack_code_rows(o.a_codes(), s.k, s.m, s.k, a_zero, to, rows.data(), sums);
  pack_code_panels(o.b_codes(), s.n, s.k, 0, s.n, b_zero, b.data(), sums);
  for (size_t i = 0; i < s.m; ++i) {
    rows[i].bias = int32_t(uint32_t(o.bias[i]) + uint32_t(plain ? 0 : rows[i].bias));
    rows[i].scale = o.row_scale[o.even ? 0 : i];
    rows[i].offset = float(i % 5) * 0.3f;
  }
  GemmCodesArgs args{.m = s.m, .n = s.n, .k = s.k, .a = to, .rows = rows.data(), .packed_b = b.data()};
  args.same_zero = o.zeros != Zeros::each;
  args.sums = sums;
  args.c = c;
  testing::Lines excess(code_excess_bytes(o.b_codes(), s.n, s.k, s.n)), transposed(codes_transposed_bytes(s.m, s.k));
  if (sums == CodesSums::corrected && !plain) {
    split_code_excess(s.k, s.n, b.data(), excess.data());
    for (size_t row = 0; row < s.m; row += kCodesBlockRows)
      transpose_code_rows(to, s.m, s.k, row, reinterpret_cast<uint8_t*>(transposed.data()));
    args.excess = excess.data();
    args.transposed = reinterpret_cast<const uint8_t*>(transposed.data());
  }
  if (plain)
    gemm_codes_reference(args, o.a_codes(), a_zero, o.b_codes(), b_zero);
  else
    gemm_codes(args, par);
  return result;
}

template <typename F>
void for_each_unit(const F& f) {
  for (const Isa isa : {Isa::v2, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) continue;
    const ScopedIsa scoped(isa);
    for (const CodesUnit unit : {CodesUnit::pairs, CodesUnit::quads, CodesUnit::tiles}) {
      limit_codes_unit(unit);
      if (codes_unit() == unit) f();
    }
    limit_codes_unit(CodesUnit::tiles);
  }
}

void expect_equal(const Operands& o) {
  for (const int kind : {0, 1, 2, 3, 4}) {
    const CodesResult c{.is_codes = kind == 1 || kind == 2,
                        .is_float = kind >= 3,
                        .is_signed = kind == 2,
                        .zero = kind == 1   ? 130
                                : kind == 2 ? -7
                                            : 0,
                        .residual = kind == 4 ? o.residual.data() : nullptr};
    for (const CodesSums sums :
         {CodesSums::exact, CodesSums::saturating, CodesSums::turned, CodesSums::corrected, CodesSums::magnitudes}) {
      const std::vector<char> want = multiply(o, c, true, sums);
      for_each_unit([&] {
        if (sums >= CodesSums::corrected && !corrects_code_pairs()) return;
        EXPECT_EQ(want, multiply(o, c, false, sums))
            << cat("{}x{}x{} signed {} {} zeros {} result {} sums {} {} unit {}", o.s.m, o.s.n, o.s.k, o.a_signed,
                   o.b_signed, int(o.zeros), kind, int(sums), isa_name(current_isa()), int(codes_unit()));
      });
    }
  }
}

TEST(GemmCodes, EqualsThePlainLoop) {
  for (const Zeros zeros : {Zeros::none, Zeros::one, Zeros::each}) {
    for (const int signs : {0, 1, 2, 3}) {
      for (const Shape s : {Shape{1, 1, 1}, {3, 5, 7}, {17, 33, 66}, {40, 70, 129}})
        expect_equal(Operands(s, signs & 1, signs & 2, zeros));
    }
  }
}

TEST(GemmCodes, SizesAroundTilesAndPanels) {
  for (size_t m = 1; m <= 37; ++m) expect_equal(Operands({m, 32, 64}, false, true, Zeros::one));
  for (size_t n = 1; n <= 67; n += 2) expect_equal(Operands({5, n, 12}, true, true, Zeros::each));
  for (size_t k = 0; k <= 70; k += 5) expect_equal(Operands({6, 9, k}, false, false, Zeros::each));
  expect_equal(Operands({0, 9, 4}, false, false, Zeros::none));
  expect_equal(Operands({4, 0, 4}, false, false, Zeros::none));
}

TEST(GemmCodes, RowsOfTheSameScale) {
  for (const Zeros zeros : {Zeros::none, Zeros::one, Zeros::each, Zeros::rows}) {
    for (const Shape s : {Shape{1, 33, 5}, {7, 64, 20}, {30, 71, 66}, {389, 35, 3}}) {
      Operands o(s, false, true, zeros);
      expect_equal(o);
      o.even = true;
      expect_equal(o);
    }
  }
  Operands large({1100, 260, 4}, false, true, Zeros::rows);  // more results than the second-level cache holds
  large.even = true;
  expect_equal(large);
}

TEST(GemmCodes, BlocksOfManyRows) {
  const Operands o({1601, 33, 6}, false, true, Zeros::rows);
  const Shape& s = o.s;
  std::vector<CodeRow> rows(s.m);
  testing::Lines a(codes_rows_bytes(s.m, s.k)), b(codes_packed_bytes(s.k, s.n));
  std::vector<int32_t> want(s.m * s.n), sums(s.m * s.n);
  const Codes a_zero = o.zero(o.a_zero, false), b_zero = o.zero(o.b_zero, true);
  for_each_unit([&] {
    auto* to = reinterpret_cast<int8_t*>(a.data());
    pack_code_rows(o.a_codes(), s.k, s.m, s.k, a_zero, to, rows.data());
    pack_code_panels(o.b_codes(), s.n, s.k, 0, s.n, b_zero, b.data());
    GemmCodesArgs args{.m = s.m, .n = s.n, .k = s.k, .a = to, .rows = rows.data(), .packed_b = b.data()};
    args.same_zero = true;
    args.c = {.data = want.data(), .stride = s.n};
    gemm_codes_reference(args, o.a_codes(), a_zero, o.b_codes(), b_zero);
    args.c.data = sums.data();
    std::fill(sums.begin(), sums.end(), 0);
    gemm_codes_block(args, 0, s.m, 0, s.n);
    EXPECT_EQ(want, sums);
  });
}

TEST(GemmCodes, PacksRowsWhereTheyAre) {
  constexpr size_t kRows = 3;
  for (const size_t k : {size_t(0), size_t(1), size_t(64), size_t(66), size_t(131)}) {
    const Operands o({kRows, 1, k}, true, false, Zeros::each);
    for_each_unit([&] {
      const size_t depth = codes_depth(k);
      testing::Lines apart(codes_rows_bytes(kRows, k)), same(codes_rows_bytes(kRows, k));
      auto *to = reinterpret_cast<int8_t*>(apart.data()), *at = reinterpret_cast<int8_t*>(same.data());
      for (size_t r = 0; r < kRows; ++r) std::copy_n(o.a.data() + r * k, k, reinterpret_cast<uint8_t*>(at) + r * depth);
      CodeRow rows[kRows], rows_at[kRows];
      const Codes zero = o.zero(o.a_zero, true);
      pack_code_rows(o.a_codes(), k, kRows, k, zero, to, rows);
      pack_code_rows({at, true}, depth, kRows, k, zero, at, rows_at);
      EXPECT_TRUE(std::equal(to, to + kRows * depth, at)) << k;
      for (size_t r = 0; r < kRows; ++r) {
        int32_t sum = int32_t(depth - k) * zero[r];
        for (size_t i = 0; i < k; ++i) sum += int8_t(o.a[r * k + i]);
        EXPECT_EQ(sum, rows[r].sum) << k;
        EXPECT_EQ(sum, rows_at[r].sum) << k;
      }
    });
  }
}

TEST(GemmCodes, SumsWrapAround) {
  Operands o({2, 3, 40000}, false, false, Zeros::none);  // 40000 · 255 · 255 is more than 2^31
  std::fill(o.a.begin(), o.a.end(), uint8_t(255));
  std::fill(o.b.begin(), o.b.end(), uint8_t(255));
  expect_equal(o);
}

TEST(GemmCodes, PairsSaturate) {
  Operands o({1, 1, 5}, false, true, Zeros::none);
  o.a = {255, 255, 255, 1, 255};
  const int8_t b[] = {-128, -128, 127, 127, 127};
  o.b.assign(b, b + 5);
  o.bias = {0};
  const auto result = [&](CodesSums sums) {
    int32_t sum = 0;
    std::memcpy(&sum, multiply(o, {}, false, sums).data(), sizeof(sum));
    return sum;
  };
  for_each_unit([&] {
    EXPECT_EQ(255 * -256 + 256 * 127 + 255 * 127, result(CodesSums::exact));
    EXPECT_EQ(-32768 + 256 * 127 + 255 * 127, result(CodesSums::turned));
  });
}

TEST(GemmCodes, SameForAnyNumberOfThreads) {
  const Operands o({300, 500, 200}, false, true, Zeros::each);
  const std::vector<char> want = multiply(o, {}, true);
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool({.threads = threads});
    EXPECT_EQ(want, multiply(o, {}, false, CodesSums::exact, Parallel(&pool, nullptr))) << threads;
  }
}

TEST(GemmCodes, AddsCodesOfAnyNumber) {
  for_each_unit([] {
    for (const size_t n : {size_t(0), size_t(1), size_t(63), size_t(200), size_t(4096), size_t(9001)}) {
      std::vector<int8_t> codes(n);
      int32_t sum = 0;
      for (size_t i = 0; i < n; ++i) sum += codes[i] = int8_t(i * 37 % 251 - 128);
      EXPECT_EQ(sum_codes(codes.data(), n), sum) << n;
    }
  });
}

TEST(GemmCodes, InterleavesRunsThatEndAnywhere) {
  for (const size_t n : {size_t(0), size_t(1), size_t(7), size_t(31), size_t(32), size_t(100)}) {
    std::vector<uint8_t> codes(3 * n);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = uint8_t(i * 37 + 11);
    const uint8_t* const runs[4] = {codes.data(), codes.data() + n, nullptr, codes.data() + 2 * n};
    for_each_unit([&] {
      std::vector<uint32_t> quads(n + 1, 7);
      interleave_codes({codes.data(), true}, runs, n, quads.data());
      for (size_t i = 0; i < n; ++i) {
        const uint32_t want =
            uint32_t(codes[i] ^ 0x80) | uint32_t(codes[n + i] ^ 0x80) << 8 | uint32_t(codes[2 * n + i] ^ 0x80) << 24;
        ASSERT_EQ(want, quads[i]);
      }
      EXPECT_EQ(7u, quads[n]);
    });
  }
}

TEST(GemmCodes, TapsOfARunAndItsCodes) {
  constexpr size_t kCount = 100, kOffsets[] = {0, 3, 50};
  constexpr int32_t kWeights[] = {255, -255, 7};
  std::vector<uint8_t> x(kOffsets[2] + kCount + kCodeTapsStep);
  for (size_t i = 0; i < x.size(); ++i) x[i] = uint8_t(i * i + i / 3);
  const CodeRow row{.bias = 1000, .scale = 0.004f};
  for_each_unit([&] {
    std::vector<int32_t> sums(kCount + kCodeTapsStep);
    sum_code_taps({x.data(), kOffsets, kWeights, 3}, kCount, sums.data());
    std::vector<uint8_t> codes(kCount, 7);
    finish_codes(row, {.data = codes.data(), .is_codes = true, .zero = 99}, sums.data(), kCount - 2, 1);
    EXPECT_EQ(7, codes[0]);
    EXPECT_EQ(7, codes[kCount - 1]);
    for (size_t i = 0; i < kCount - 2; ++i) {
      const int32_t want = 255 * x[i] - 255 * x[i + 3] + 7 * x[i + 50];
      ASSERT_EQ(want, sums[i]);
      ASSERT_EQ(uint8_t(std::clamp(std::nearbyint(float(want + 1000) * 0.004f) + 99, 0.0f, 255.0f)), codes[i + 1]);
    }
  });
}

}  // namespace
}  // namespace retort::kernels
