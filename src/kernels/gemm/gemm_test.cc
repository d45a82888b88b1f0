// Matrix multiplication against the plain loop, at every instruction level.
#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace retort::kernels {
namespace {

using Kind = Activation::Kind;
enum class Residual { none, separate, in_place };

struct Case {
  size_t m = 1, n = 1, k = 1;
  size_t a_gap = 0, c_gap = 0;  ///< floats between the end of a row and the next row
  bool bias = false;
  bool transposed_b = false;
  Residual residual = Residual::none;
  Activation activation;
  float poison = 0;  ///< unless 0: the value of one element of A

  std::string name() const {
    return cat("{}x{}x{} gaps {} {} bias {} transposed {} residual {} activation {} {}", m, k, n, a_gap, c_gap, bias,
               transposed_b, int(residual), int(activation.kind), isa_name(current_isa()));
  }
};

/// Memory that starts at a cache line.
class Lines {
 public:
  explicit Lines(size_t bytes) : memory_(bytes / sizeof(Line) + 1) {}
  float* floats() { return memory_[0].values; }

 private:
  struct alignas(64) Line {
    float values[16];
  };
  std::vector<Line> memory_;
};

constexpr float kGuard = 12345.0f;

/// Exactly as many floats as the matrices have, in blocks of their own: the address sanitizer sees any read beyond.
class Data {
 public:
  explicit Data(const Case& c) : case_(c), a_stride_(c.k + c.a_gap), c_stride_(c.n + c.c_gap) {
    std::mt19937 random(unsigned(c.m * 31 + c.n * 7 + c.k));
    std::normal_distribution<float> normal;
    const auto fill = [&](size_t n) {
      std::vector<float> v(n);
      for (float& x : v) x = normal(random);
      return v;
    };
    a_ = fill(matrix_floats(c.m, c.k, a_stride_));
    b_ = fill(c.k * c.n);
    const float unit = 1 / std::sqrt(float(std::max<size_t>(c.k, 1)));
    for (float& x : b_) x *= unit;  // sums of about 1, however long
    if (c.poison != 0 && !a_.empty()) a_[c.m / 2 * a_stride_ + c.k / 2] = c.poison;
    bias_ = fill(c.n);
    residual_ = fill(matrix_floats(c.m, c.n, c_stride_));
  }

  std::vector<float> run(const Parallel& par = Parallel()) const {
    std::vector<float> out = fresh();
    GemmArgs args{.m = case_.m, .n = case_.n, .k = case_.k, .a = a_.data(), .a_stride = a_stride_};
    Lines packed(gemm_packed_bytes(case_.k, case_.n));
    gemm_pack_b(b_.data(), row_stride(), column_stride(), case_.k, case_.n, packed.floats());
    args.packed_b = packed.floats();
    args.c = out.data();
    args.c_stride = c_stride_;
    args.epilogue = epilogue(out);
    gemm(args, par);
    return out;
  }

  /// Two calls of gemm_block.
  std::vector<float> run_blocks() const {
    std::vector<float> out = fresh();
    GemmArgs args{.m = case_.m, .n = case_.n, .k = case_.k, .a = a_.data(), .a_stride = a_stride_};
    Lines packed(gemm_packed_bytes(case_.k, case_.n));
    gemm_pack_b(b_.data(), row_stride(), column_stride(), case_.k, case_.n, packed.floats());
    args.packed_b = packed.floats();
    args.c = out.data();
    args.c_stride = c_stride_;
    args.epilogue = epilogue(out);
    const size_t width = gemm_panel_width(), middle = std::min(case_.n, (case_.n / width + 1) / 2 * width);
    gemm_block(args, middle, case_.n);
    gemm_block(args, 0, middle);
    return out;
  }

  std::vector<float> reference() const {
    std::vector<float> out = fresh();
    gemm_reference(case_.m, case_.n, case_.k, a_.data(), a_stride_, b_.data(), row_stride(), column_stride(),
                   out.data(), c_stride_, epilogue(out));
    return out;
  }

 private:
  static size_t matrix_floats(size_t rows, size_t columns, size_t stride) {
    return rows == 0 ? 0 : (rows - 1) * stride + columns;
  }
  size_t row_stride() const { return case_.transposed_b ? 1 : case_.n; }
  size_t column_stride() const { return case_.transposed_b ? case_.k : 1; }

  std::vector<float> fresh() const {
    std::vector<float> out(matrix_floats(case_.m, case_.n, c_stride_), kGuard);
    if (case_.residual != Residual::in_place) return out;
    for (size_t i = 0; i < case_.m; ++i) {
      std::copy_n(residual_.begin() + ptrdiff_t(i * c_stride_), case_.n, out.begin() + ptrdiff_t(i * c_stride_));
    }
    return out;
  }

