// Tests matrix multiplication against the plain loop, at every instruction level.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm/gather.h"
#include "kernels/gemm/gemm_plan.h"
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

void check(const Case& c) {
  const Data data(c);
  const std::vector<float> want = data.reference();
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    expect_equal(want, data.run(), c.name());
    expect_equal(want, data.run_blocks(), "blocks " + c.name());
  }
}

TEST(Gemm, EveryTail) {
  for (const size_t m : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 24, 25, 37}) {
    for (const size_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 40, 63, 64, 65}) {
      for (const size_t k : {1, 2, 3, 4, 5, 16, 33}) check({.m = m, .n = n, .k = k, .bias = (m + n + k) % 2 == 0});
    }
  }
}

// Sums of up to 64 steps have a tile of their own, and so have 17 to 24 columns after the last full panel.
TEST(Gemm, ShortSums) {
  for (const size_t m : {3, 8, 9, 10, 11, 12, 23}) {
    for (const size_t n : {20, 24, 32, 56, 88}) {
      for (const size_t k : {8, 30, 63, 64, 65, 68, 130}) {
        check({.m = m, .n = n, .k = k, .bias = true, .residual = Residual::separate, .activation = {Kind::relu}});
        check({.m = m, .n = n, .k = k, .activation = {Kind::clip, -0.1f, 0.4f}});
      }
    }
  }
}

// Gathered rows, of which some tiles, blocks of k and panels are not full, give the bits of plain ones.
TEST(Gemm, GatheredRows) {
  const std::vector<Case> cases = {
      {.m = 48, .n = 256, .k = 683},
      {.m = 59, .n = 700, .k = 257, .a_gap = 3, .c_gap = 2, .bias = true, .activation = {Kind::leaky_relu, 0.1f}},
      {.m = 131, .n = 1030, .k = 1024, .residual = Residual::in_place, .activation = {Kind::relu}},
      {.m = 250, .n = 288, .k = 130, .bias = true, .residual = Residual::separate},
      {.m = 603, .n = 256, .k = 128, .poison = std::numeric_limits<float>::quiet_NaN()},
  };
  ThreadPool pool({.threads = 2});
  for (const Case& c : cases) {
    const Data data(c);
    const std::vector<float> want = data.reference();
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      const size_t bytes = gemm_gather_bytes(c.m, c.n, c.k);
      EXPECT_EQ(bytes > 0, Isa(level) == Isa::avx512 && gemm_scratch_bytes(c.m, c.n, c.k, 1) == 0) << c.name();
      if (bytes == 0) continue;
      const std::vector<float> plain = data.run();
      for (const Parallel& par : {Parallel(), Parallel(&pool, nullptr)}) {
        Lines scratch(bytes);
        const auto got = data.run_with([&](const GemmArgs& args) { gemm_gathered(args, par, scratch.floats()); });
        expect_equal(want, got, "gathered " + c.name());
        EXPECT_EQ(std::memcmp(got.data(), plain.data(), got.size() * sizeof(float)), 0) << c.name();
      }
    }
  }
}

TEST(Gemm, WhichRowsAreGathered) {
  for (const size_t rows : {11, 12, 22, 24, 33, 48, 66, 128, 131, 240, 250, 603})
    EXPECT_TRUE(gemm_detail::is_gathered(rows)) << rows;
  for (const size_t rows : {1, 10, 13, 21, 25, 49, 61, 109}) EXPECT_FALSE(gemm_detail::is_gathered(rows)) << rows;
}

// A column has the same bits in a panel of any width.
TEST(Gemm, BitsDoNotDependOnOtherColumns) {
  const size_t m = 23, k = 70, most = 32;
  std::vector<float> a(m * k), b(k * most);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 89) / 89 - 0.3f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 97) / 97 - 0.6f;
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const auto product = [&](size_t n) {
      Lines packed(gemm_packed_bytes(k, n));
      gemm_pack_b(b.data(), most, 1, k, n, packed.floats());
      std::vector<float> c(m * most);
      gemm_block({m, n, k, a.data(), k, packed.floats(), c.data(), most, {}}, 0, n);
      return c;
    };
    const std::vector<float> all = product(most);
    for (const size_t n : {8, 16, 20, 24, 31}) {
      const std::vector<float> some = product(n);
      for (size_t i = 0; i < m; ++i)
        EXPECT_EQ(std::memcmp(&some[i * most], &all[i * most], n * sizeof(float)), 0) << isa_name(Isa(level)) << n;
    }
  }
}

TEST(Gemm, Empty) {
  for (const size_t m : {0, 5}) {
    for (const size_t n : {0, 5, 40}) {
      for (const size_t k : {0, 5}) {
        check({.m = m, .n = n, .k = k});
        check({.m = m, .n = n, .k = k, .bias = true, .residual = Residual::separate, .activation = {Kind::relu}});
      }
    }
  }
}

