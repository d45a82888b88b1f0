// Weights as they lie in a model file.
#pragma once
#include <cstddef>
#include <cstring>

namespace retort::kernels {

/// Element i of floats that begin at any byte: model files do not align weights, and what packs them reads them so.
inline float load_unaligned(const float* p, size_t i) {
  float value;
  std::memcpy(&value, reinterpret_cast<const char*>(p) + i * sizeof(float), sizeof(value));
  return value;
}

}  // namespace retort::kernels
