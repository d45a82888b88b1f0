// Floats of 8 and 4 bits. Source of the formats: the ONNX operator Cast and its page on float8.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace retort::ops {

/// The rounding of float8e8m0: away from zero, towards zero, or to nearest with ties away from zero.
enum class ScaleRounding : uint8_t { up, down, nearest };

/// Whether the type is f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0 or f4e2m1.
bool is_small_float(DType type);
/// The numbers of all 256 codes; float4 codes in bytes have any upper bits.
const float* small_float_numbers(DType type);
float decode_small_float(DType type, uint8_t code);
/// The nearest code, ties to even (f8e8m0: by `rounding`). Values out of range become the largest finite number if
/// `saturate` is set (always for f4e2m1), otherwise infinity or NaN, depending on the format.
uint8_t encode_small_float(DType type, float value, bool saturate, ScaleRounding rounding);
/// The same of n numbers, a byte for each.
void encode_small_floats(DType type, const float* from, size_t n, bool saturate, ScaleRounding rounding, uint8_t* to);

}  // namespace retort::ops