TEST(Gemm, Large) {
  check({.m = 64, .n = 64, .k = 64});
  check({.m = 300, .n = 130, .k = 70, .a_gap = 3, .c_gap = 5, .bias = true});
  check({.m = 129, .n = 200, .k = 1024, .residual = Residual::in_place});  // rows that share cache sets
  check({.m = 30, .n = 70, .k = 5000, .bias = true, .residual = Residual::in_place, .activation = {Kind::silu}});
  check({.m = 30, .n = 70, .k = 4096, .residual = Residual::separate, .activation = {Kind::relu}});
  check({.m = 1, .n = 3000, .k = 4099, .bias = true});
  check({.m = 700, .n = 40, .k = 9});
}

/// Few rows and steps have a loop of their own over full panels.
TEST(Gemm, ShortRowsOfManyPanels) {
  for (const size_t m : {1, 2, 7, 8}) {
    for (const size_t k : {1, 4, 16, 17}) {
      check({.m = m, .n = 203, .k = k, .a_gap = 5, .c_gap = 2, .bias = true, .residual = Residual::separate});
      check({.m = m, .n = 192, .k = k, .residual = Residual::in_place, .activation = {Kind::clip, -0.5f, 0.4f}});
      check({.m = m, .n = 131, .k = k, .bias = true, .activation = {Kind::silu}});
    }
  }
}

/// Few rows have the same loop for any number of steps if B stays near.
TEST(Gemm, BitsDoNotDependOnWhereBIs) {
  const size_t n = 107, most_k = 260, gap = 3;
  std::vector<float> b(most_k * n);
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 97) / 97 - 0.6f;
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const size_t m : {1, 2, 3, 4, 6, 7, 8, 11, 12, 13, 17}) {
      for (const size_t k : {0, 1, 16, 17, 67, 256, 257}) {
        const size_t stride = k == 256 ? 1024 : k + gap;
        std::vector<float> a(m * stride), residual(m * n), c[2];
        for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 89) / 89 - 0.3f;
        for (size_t i = 0; i < residual.size(); ++i) residual[i] = float(i % 31);
        Lines packed(gemm_packed_bytes(k, n));
        gemm_pack_b(b.data(), n, 1, k, n, packed.floats());
        for (const bool stays : {false, true}) {
          c[stays].resize(m * n, kGuard);
          GemmArgs args{m, n, k, a.data(), stride, packed.floats(), c[stays].data(), n, {}};
          args.epilogue.bias = b.data();
          args.epilogue.residual = residual.data();
          args.epilogue.residual_stride = n;
          args.b_stays = stays;
          gemm_block(args, 0, n);
        }
        EXPECT_EQ(std::memcmp(c[0].data(), c[1].data(), m * n * sizeof(float)), 0)
            << isa_name(Isa(level)) << ": " << m << " x " << k;
      }
    }
  }
}

TEST(Gemm, Strides) {
  for (const size_t gap : {1, 16, 1000}) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      check({.m = 27, .n = 45, .k = 24, .a_gap = gap, .c_gap = gap + 1, .residual = residual});
      check({.m = 27, .n = 64, .k = 24, .a_gap = gap, .c_gap = gap + 1, .bias = true, .residual = residual});
    }
  }
}

/// gemm_block may end within a panel; later columns must not change.
TEST(Gemm, BlockEndsAnywhere) {
  const size_t m = 14, n = 75, k = 9;
  const std::vector<float> a(m * k, 1.0f), b(k * n, 2.0f);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    Lines packed(gemm_packed_bytes(k, n));
    gemm_pack_b(b.data(), n, 1, k, n, packed.floats());
    for (const size_t end : {0, 1, 16, 31, 40, 64, 70, 75}) {
      std::vector<float> c(m * n, kGuard);
      const GemmArgs args{m, n, k, a.data(), k, packed.floats(), c.data(), n, {}};
      gemm_block(args, 0, end);
      for (size_t i = 0; i < m * n; ++i) ASSERT_EQ(c[i], i % n < end ? 18.0f : kGuard) << i << " of " << end;
    }
  }
}

TEST(Gemm, TransposedB) {
  for (const size_t n : {1, 4, 8, 13, 16, 31, 32, 52, 64, 100}) {
    for (const size_t k : {1, 3, 4, 6, 64, 67}) check({.m = 13, .n = n, .k = k, .transposed_b = true});
  }
}

