// Shared by QuantizeLinear and DequantizeLinear: real = (code - zero point) · scale, with one scale and zero point for
// a whole tensor, for each index along an axis, or for each block of indices along it.
#pragma once

#include "base/function_ref.h"
#include "ops/op.h"

namespace retort::ops {

struct QuantizationAttributes {
  int64_t axis = 1, block_size = 0;
  static constexpr std::tuple quantization_attributes{attr("axis", &QuantizationAttributes::axis),
                                                      attr("block_size", &QuantizationAttributes::block_size)};
  enum Input : size_t { kX, kScale, kZeroPoint };
  void check() const;
  /// Gives output 0 the shape of X and type `y`. Throws invalid_argument naming the shapes if scale or zero point do
  /// not match X.
  void infer_as(InferContext& c, DType y) const;

  /// A run of elements: element `first + i` has scale `scale + i * step`, or `scale + i / block` if a block is given.
  struct Run {
    size_t first, n, scale, step, block = 0;
    /// Its elements from `done` on; a block is given only if `done` is a multiple of it.
    Run part(size_t done, size_t count) const {
      return {first + done, count, block ? scale + done / block : scale + done * step, step, block};
    }
  };
  /// Calls the function for all elements of X in runs, distributed over `parallel`.
  void for_each_run(const RunContext& c, const Parallel& parallel, FunctionRef<void(const Run&)> run) const;

 private:
  void check_shapes(const InferContext& c) const;
  bool whole(const RunContext& c) const { return c.count(kScale) == 1 && block_size == 0; }
};

/// The types of integer codes.
inline constexpr TypeSet kIntegerCodes =
    types({DType::i8, DType::u8, DType::i16, DType::u16, DType::i4, DType::u4, DType::i2, DType::u2});
inline constexpr TypeSet kFloatCodes =
    types({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1});

/// The scales as floats and the zero points as integers, in the scratch memory of a kernel. Zero points are 0 if the
/// input is omitted, or if codes are floats, whose zero point must be 0.
struct Scales {
  const float* scale;
  const int32_t* zero;
  static size_t bytes(const RunContext& c) {
    return c.count(QuantizationAttributes::kScale) * (sizeof(float) + sizeof(int32_t));
  }
  /// Throws invalid_argument if the zero points of float codes are not 0.
  static Scales load(const RunContext& c);
};

/// Element i of a tensor of scales: float32, float16, bfloat16 or float8e8m0.
float scale_number(const void* data, DType type, size_t i);

/// Smallest and largest integer code; supports 32-bit integers.
std::pair<int32_t, int32_t> code_range(DType type);
/// Element i of a tensor of integer codes.
int32_t integer_code(const void* data, DType type, size_t i);

}  // namespace retort::ops
