// Test support: shapes and data of products, and their expected results.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "kernels/elementwise/kernel_testing.h"
#include "kernels/gemm/gemm.h"

namespace retort::kernels::testing {

using Kind = Activation::Kind;
enum class Residual { none, separate, in_place };

struct Case {
  size_t m = 1, n = 1, k = 1;
  size_t a_gap = 0, c_gap = 0;  ///< floats between the end of a row and the next row
  bool bias = false;
  bool transposed_b = false;
  Residual residual = Residual::none;
  Activation activation;
  float poison = 0;  ///< if not 0: the value of one element of A

  std::string name() const {
    return cat("{}x{}x{} gaps {} {} bias {} transposed {} residual {} activation {} {}", m, k, n, a_gap, c_gap, bias,
               transposed_b, int(residual), int(activation.kind), isa_name(current_isa()));
  }
};

inline constexpr float kGuard = 12345.0f;

/// Each matrix is exactly as long as needed, in its own block, so that the address sanitizer detects any read beyond
/// it.
class Data {
 public:
  explicit Data(const Case& c) : case_(c), a_stride_(c.k + c.a_gap), c_stride_(c.n + c.c_gap) {
    std::mt19937 random(unsigned(c.m * 31 + c.n * 7 + c.k));
    std::normal_distribution<float> normal;
    const auto fill = [&](size_t n) { return testing::drawn(normal, random, n); };
    a_ = fill(matrix_floats(c.m, c.k, a_stride_));
    b_ = fill(c.k * c.n);
    const float unit = 1 / std::sqrt(float(std::max<size_t>(c.k, 1)));
    for (float& x : b_) x *= unit;  // sums have magnitude about 1, whatever their length
    if (c.poison != 0 && !a_.empty()) a_[c.m / 2 * a_stride_ + c.k / 2] = c.poison;
    bias_ = fill(c.n);
    residual_ = fill(matrix_floats(c.m, c.n, c_stride_));
  }

  std::vector<float> run(const Parallel& par = Parallel()) const {
    return run_with([&](const GemmArgs& args) { gemm(args, par); });
  }

  /// Computes the product in two calls of gemm_block.
  std::vector<float> run_blocks() const {
    const size_t width = gemm_panel_width(), middle = std::min(case_.n, (case_.n / width + 1) / 2 * width);
    return run_with([&](const GemmArgs& args) {
      gemm_block(args, middle, case_.n);
      gemm_block(args, 0, middle);
    });
  }

  /// The result of compute(GemmArgs) with B packed as `type`, which must represent it exactly.
  template <class F>
  std::vector<float> run_with(const F& compute, PackedType type = PackedType::f32) const {
    std::vector<float> out = fresh();
    GemmArgs args{.m = case_.m, .n = case_.n, .k = case_.k, .a = a_.data(), .a_stride = a_stride_};
    Lines packed(gemm_packed_bytes(case_.k, case_.n, type));
    gemm_pack_b(b_.data(), row_stride(), column_stride(), case_.k, case_.n, {packed.floats(), type});
    std::vector<uint8_t> fit(case_.n / (2 * gemm_panel_width()) + 1);
    gemm_compare_b({packed.floats(), type}, case_.k, case_.n, fit.data());
    args.packed_b = {packed.floats(), type, fit.data()};
    args.c = out.data();
    args.c_stride = c_stride_;
    args.epilogue = epilogue(out);
    compute(args);
    return out;
  }

  /// Element (i, j).
  float& a(size_t i, size_t j) { return a_[i * a_stride_ + j]; }
  float& b(size_t i, size_t j) { return b_[i * row_stride() + j * column_stride()]; }
  const Case& shape() const { return case_; }

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

inline bool same(float want, float got, float tolerance) {
  if (want == kGuard) return got == kGuard;
  if (std::isnan(want)) return std::isnan(got);
  return want == got || std::fabs(want - got) <= tolerance;
}

/// Expects equality except for rounding: `tolerance` times the largest element.
inline void expect_equal(const std::vector<float>& want, const std::vector<float>& got, const std::string& name,
                         float tolerance = 2e-6f) {
  float largest = 1;
  for (const float w : want) {
    if (w != kGuard && std::isfinite(w)) largest = std::max(largest, std::fabs(w));
  }
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!same(want[i], got[i], largest * tolerance) && wrong++ == 0) {
      ADD_FAILURE() << name << ": element " << i << " is " << got[i] << ", not " << want[i];
    }
  }
  EXPECT_EQ(wrong, 0u) << name;
}

}  // namespace retort::kernels::testing
