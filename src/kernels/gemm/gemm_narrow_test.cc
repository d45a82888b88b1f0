// Tests packed B in 16 bits: a product must have the same bits as with B in 32 bits, at every instruction level. Also
// tests which numbers 16-bit types represent exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/denormals.h"
#include "base/error.h"
#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"

namespace retort::kernels {
namespace {

constexpr PackedType kNarrowTypes[] = {PackedType::bf16, PackedType::f16};

float rounded(float value, PackedType type) {
  return type == PackedType::bf16 ? float(bfloat16(value)) : float(float16(value));
}

struct NarrowCase {
  size_t m = 1, n = 1, k = 1;
  size_t a_gap = 0;
  bool transposed = false, residual = false;
  float b_scale = 1;
  Activation activation;
};

/// Memory that starts at a cache line and has exactly the requested length.
struct AlignedBytes {
  explicit AlignedBytes(size_t bytes) : memory(new (std::align_val_t(64)) char[bytes + 1]) {}
  ~AlignedBytes() { ::operator delete[](memory, std::align_val_t(64)); }
  AlignedBytes(const AlignedBytes&) = delete;
  char* memory;
};

class NarrowProduct {
 public:
  NarrowProduct(const NarrowCase& c, PackedType narrow)
      : case_(c), a_(c.m * (c.k + c.a_gap)), b_(c.k * c.n * sizeof(float) + 1), bias_(c.n), residual_(c.m * c.n) {
    std::mt19937 random(unsigned(c.m * 31 + c.n * 7 + c.k));
    const auto number = [&random] { return float(int32_t(random())) * 0x1p-31f; };
    for (auto* v : {&a_, &bias_, &residual_}) std::generate(v->begin(), v->end(), number);
    for (size_t i = 0; i < c.k * c.n; ++i) {
      const float x = rounded(c.b_scale * number(), narrow);
      std::memcpy(b_.data() + 1 + i * sizeof(float), &x, sizeof(x));
    }
  }

  /// With a null `parallel`, uses gemm_block, the second half of the columns first.
  std::vector<float> run(PackedType type, const Parallel* parallel) const {
    const auto& [m, n, k, a_gap, transposed, residual, b_scale, activation] = case_;
    const AlignedBytes packed(gemm_packed_bytes(k, n, type));
    const auto* b = reinterpret_cast<const float*>(b_.data() + 1);  // weights in a file need not be aligned
    gemm_pack_b(b, transposed ? 1 : n, transposed ? k : 1, k, n, {packed.memory, type});
    std::vector<float> c(m * n);
    GemmArgs args{.m = m, .n = n, .k = k, .a = a_.data(), .a_stride = k + a_gap};
    args.packed_b = {packed.memory, type};
    args.c = c.data();
    args.c_stride = n;
    args.epilogue = {.bias = bias_.data(), .activation = activation};
    if (residual) args.epilogue.residual = residual_.data(), args.epilogue.residual_stride = n;
    if (parallel) {
      gemm(args, *parallel);
    } else {
      const size_t middle = n / 2 / gemm_panel_width() * gemm_panel_width();
      gemm_block(args, middle, n);
      gemm_block(args, 0, middle);
    }
    return c;
  }

