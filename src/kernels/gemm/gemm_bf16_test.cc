// Tests products in bfloat16 arithmetic against the plain loop on rounded factors, and the rounding at every level.
#include "kernels/gemm/gemm_bf16.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm_testing.h"
#include "kernels/gemm/without_tiles.h"

namespace retort::kernels {
namespace {

using testing::Case;
using testing::Data;
using testing::expect_equal;
using testing::kGuard;
using testing::Kind;
using testing::Lines;
using testing::Residual;

float nearest(float x) { return float(bfloat16(x)); }

/// The same data, rounded.
Data rounded(const Data& data) {
  Data r = data;
  const Case& c = data.shape();
  for (size_t k = 0; k < c.k; ++k) {
    for (size_t i = 0; i < c.m; ++i) r.a(i, k) = nearest(r.a(i, k));
    for (size_t j = 0; j < c.n; ++j) r.b(k, j) = nearest(r.b(k, j));
  }
  return r;
}

std::vector<float> run(Data& data, const Parallel& par, bool blocks) {
  const auto [m, n, k] = std::tuple(data.shape().m, data.shape().n, data.shape().k);
  Lines packed(bf16_packed_bytes(k, n) + 64), scratch(bf16_scratch_bytes(m, k) + 64);
  if (k * n > 0) {
    const bool turned = data.shape().transposed_b;
    bf16_pack_b(&data.b(0, 0), turned ? 1 : n, turned ? k : 1, k, n, packed.floats());
  }
  return data.run_with([&](const GemmArgs& floats) {
    GemmArgs args = floats;
    args.packed_b = {packed.floats(), PackedType::bf16_pairs};
    if (!blocks) return bf16_gemm(args, par, scratch.floats());
    bf16_round_rows(args.a, args.a_stride, m, k, scratch.floats(), bf16_row(k));
    args = bf16_block(args, scratch.floats(), bf16_row(k));
    const size_t middle = (n / gemm_panel_width() + 1) / 2 * gemm_panel_width();
    gemm_block(args, std::min(n, middle), n);
    gemm_block(args, 0, std::min(n, middle));
  });
}

void check(const Case& c) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  Data data(c);
  const std::vector<float> want = rounded(data).reference();
  for (const bool tiles : {false, true}) {
    std::optional<testing::WithoutTiles> without;
    if (!tiles) without.emplace();
    if (tiles && !has_bf16_tiles()) break;
    const std::string name = (tiles ? "AMX " : "") + c.name();
    expect_equal(want, run(data, Parallel(), false), name);
    expect_equal(want, run(data, Parallel(), true), "blocks " + name);
  }
}

TEST(Bf16Gemm, EveryTail) {
  for (const size_t m : {1, 2, 3, 5, 8, 11, 12, 13, 16, 17, 25, 33}) {
    for (const size_t n : {1, 4, 8, 15, 16, 24, 31, 32, 33, 64, 65}) {
      for (const size_t k : {1, 2, 3, 4, 7, 8, 31, 32, 33, 67})
        check({.m = m, .n = n, .k = k, .bias = (m + n + k) % 2 == 0});
    }
  }
}

TEST(Bf16Gemm, Empty) {
  for (const size_t m : {0, 5}) {
    for (const size_t n : {0, 40}) {
      for (const size_t k : {0, 5}) check({.m = m, .n = n, .k = k, .bias = true, .activation = {Kind::relu}});
    }
  }
}

TEST(Bf16Gemm, LargeAndStrided) {
  check({.m = 300, .n = 130, .k = 70, .a_gap = 3, .c_gap = 5, .bias = true});
  check({.m = 129, .n = 200, .k = 2048, .residual = Residual::in_place});
  check({.m = 30, .n = 70, .k = 5001, .bias = true, .residual = Residual::separate, .activation = {Kind::silu}});
  check({.m = 1, .n = 3000, .k = 4099, .bias = true});
  check({.m = 26, .n = 43, .k = 20, .transposed_b = true, .activation = {Kind::clip, -0.5f, 0.5f}});
  // Tiles of 28 and 29 rows, the last steps of k in a block of their own.
  check({.m = 197, .n = 75, .k = 1054, .a_gap = 1, .bias = true, .residual = Residual::in_place});
}

TEST(Bf16Gemm, NanAndInfinityPropagate) {
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    check({.m = 13, .n = 43, .k = 20, .poison = poison});
  }
}

/// The bits do not depend on the number of threads.
TEST(Bf16Gemm, ThreadsDoNotChangeBits) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  Data data({.m = 150, .n = 500, .k = 700, .bias = true});
  const std::vector<float> alone = run(data, Parallel(), false);
  for (const int threads : {2, 3}) {
    ThreadPool pool({.threads = threads});
    const std::vector<float> together = run(data, Parallel(&pool, nullptr), false);
    EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0) << threads;
  }
}

/// Ties go to even, the largest numbers to infinity; NaN stays NaN. Zeros follow up to the end of the row, and nothing
/// behind it is written.
TEST(Bf16Gemm, RoundsToNearest) {
  const uint32_t bits[] = {0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0xbf818000, 0x7f7fffff, 0x7f800000,
                           0xff800000, 0x7f800001, 0xffffffff, 0x00000000, 0x80000000, 0x00800000, 0x4b7fffff};
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    if (Isa(level) == Isa::avx512 && !has_bf16_products()) continue;  // that level has the processor's instruction
    for (size_t k = 0; k <= 131; ++k) {
      std::vector<float> a(std::max(k, bf16_row(k)));
      for (size_t i = 0; i < k; ++i) a[i] = std::bit_cast<float>(bits[i % std::size(bits)]);
      std::vector<float> pairs(bf16_row(k) + 1, kGuard);
      bf16_round_rows(a.data(), k, 1, k, pairs.data(), 0);
      EXPECT_EQ(pairs.back(), kGuard);
      std::vector<uint16_t> got(2 * bf16_row(k));
      if (k > 0) std::memcpy(got.data(), pairs.data(), got.size() * sizeof(uint16_t));
      for (size_t i = 0; i < got.size(); ++i) {
        const uint16_t want = i < k ? bfloat16(a[i]).bits : 0;
        EXPECT_EQ(got[i], want) << i << " of " << k << " at " << isa_name(Isa(level));
      }
      bf16_round_rows(a.data(), k, 1, k, a.data(), 0);  // in place
      if (k == 0) continue;
      EXPECT_EQ(std::memcmp(a.data(), pairs.data(), bf16_row(k) * sizeof(float)), 0) << k;
    }
  }
}

}  // namespace
}  // namespace retort::kernels
