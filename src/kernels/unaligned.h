// Access to weights in a model file.
#pragma once
#include <cstddef>
#include <cstring>

namespace retort::kernels {

/// Element i of unaligned floats: model files need not align weights, and packing reads them in place.
inline float load_unaligned(const float* p, size_t i) {
  float value;
  std::memcpy(&value, reinterpret_cast<const char*>(p) + i * sizeof(float), sizeof(value));
  return value;
}

}  // namespace retort::kernels
