// What the lanes of a warp do together: products of matrices in fragments, and loads of matrices. The fragments are
// those of tensor_cores.cuh.
#include <cstdint>
#include <cstring>

#include "fibers.h"

namespace software_cuda {
namespace {

float from_f16(unsigned bits) {
  const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float value;
  if (exponent == 0) {
    value = float(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  const unsigned word = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

float from_word(unsigned word) {
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

/// The half of a word as a number.
float half(int kind, unsigned word, int which) {
  const unsigned bits = which ? word >> 16 : word & 0xFFFFu;
  return kind == 0 ? from_f16(bits) : from_word(bits << 16);
}

struct Product {
  int kind;
  float* d;
  const unsigned *a, *b;
};

/// Puts the fragments of all lanes together: a is 16 x depth, b is depth x 8.
void gather(void** requests, float (*a)[16], float (*b)[8]) {
  for (int l = 0; l < 32; ++l) {
    const auto& p = *static_cast<const Product*>(requests[l]);
    const int g = l / 4, t = l % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = g + (i & 1) * 8;
      if (p.kind == 2) {
        a[row][t + (i >> 1) * 4] = from_word(p.a[i] & 0xFFFFE000u);
      } else {
        for (int h = 0; h < 2; ++h) a[row][2 * t + h + (i >> 1) * 8] = half(p.kind, p.a[i], h);
      }
    }
    for (int i = 0; i < 2; ++i) {
      if (p.kind == 2) {
        b[t + i * 4][g] = from_word(p.b[i] & 0xFFFFE000u);
      } else {
        for (int h = 0; h < 2; ++h) b[2 * t + h + i * 8][g] = half(p.kind, p.b[i], h);
      }
    }
  }
}

void complete_product(void** requests, unsigned mask) {
  if (mask != 0xFFFFFFFFu) runtime()->fail("not all lanes of the warp take part in a product");
  float a[16][16], b[16][8];
  gather(requests, a, b);
  const int depth = static_cast<const Product*>(requests[0])->kind == 2 ? 8 : 16;
  for (int l = 0; l < 32; ++l) {
    float* const d = static_cast<const Product*>(requests[l])->d;
    for (int i = 0; i < 4; ++i) {
      const int row = l / 4 + (i >> 1) * 8, column = l % 4 * 2 + (i & 1);
      float sum = d[i];
      for (int k = 0; k < depth; ++k) sum += a[row][k] * b[k][column];
      d[i] = sum;
    }
  }
}

struct Load {
  unsigned* r;
  const void* row;
  int transposed;
};

void complete_load(void** requests, unsigned mask) {
  if (mask != 0xFFFFFFFFu) runtime()->fail("not all lanes of the warp take part in a load of matrices");
  uint16_t matrix[4][8][8];
  for (int l = 0; l < 32; ++l)
    std::memcpy(matrix[l / 8][l % 8], static_cast<const Load*>(requests[l])->row, sizeof matrix[0][0]);
  for (int l = 0; l < 32; ++l) {
    const auto& load = *static_cast<const Load*>(requests[l]);
    const int g = l / 4, t = l % 4;
    for (int i = 0; i < 4; ++i) {
      const auto& m = matrix[i];
      const unsigned low = load.transposed ? m[2 * t][g] : m[g][2 * t];
      const unsigned high = load.transposed ? m[2 * t + 1][g] : m[g][2 * t + 1];
      load.r[i] = low | high << 16;
    }
  }
}

}  // namespace

void multiply(int kind, float* d, const unsigned* a, const unsigned* b) {
  Product request{kind, d, a, b};
  meet(0xFFFFFFFFu, &request, complete_product);
}

void load_matrices(unsigned* r, const void* row, int transposed) {
  if (reinterpret_cast<size_t>(row) % 16) runtime()->fail("ldmatrix with an address that is not aligned to 16 bytes");
  Load request{r, row, transposed};
  meet(0xFFFFFFFFu, &request, complete_load);
}

}  // namespace software_cuda