TEST(Gemm, EveryEpilogue) {
  for (int kind = 0; kind <= int(Kind::hard_swish); ++kind) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      for (const size_t n : {5, 8, 24, 32, 43}) {
        const Activation activation{Kind(kind), Kind(kind) == Kind::clip ? -0.5f : 0.2f, 0.5f};
        check({.m = 14, .n = n, .k = 20, .bias = true, .residual = residual, .activation = activation});
        check({.m = 14, .n = n, .k = 20, .c_gap = 2, .residual = residual, .activation = activation});
      }
    }
  }
}

TEST(Gemm, NanAndInfinityPropagate) {
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const Kind kind : {Kind::none, Kind::relu, Kind::clip, Kind::leaky_relu, Kind::hard_sigmoid}) {
      for (const size_t m : {1, 3, 26}) {
        check({.m = m, .n = 43, .k = 20, .activation = {kind, -1.0f, 1.0f}, .poison = poison});
      }
    }
  }
}

/// Compares gemv_rows of one size with gemm_reference; B has `gap` floats after each row except the last.
void check_gemv(size_t n, size_t k, size_t gap, bool accumulate) {
  std::mt19937 random(unsigned(n * 31 + k));
  std::normal_distribution<float> normal;
  const auto fill = [&](size_t size) { return testing::drawn(normal, random, size); };
  const size_t stride = k + gap;
  const std::vector<float> x = fill(k), b = fill(n == 0 ? 0 : (n - 1) * stride + k), y = fill(n);
  std::vector<float> want = y;
  Epilogue e;
  if (accumulate) e.residual = want.data();
  gemm_reference(1, n, k, x.data(), k, b.data(), 1, stride, want.data(), n, e);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<float> got = y;
    const GemvArgs args{n, k, x.data(), b.data(), stride, got.data(), accumulate};
    gemv_rows(args);
    expect_equal(want, got, cat("n {} k {} accumulate {} {}", n, k, accumulate, isa_name(current_isa())));
  }
}

TEST(Gemv, EveryTail) {
  for (const size_t long_side : {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 100, 200, 257}) {
    for (const size_t k : {0, 1, 3, 4, 5, 8, 15, 16, 17, 31, 64, 80, 96, 129}) {
      for (const bool accumulate : {false, true}) {
        check_gemv(long_side, k, k % 3, accumulate);
      }
    }
  }
}

/// Compares gemm_few_rows of one size with gemm_reference, and with the same product in two calls; rows have gaps.
void check_few_rows(size_t m, size_t n, size_t k) {
  std::mt19937 random(unsigned(m * 57 + n * 31 + k));
  std::normal_distribution<float> normal;
  const auto fill = [&](size_t rows, size_t columns, size_t gap) {
    return testing::drawn(normal, random, rows == 0 ? 0 : (rows - 1) * (columns + gap) + columns);
  };
  const size_t a_stride = k + 3, b_stride = n + 2, c_stride = n + 1;
  const std::vector<float> a = fill(m, k, 3), b = fill(k, n, 2), c = fill(m, n, 1);
  std::vector<float> want = c;
  gemm_reference(m, n, k, a.data(), a_stride, b.data(), b_stride, 1, want.data(), c_stride, {});
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<float> got = c, parts = c;
    const FewRowsArgs args{m, n, k, a.data(), a_stride, b.data(), b_stride, got.data(), c_stride};
    gemm_few_rows(args);
    expect_equal(want, got, cat("m {} n {} k {} {}", m, n, k, isa_name(current_isa())));
    const size_t n0 = n / 3;
    gemm_few_rows({m, n0, k, a.data(), a_stride, b.data(), b_stride, parts.data(), c_stride});
    gemm_few_rows({m, n - n0, k, a.data(), a_stride, b.data() + n0, b_stride, parts.data() + n0, c_stride});
    EXPECT_TRUE(std::equal(got.begin(), got.end(), parts.begin()));
  }
}

TEST(FewRows, EveryTail) {
  for (const size_t m : {0, 1, 2, 3, 4, 5, 7, 8, 17}) {
    for (const size_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 100}) {
      for (const size_t k : {0, 1, 2, 3, 4, 5, 31, 32, 33, 70}) check_few_rows(m, n, k);
    }
  }
  for (const size_t m : {1, 3, 6}) check_few_rows(m, 4099, 37);
}

