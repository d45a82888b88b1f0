// What NVRTC's stand-in returns as the compiled program: a header, and the bytes of a shared library.
#pragma once
#include <cstdint>

namespace software_cuda {

struct ImageHeader {
  char magic[8];  // kImageMagic
  uint64_t bytes, sum;
};
constexpr char kImageMagic[] = "SOFTCUDA";

inline uint64_t image_sum(const char* data, uint64_t bytes) {
  uint64_t h = 14695981039346656037u;
  for (uint64_t i = 0; i < bytes; ++i) h = (h ^ static_cast<unsigned char>(data[i])) * 1099511628211u;
  return h;
}

}  // namespace software_cuda
