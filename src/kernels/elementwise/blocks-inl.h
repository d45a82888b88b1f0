// Functions of floats, four vectors at a time. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_ELEMENTWISE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_ELEMENTWISE_BLOCKS_INL_H_
#undef RETORT_KERNELS_ELEMENTWISE_BLOCKS_INL_H_
#else
#define RETORT_KERNELS_ELEMENTWISE_BLOCKS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

/// Rows of `count` blocks of four vectors. Vectors 1 to 3 of a block are at these distances from the first; they may
/// overlap.
struct VectorBlocks {
  size_t rows, row_step, count, step, second, third, fourth;
};

/// y = f(x) for all blocks, with the parameters a and b of f; y may be x. The functions are chains of dependent
/// operations: one chain at a time leaves the pipelines idle, and with 16 registers each loads every coefficient. The
/// files that use this are compiled so that the compiler mixes the four (generate.cmake).
using BlocksFunction = void (*)(float a, float b, const float* x, float* y, const VectorBlocks& blocks);

template <class Op>
void run_blocks(float a, float b, const float* x, float* y, const VectorBlocks& blocks) {
  const hn::ScalableTag<float> d;
  const auto [rows, row_step, count, step, second, third, fourth] = blocks;
  const Op op{a, b};
  const size_t gap = row_step - count * step;
  for (size_t r = 0; r < rows; ++r, x += gap, y += gap) {
    for (size_t i = 0; i < count; ++i, x += step, y += step) {
      const auto v0 = op(d, hn::LoadU(d, x));
      const auto v1 = op(d, hn::LoadU(d, x + second));
      const auto v2 = op(d, hn::LoadU(d, x + third));
      const auto v3 = op(d, hn::LoadU(d, x + fourth));
      hn::StoreU(v0, d, y);
      hn::StoreU(v1, d, y + second);
      hn::StoreU(v2, d, y + third);
      hn::StoreU(v3, d, y + fourth);
    }
  }
}

/// A function with its parameters (activate.cc).
struct BoundFunction {
  BlocksFunction run;
  float a, b;
  /// y[i] = f(x[i]); y may be x.
  void operator()(const float* x, float* y, size_t n) const noexcept;
};
BoundFunction function_of(const Activation& activation) noexcept;

/// Applies an activation to rows of floats that are `stride` apart. One function for all kernels: the loops of ten
/// activations in each file that stores results would be too much code.
void activate_rows(const Activation& activation, float* rows, size_t count, size_t columns, size_t stride) noexcept;

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