/// Compares gemv_packed of one size with gemm_reference.
void check_packed_row(size_t n, size_t k, bool bias, bool residual) {
  std::mt19937 random(unsigned(n * 31 + k));
  std::normal_distribution<float> normal;
  const auto fill = [&](size_t size) { return testing::drawn(normal, random, size); };
  const std::vector<float> x = fill(k), b = fill(n * k), added = fill(n), more = fill(n);
  Epilogue e;
  if (bias) e.bias = added.data();
  if (residual) e.residual = more.data();
  std::vector<float> want(n);
  gemm_reference(1, n, k, x.data(), k, b.data(), 1, k, want.data(), n, e);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    testing::Lines packed(gemm_packed_bytes(k, n));
    gemm_pack_b(b.data(), 1, k, k, n, packed.floats());
    std::vector<float> got(n + 1, 77.0f);  // the last element is a mark behind the row
    const GemmArgs args{
        .m = 1, .n = n, .k = k, .a = x.data(), .packed_b = packed.floats(), .c = got.data(), .epilogue = e};
    gemv_packed(args);
    EXPECT_EQ(got.back(), 77.0f);
    got.pop_back();
    expect_equal(want, got, cat("n {} k {} bias {} residual {} {}", n, k, bias, residual, isa_name(current_isa())));
  }
}

TEST(Gemv, PackedInEveryNumberOfPanels) {
  for (const size_t n : {0, 1, 7, 8, 9, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 128, 129, 256, 300}) {
    for (const size_t k : {0, 1, 40, 64}) {
      check_packed_row(n, k, false, true);
      check_packed_row(n, k, true, false);
    }
  }
}

/// Multiplies some columns of each group, in either direction, and compares them with gemv_packed().
void check_groups(size_t count, bool backwards) {
  const size_t width = gemm_panel_width(), group = 5 * width, n = count * group, k = 37, n0 = width, n1 = 4 * width;
  std::mt19937 random{unsigned(count)};
  std::normal_distribution<float> normal;
  const auto fill = [&](size_t size) { return testing::drawn(normal, random, size); };
  const std::vector<float> x = fill(k), b = fill(n * k), bias = fill(n), residual = fill(n);
  testing::Lines packed(gemm_packed_bytes(k, n));
  gemm_pack_b(b.data(), 1, k, k, n, packed.floats());
  std::vector<float> want(n), got(n, 77.0f);
  GemmArgs args{.m = 1, .n = n, .k = k, .a = x.data(), .packed_b = packed.floats(), .c = want.data()};
  args.epilogue = {.bias = bias.data(), .residual = residual.data()};
  gemv_packed(args);
  args.c = got.data();
  gemv_packed_groups(args, {count, n0, n1, backwards});
  for (size_t i = 0; i < n; ++i) {
    const bool among = i % group >= n0 && i % group < n1;
    EXPECT_EQ(got[i], among ? want[i] : 77.0f) << "column " << i << " of " << count << " groups";
  }
}

TEST(Gemv, SomeColumnsOfGroups) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const size_t count : {1, 2, 3, 4, 5}) {
      check_groups(count, false);
      check_groups(count, true);
    }
  }
}

TEST(Gemm, SameBitsForAnyNumberOfThreads) {
  const Case cases[] = {{.m = 1, .n = 4000, .k = 700},
                        {.m = 4, .n = 2000, .k = 700, .bias = true},
                        {.m = 128, .n = 300, .k = 1024, .residual = Residual::in_place, .activation = {Kind::gelu_erf}},
                        {.m = 2000, .n = 24, .k = 33},
                        {.m = 50, .n = 333, .k = 4500}};
  for (const Case& c : cases) {
    const Data data(c);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      const std::vector<float> once = data.run();
      for (const int threads : {2, 3, 4, 7}) {
        ThreadPool pool({.threads = threads});
        const std::vector<float> again = data.run(Parallel(&pool, nullptr));
        EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0)
            << c.name() << " threads " << threads;
      }
    }
  }
}

TEST(Gemm, ACancelledBlockDoesNotChangeTheRest) {
  const std::atomic<bool> cancel{true};
  const Parallel cancelled(nullptr, &cancel);
  const size_t m = 20, n = 100, k = 600;
  Lines packed(gemm_packed_bytes(k, n));
  const std::vector<float> a(m * k, 1.0f), b(k * n, 1.0f);
  gemm_pack_b(b.data(), n, 1, k, n, packed.floats());
  std::vector<float> c(m * n, kGuard);
  GemmArgs args{
      .m = m, .n = n, .k = k, .a = a.data(), .a_stride = k, .packed_b = packed.floats(), .c = c.data(), .c_stride = n};
  args.run = &cancelled;
  gemm_block(args, 0, n);
  EXPECT_EQ(std::count(c.begin(), c.end(), kGuard), int(c.size()));
  gemm(args, cancelled);
  EXPECT_EQ(std::count(c.begin(), c.end(), kGuard), int(c.size()));
  args.run = nullptr;
  gemm_block(args, 0, n);
  EXPECT_EQ(std::count(c.begin(), c.end(), float(k)), int(c.size()));
}

}  // namespace
}  // namespace retort::kernels
