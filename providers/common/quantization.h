// Quantised tensors as models write them: scales and zeros of QuantizeLinear, DequantizeLinear and the QLinear operators.
#pragma once
#include "graph.h"

namespace providers {

/// real = scale * (stored - zero)
struct Scale {
  std::vector<float> scales;  ///< one, or one for each index of an axis
  int32_t zero = 0;
  size_t axis = 0;
};

/// Whether its elements are int8 or uint8.
bool is_byte(const Value* v);
/// Integers of a constant of int8, uint8 or int32; nothing for other types.
std::vector<int32_t> stored(const OrtValue* value);
/// Scale and zero from inputs `scale` and `zero` of a node; no scales where they are not constant or zeros differ.
Scale scale_of(const Node& node, size_t scale, size_t zero, size_t axis = 0);

/// Whether a node is DequantizeLinear from 8-bit integers, or from a constant of int32, to float32 with scales that are
/// constant, and what they are.
bool dequantizes(const Node& node);
Scale dequantization(const Node& node);
/// Whether a node is QuantizeLinear from float32 to 8-bit integers with one constant scale.
bool quantizes(const Node& node);

}  // namespace providers
