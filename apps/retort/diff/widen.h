// A model with all floats in float64: the arbiter between two engines.
#pragma once
#include <string>

#include "engine/engine.h"

namespace retort::cli {

/// The model, an ONNX file with all weights inside, with tensors, types and attributes of float32, float16 and bfloat16
/// as float64, bodies and functions included. Operators that only support float32 get their inputs rounded to it.
std::string in_doubles(const std::string& model);
/// Floats of up to 32 bits as float64; all else unchanged.
HostValue in_doubles(const HostValue& value);
/// The same for a type, as in TensorProto.
int32_t in_doubles(int32_t type);

}  // namespace retort::cli