  Epilogue epilogue(const std::vector<float>& out) const {
    Epilogue e;
    e.bias = case_.bias ? bias_.data() : nullptr;
    e.residual = case_.residual == Residual::none       ? nullptr
                 : case_.residual == Residual::separate ? residual_.data()
                                                        : out.data();
    e.residual_stride = c_stride_;
    e.activation = case_.activation;
    return e;
  }

  Case case_;
  size_t a_stride_, c_stride_;
  std::vector<float> a_, b_, bias_, residual_;
};

bool same(float want, float got, float tolerance) {
  if (want == kGuard) return got == kGuard;
  if (std::isnan(want)) return std::isnan(got);
  return want == got || std::fabs(want - got) <= tolerance;
}

void expect_equal(const std::vector<float>& want, const std::vector<float>& got, const std::string& name) {
  float largest = 1;
  for (const float w : want) {
    if (w != kGuard && std::isfinite(w)) largest = std::max(largest, std::fabs(w));
  }
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!same(want[i], got[i], largest * 2e-6f) && wrong++ == 0) {
      ADD_FAILURE() << name << ": element " << i << " is " << got[i] << ", not " << want[i];
    }
  }
  EXPECT_EQ(wrong, 0u) << name;
}

void check(const Case& c) {
  const Data data(c);
  const std::vector<float> want = data.reference();
  for (int level = 0; level < kIsaCount; ++level) {
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
  check({.m = 129, .n = 200, .k = 1024, .residual = Residual::in_place});  // rows that collide in the cache
  check({.m = 30, .n = 70, .k = 5000, .bias = true, .residual = Residual::in_place, .activation = {Kind::silu}});
  check({.m = 30, .n = 70, .k = 4096, .residual = Residual::separate, .activation = {Kind::relu}});
  check({.m = 1, .n = 3000, .k = 4099, .bias = true});
  check({.m = 700, .n = 40, .k = 9});
}

TEST(Gemm, Strides) {
  for (const size_t gap : {1, 16, 1000}) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      check({.m = 27, .n = 45, .k = 24, .a_gap = gap, .c_gap = gap + 1, .residual = residual});
      check({.m = 27, .n = 64, .k = 24, .a_gap = gap, .c_gap = gap + 1, .bias = true, .residual = residual});
    }
  }
}

/// gemm_block may end within a panel: columns behind stay as they are.
TEST(Gemm, BlockEndsAnywhere) {
  const size_t m = 14, n = 75, k = 9;
  const std::vector<float> a(m * k, 1.0f), b(k * n, 2.0f);
  for (int level = 0; level < kIsaCount; ++level) {
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

/// gemv_rows and gemv_columns of one size against gemm_reference; B has `gap` floats after each row but the last.
void check_gemv(size_t n, size_t k, size_t gap, bool rows, bool accumulate) {
  std::mt19937 random(unsigned(n * 31 + k));
  std::normal_distribution<float> normal;
  const auto fill = [&](size_t size) {
    std::vector<float> v(size);
    for (float& x : v) x = normal(random);
    return v;
  };
  const size_t height = rows ? n : k, width = rows ? k : n, stride = width + gap;
  const std::vector<float> x = fill(k), b = fill(height == 0 ? 0 : (height - 1) * stride + width), y = fill(n);
  std::vector<float> want = y;
  Epilogue e;
  if (accumulate) e.residual = want.data();
  gemm_reference(1, n, k, x.data(), k, b.data(), rows ? 1 : stride, rows ? stride : 1, want.data(), n, e);
  for (int level = 0; level < kIsaCount; ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<float> got = y;
    const GemvArgs args{n, k, x.data(), b.data(), stride, got.data(), accumulate};
    rows ? gemv_rows(args) : gemv_columns(args);
    expect_equal(want, got, cat("n {} k {} rows {} accumulate {} {}", n, k, rows, accumulate, isa_name(current_isa())));
  }
}

TEST(Gemv, EveryTail) {
  for (const size_t long_side : {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 100, 200, 257}) {
    for (const size_t k : {0, 1, 3, 4, 5, 8, 15, 16, 17, 31, 64, 80, 96, 129}) {
      for (const bool accumulate : {false, true}) {
        check_gemv(long_side, k, k % 3, true, accumulate);
        check_gemv(long_side, k, k % 3, false, accumulate);
      }
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
    for (int level = 0; level < kIsaCount; ++level) {
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

TEST(Gemm, ACancelledBlockLeavesTheRestAsItIs) {
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
