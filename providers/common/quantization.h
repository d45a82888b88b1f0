// Quantised tensors in models: scales and zero points of QuantizeLinear, DequantizeLinear and the QLinear operators.
#pragma once
#include "graph.h"

namespace providers {

/// real = scale * (stored - zero)
struct Scale {
  std::vector<float> scales;  ///< one, or one per index of an axis
  int32_t zero = 0;
  size_t axis = 0;
};

/// Whether its elements are int8 or uint8.
bool is_byte(const Value* v);
/// The integers of a constant of int8, uint8 or int32; empty for other types.
std::vector<int32_t> stored(const OrtValue* value);
/// Scale and zero point from inputs `scale` and `zero` of a node; no scales if they are not constant or zero points
/// differ.
Scale scale_of(const Node& node, size_t scale, size_t zero, size_t axis = 0);

/// Whether a node is DequantizeLinear to float32 with constant scales, from 8-bit integers or from a constant of int32.
bool dequantizes(const Node& node);
Scale dequantization(const Node& node);
/// Whether a node is QuantizeLinear from float32 to 8-bit integers with one constant scale.
bool quantizes(const Node& node);

}  // namespace providers
