// Tests products in seven multiplications: they must equal the plain loop except for rounding, and the plain product
// exactly if rows or columns are not suitable for sums.
#include "kernels/gemm/strassen.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_testing.h"

namespace retort::kernels {
namespace {

using testing::Case;
using testing::Data;
using testing::expect_equal;
using testing::kGuard;
using testing::Kind;
using testing::Lines;
using testing::Residual;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// Computes the product by Strassen's formulas, even if that does not pay.
std::vector<float> run(const Data& data, const Parallel& par = Parallel(), PackedType type = PackedType::f32) {
  const Case& c = data.shape();
  const gemm_detail::StrassenPlan plan = gemm_detail::plan_strassen(c.m, c.n, c.k, par.workers());
  Lines scratch(gemm_detail::strassen_bytes(plan, par.workers()));
  return data.run_with([&](const GemmArgs& args) { multiply_strassen(args, plan, par, scratch.floats()); }, type);
}

void check(const Data& data) {
  const std::vector<float> want = data.reference();
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    expect_equal(want, run(data), data.shape().name(), 5e-6f);
  }
}
void check(const Case& c) { check(Data(c)); }

/// Checks bit for bit, at the current instruction level, that every pair of rows and columns was multiplied in the
/// plain way.
void expect_plain(const Data& data) {
  const std::vector<float> want = data.run(), got = run(data);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : want[i] == got[i])
        << data.shape().name() << ": element " << i << " is " << got[i] << ", not " << want[i];
  }
}

TEST(Strassen, EveryTail) {
  for (const size_t m : {1, 2, 3, 11, 24, 25, 47, 64}) {
    for (const size_t n : {1, 15, 16, 31, 32, 48, 63, 64, 65, 96, 128, 131}) {
      for (const size_t k : {2, 4, 6, 16, 30, 34, 66}) check({.m = m, .n = n, .k = k, .bias = (m + n + k) % 2 == 0});
    }
  }
}

TEST(Strassen, Blocks) {
  check({.m = 257, .n = 70, .k = 40});                                     // two blocks of rows
  check({.m = 40, .n = 130, .k = 1100, .bias = true});                     // five blocks of k
  check({.m = 1030, .n = 64, .k = 2050, .a_gap = 2, .c_gap = 3});          // sums of A of several slabs
  check({.m = 30, .n = 1024, .k = 64, .residual = Residual::in_place});    // columns of sixteen tasks
  check({.m = 129, .n = 128, .k = 1024, .residual = Residual::separate});  // rows that share cache sets
}

TEST(Strassen, EveryEpilogue) {
  for (int kind = 0; kind <= int(Kind::hard_swish); ++kind) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      const Activation activation{Kind(kind), Kind(kind) == Kind::clip ? -0.5f : 0.2f, 0.5f};
      check({.m = 15, .n = 70, .k = 20, .bias = true, .residual = residual, .activation = activation});
      check({.m = 14, .n = 64, .k = 20, .c_gap = 2, .residual = residual, .activation = activation});
    }
  }
}

TEST(Strassen, PanelsOf16Bits) {
  Data data({.m = 50, .n = 150, .k = 300, .bias = true});
  for (size_t i = 0; i < 300; ++i) {
    for (size_t j = 0; j < 150; ++j) data.b(i, j) = float(int(data.b(i, j) * 500)) / 512;  // weights of 8 bits
  }
  const std::vector<float> want = data.reference();
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const std::vector<float> f32 = run(data);
    expect_equal(want, f32, isa_name(current_isa()), 5e-6f);
    for (const PackedType type : {PackedType::bf16, PackedType::f16}) {
      if (type == PackedType::f16 && current_isa() == Isa::v2) continue;  // there are no such panels at this level
      const std::vector<float> got = run(data, Parallel(), type);
      EXPECT_EQ(std::memcmp(f32.data(), got.data(), f32.size() * sizeof(float)), 0) << int(type);
    }
  }
}

TEST(Strassen, RowsThatAreNotFit) {
  const Case c{.m = 30, .n = 128, .k = 64, .bias = true};
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const float v : {kNaN, kInf, -kInf, 1e30f}) {
      for (const size_t row : {0, 14, 15, 29}) {
        Data data(c);
        data.a(row, 40) = v;
        expect_plain(data);
      }
    }
    for (const float scale : {0.0f, 1e-3f, 1e3f}) {
      Data data(c);
      for (size_t k = 0; k < c.k; ++k) data.a(3, k) *= scale;
      expect_plain(data);
    }
  }
}