 private:
  NarrowCase case_;
  std::vector<float> a_;
  std::vector<char> b_;
  std::vector<float> bias_, residual_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Only the lowest x86 level cannot convert float16.
bool stores(PackedType type) {
#if defined(__x86_64__)
  return type == PackedType::bf16 || current_isa() != Isa::v2;
#else
  return type != PackedType::f32;
#endif
}

void check_narrow(const NarrowCase& c) {
  const Parallel alone;
  for (const PackedType type : kNarrowTypes) {
    const NarrowProduct product(c, type);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      if (!stores(type)) continue;
      const std::string name = cat("{}x{}x{} gap {} transposed {} type {} {}", c.m, c.n, c.k, c.a_gap, c.transposed,
                                   int(type), isa_name(current_isa()));
      EXPECT_TRUE(same_bits(product.run(PackedType::f32, &alone), product.run(type, &alone))) << name;
      EXPECT_TRUE(same_bits(product.run(PackedType::f32, nullptr), product.run(type, nullptr))) << "blocks " << name;
    }
  }
}

TEST(GemmNarrow, SameBitsForAnyRows) {
  for (size_t m = 1; m <= 66; ++m) {
    for (const size_t n : {7, 32, 33, 75, 128}) {
      for (const size_t k : {1, 3, 8, 67, 261}) {
        if (m > 24 && (m + n + k) % 3 != 0) continue;  // the same blocks once more
        check_narrow({.m = m, .n = n, .k = k, .transposed = m % 2 == 0});
      }
    }
  }
}

TEST(GemmNarrow, SameBitsForLargeOnes) {
  check_narrow({.m = 1, .n = 1000, .k = 4099});
  check_narrow({.m = 12, .n = 96, .k = 5001, .transposed = true});
  check_narrow({.m = 8, .n = 100, .k = 1024, .residual = true});  // rows that share cache sets
  check_narrow({.m = 30, .n = 100, .k = 1000, .a_gap = 24, .residual = true});
  check_narrow({.m = 300, .n = 333, .k = 1025, .residual = true, .activation = {Activation::Kind::relu}});
  check_narrow({.m = 40, .n = 64, .k = 0, .residual = true, .activation = {Activation::Kind::gelu_erf}});
}

TEST(GemmNarrow, SameBitsForAnyNumberOfThreads) {
  for (const size_t m : {1, 5, 100}) {
    for (const PackedType type : kNarrowTypes) {
      if (!stores(type)) continue;
      const NarrowProduct product({.m = m, .n = 3001, .k = 515}, type);
      const Parallel alone;
      const std::vector<float> once = product.run(PackedType::f32, &alone);
      ThreadPool pool({.threads = 3});
      const Parallel three(&pool, nullptr);
      EXPECT_TRUE(same_bits(once, product.run(type, &three))) << m;
    }
  }
}

/// Packing that may be cancelled goes piece by piece; the result has the same bits. Cancelled, it writes nothing more.
TEST(GemmNarrow, PackingInPiecesIsTheSame) {
  const size_t k = 4099, n = 101;  // more rows than a piece has, and a panel that is not full
  std::vector<float> b(k * n);
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(int(i % 255) - 127);
  const Parallel going;
  const std::atomic<bool> stop{true};
  const Parallel cancelled(nullptr, &stop);
  for (const PackedType type : {PackedType::f32, PackedType::bf16, PackedType::f16}) {
    if (!stores(type)) continue;
    const size_t bytes = gemm_packed_bytes(k, n, type);
    const AlignedBytes once(bytes), pieces(bytes), none(bytes);
    std::memset(none.memory, 7, bytes);
    for (const bool turned : {false, true}) {
      const size_t row = turned ? 1 : n, column = turned ? k : 1;
      gemm_pack_b(b.data(), row, column, k, n, {once.memory, type});
      gemm_pack_b(b.data(), row, column, k, n, {pieces.memory, type, &going});
      EXPECT_EQ(std::memcmp(once.memory, pieces.memory, bytes), 0) << int(type) << " " << turned;
      gemm_pack_b(b.data(), row, column, k, n, {none.memory, type, &cancelled});
    }
    const auto* left = static_cast<const char*>(none.memory);
    EXPECT_TRUE(std::all_of(left, left + bytes, [](char c) { return c == 7; }));
  }
  EXPECT_EQ(gemm_exact_type(b.data(), b.size(), going), gemm_exact_type(b.data(), b.size()));
}

/// Infinity and NaN of bf16 are unchanged.
TEST(GemmNarrow, InfinityAndNanPropagate) {
  const size_t k = 5, n = 64;
  for (const float x : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> b(k * n, 1.0f), a(k, 1.0f), c(n);
    b[2 * n + 3] = b[2 * n + 60] = x;
    ASSERT_EQ(gemm_exact_type(b.data(), b.size()), PackedType::bf16);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      const AlignedBytes packed(gemm_packed_bytes(k, n, PackedType::bf16));
      gemm_pack_b(b.data(), n, 1, k, n, {packed.memory, PackedType::bf16});
      GemmArgs args{.m = 1, .n = n, .k = k, .a = a.data(), .a_stride = k};
      args.packed_b = {packed.memory, PackedType::bf16};
      args.c = c.data();
      args.c_stride = n;
      gemm_block(args, 0, n);
      for (size_t j = 0; j < n; ++j) {
        if (j != 3 && j != 60)
          EXPECT_EQ(c[j], 5.0f);
        else
          EXPECT_FALSE(std::isfinite(c[j])) << j;
      }
    }
  }
}

/// The result of gemm_exact_type for one value between zeros, at any position in a vector.
PackedType type_of(float value, size_t at = 0, size_t count = 1) {
  std::vector<float> values(count);
  values[at] = value;
  return gemm_exact_type(values.data(), values.size());
}

/// Tests that values of one 16-bit type give that type, and any others f32.
TEST(GemmNarrow, ExactTypes) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (uint32_t i = 0; i < 65536; ++i) {
      ASSERT_EQ(type_of(std::bit_cast<float>(i << 16)), PackedType::bf16) << i;
      const float half = float16::to_float(uint16_t(i));
      const uint32_t bits = std::bit_cast<uint32_t>(half);
      const bool is_bf16 = (bits & 0xffff) == 0;
      const PackedType wanted = is_bf16                                          ? PackedType::bf16
                                : stores(PackedType::f16) && std::isfinite(half) ? PackedType::f16
                                                                                 : PackedType::f32;
      ASSERT_EQ(type_of(half), wanted) << i << " " << isa_name(current_isa());
      for (const uint32_t near : {bits - 1, bits + 1}) {
        if ((near & 0xffff) == 0) continue;
        ASSERT_EQ(type_of(std::bit_cast<float>(near)), PackedType::f32) << near;
      }
    }
    for (const float beyond : {65536.0f + 32, 0x1p-25f + 0x1p-26f * 0x1p-10f, 3e38f, 1e-40f})
      EXPECT_EQ(type_of(beyond), PackedType::f32) << beyond;
  }
}

