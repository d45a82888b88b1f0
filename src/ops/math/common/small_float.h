// Floats of 8 and 4 bits, one element at a time. Source of the formats: the ONNX operator Cast and its page on float8.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace retort::ops {

/// How float8e8m0 rounds: away from zero, towards zero, to nearest with ties away from zero.
enum class ScaleRounding : uint8_t { up, down, nearest };

/// f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0 and f4e2m1.
bool is_small_float(DType type);
float decode_small_float(DType type, uint8_t code);
/// Nearest code, ties to even (f8e8m0: by `rounding`). What is too large becomes the largest finite number when
/// `saturate` is set (always for f4e2m1), else infinity or NaN, as the format has it.
uint8_t encode_small_float(DType type, float value, bool saturate, ScaleRounding rounding);

}  // namespace retort::ops