TEST(Strassen, ColumnsThatAreNotFit) {
  const Case c{.m = 30, .n = 64, .k = 64, .residual = Residual::in_place};
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const size_t pair = 2 * gemm_panel_width();
    for (const float scale : {0.0f, 1e-3f, 1e3f, kInf}) {
      Data data(c);
      for (size_t j = 1; j < c.n; j += pair) {
        for (size_t k = 0; k < c.k; ++k) data.b(k, j) *= scale;
      }
      expect_plain(data);
    }
    for (const float v : {kNaN, kInf, 1e3f}) {  // a single element
      Data data(c);
      for (size_t j = 1; j < c.n; j += pair) data.b(c.k - 3, j) = v;
      expect_plain(data);
    }
  }
}

/// Like the columns of a filter bank.
TEST(Strassen, ColumnsThatAreZeroForLong) {
  const Case c{.m = 30, .n = 64, .k = 64};
  Data data(c);
  for (size_t k = 0; k < c.k; ++k) {
    for (size_t j = 0; j < c.n && k % (c.k / 2) < 8; ++j) data.b(k, j) = 0;
  }
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    expect_plain(data);
  }
}

/// The factors are finite, but a sum of them is not; the product must still be finite.
TEST(Strassen, ProductsTooLargeForTheirSums) {
  const Case c{.m = 30, .n = 64, .k = 64};
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    Data data(c);
    for (size_t k = 0; k < c.k; ++k) {
      for (size_t i = 0; i < c.m; ++i) data.a(i, k) = 1;
    }
    for (size_t j = 0; j < c.n; ++j) {
      const bool left = j / gemm_panel_width() % 2 == 0;
      data.b(c.k / 2 - 1, j) = left ? 1e38f : 0;
      data.b(c.k - 1, j) = left ? 2e38f : 0.5e38f;
    }
    EXPECT_TRUE(std::isfinite(data.run()[0]));
    expect_plain(data);
  }
}

/// In an odd block one row has no partner, so its size does not matter.
TEST(Strassen, ARowWithoutAnother) {
  Data data({.m = 31, .n = 64, .k = 64});
  for (size_t k = 0; k < 64; ++k) data.a(15, k) *= 1e-3f;
  check(data);
}

TEST(Strassen, SameBitsForAnyNumberOfThreads) {
  for (const Case& c : {Case{.m = 128, .n = 300, .k = 1024, .residual = Residual::in_place},
                        Case{.m = 700, .n = 200, .k = 900, .bias = true, .activation = {Kind::gelu_erf}}}) {
    const Data data(c);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      const std::vector<float> once = run(data);
      for (const int threads : {2, 3, 7}) {
        ThreadPool pool({.threads = threads});
        const std::vector<float> again = run(data, Parallel(&pool, nullptr));
        EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0) << c.name() << threads;
      }
    }
  }
}

TEST(Strassen, ACancelledProductDoesNotChangeTheRest) {
  const std::atomic<bool> cancel{true};
  const std::vector<float> got = run(Data({.m = 300, .n = 128, .k = 64}), Parallel(nullptr, &cancel));
  EXPECT_EQ(std::count(got.begin(), got.end(), kGuard), int(got.size()));
}

/// gemm() with scratch uses it only at levels where it is faster, for products that are large enough.
TEST(Strassen, IsUsedWhereItIsFaster) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const bool saves = gemm_detail::saves_products();
    EXPECT_EQ(gemm_scratch_bytes(128, 768, 768, 1) > 0, saves);
    EXPECT_EQ(gemm_fit_bytes(768, 768) > 0, saves);
    EXPECT_EQ(gemm_scratch_bytes(1, 768, 768, 1), 0u);    // one token
    EXPECT_EQ(gemm_scratch_bytes(128, 768, 767, 1), 0u);  // an odd k
    EXPECT_EQ(gemm_scratch_bytes(12544, 96, 16, 1), 0u);  // a short sum
    EXPECT_EQ(gemm_scratch_bytes(12544, 4, 768, 1), 0u);  // few columns
    EXPECT_EQ(gemm_scratch_bytes(0, 768, 768, 1), 0u);
    const Data data({.m = 128, .n = 512, .k = 768});
    Lines scratch(std::max<size_t>(gemm_scratch_bytes(128, 512, 768, 1), 64));
    const auto multiplied = [&](const GemmArgs& args) { gemm(args, Parallel(), scratch.floats()); };
    const std::vector<float> got = data.run_with(multiplied), sums = run(data), plain = data.run();
    EXPECT_NE(sums, plain);
    EXPECT_EQ(got, saves ? sums : plain);
  }
}

}  // namespace
}  // namespace retort::kernels