TEST(GemmNarrow, OneValueTells) {
  const float third = 1.0f / 3, bf16 = 0x1.02p-20f, f16 = 0x1.004p0f;
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    EXPECT_EQ(gemm_exact_type(nullptr, 0), PackedType::bf16);
    for (const size_t count : {1, 15, 16, 17, 33, 1024, 1030, 3000}) {
      for (const size_t at : {size_t(0), count / 2, count - 1}) {
        EXPECT_EQ(type_of(third, at, count), PackedType::f32) << count << " " << at;
        EXPECT_EQ(type_of(bf16, at, count), PackedType::bf16) << count << " " << at;
        const PackedType wanted = stores(PackedType::f16) ? PackedType::f16 : PackedType::f32;
        EXPECT_EQ(type_of(f16, at, count), wanted) << count << " " << at;
      }
    }
    const float both[] = {0x1.02p-30f, f16};  // one is representable only in bf16, the other only in f16
    EXPECT_EQ(gemm_exact_type(both, 2), PackedType::f32);
  }
}

/// Weights are kept on a processor that treats subnormal numbers as zeros.
TEST(GemmNarrow, SubnormalsAreSeen) {
  const FlushDenormals flush(true);
  check_narrow({.m = 3, .n = 64, .k = 9, .b_scale = 0x1p-16f});  // subnormal only in float16
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    EXPECT_EQ(type_of(std::bit_cast<float>(1u)), PackedType::f32);
    EXPECT_EQ(type_of(std::bit_cast<float>(0x7fffffu)), PackedType::f32);
  }
}

}  // namespace
}  // namespace retort::kernels
