#include "ops/quant/common/decoded_product.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "kernels/gemm/gemm.h"
#include "ops/quant/common/codes.h"
#include "ops/quant/common/quantization.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

// With fewer rows of A, a column is read once or twice: packing it costs more than it saves.
constexpr size_t kRowsWithoutPacking = 4;

/// The working memory of one worker.
struct Panel {
  ScratchParts parts;
  float *rows, *packed;
  Panel(size_t k, void* base) : parts(base) {
    const size_t width = kernels::gemm_panel_width();
    rows = parts.take<float>(checked_mul(width, k, "a panel of decoded columns"));
    packed = reinterpret_cast<float*>(parts.take<char>(kernels::gemm_packed_bytes(k, width)));
  }
};

template <size_t bits>
void decode_run(const uint8_t* codes, size_t n, float scale, float zero, float* to) {
  constexpr size_t kPerByte = 8 / bits;
  constexpr unsigned kMask = (1u << bits) - 1;
  size_t i = 0;
  for (; i + kPerByte <= n; i += kPerByte, ++codes) {
    for (size_t j = 0; j < kPerByte; ++j) to[i + j] = (float(*codes >> (j * bits) & kMask) - zero) * scale;
  }
  for (size_t j = 0; i + j < n; ++j) to[i + j] = (float(*codes >> (j * bits) & kMask) - zero) * scale;
}

// Codes of 3 bits lie across bytes: eight of them in three.
void decode_triples(const uint8_t* codes, size_t n, float scale, float zero, float* to) {
  for (size_t i = 0; i < n; ++i) {
    const size_t at = 3 * i / 8, shift = 3 * i % 8;
    const unsigned pair = codes[at] | (shift > 5 ? unsigned(codes[at + 1]) << 8 : 0u);
    to[i] = (float(pair >> shift & 7) - zero) * scale;
  }
}

void decode_run(size_t bits, const uint8_t* codes, size_t n, float scale, float zero, float* to) {
  if (bits == 3) return decode_triples(codes, n, scale, zero, to);
  if (bits == 2) return decode_run<2>(codes, n, scale, zero, to);
  if (bits == 4) return decode_run<4>(codes, n, scale, zero, to);
  decode_run<8>(codes, n, scale, zero, to);
}

}  // namespace

size_t decoded_scratch(size_t k, int workers) {
  return checked_mul(Panel(k, nullptr).parts.bytes(), size_t(workers), "panels of decoded columns");
}

void multiply_decoded_reference(const DecodedProduct& p) {
  std::vector<float> column(p.k);
  for (size_t j = 0; j < p.n; ++j) {
    p.decode(j, column.data());
    for (size_t i = 0; i < p.m; ++i) {
      double sum = 0;
      for (size_t k = 0; k < p.k; ++k) sum += double(p.a[i * p.k + k]) * double(column[k]);
      p.c[i * p.n + j] = float(p.bias ? sum + double(p.bias[j]) : sum);
    }
  }
}

void multiply_decoded(const DecodedProduct& p, void* scratch, const Parallel& parallel) {
  if (p.m == 0 || p.n == 0) return;
  const size_t width = kernels::gemm_panel_width(), bytes = Panel(p.k, nullptr).parts.bytes();
  parallel.for_each(ceil_div(p.n, width), [&](size_t task, int worker) {
    const Panel panel(p.k, static_cast<char*>(scratch) + size_t(worker) * bytes);
    const size_t first = task * width, n = std::min(width, p.n - first);
    for (size_t j = 0; j < n; ++j) p.decode(first + j, panel.rows + j * p.k);
    const float* bias = p.bias ? p.bias + first : nullptr;
    if (p.m <= kRowsWithoutPacking) {
      for (size_t i = 0; i < p.m; ++i) {
        float* c = p.c + i * p.n + first;
        kernels::gemv_rows({.n = n, .k = p.k, .x = p.a + i * p.k, .b = panel.rows, .b_stride = p.k, .y = c});
        for (size_t j = 0; bias && j < n; ++j) c[j] += bias[j];
      }
      return;
    }
    kernels::gemm_pack_b(panel.rows, 1, p.k, p.k, n, panel.packed);
    kernels::GemmArgs args{.m = p.m, .n = n, .k = p.k, .a = p.a, .a_stride = p.k, .packed_b = panel.packed};
    args.c = p.c + first;
    args.c_stride = p.n;
    args.epilogue.bias = bias;
    args.run = &parallel;
    kernels::gemm_block(args, 0, n);
  });
}

float CodeBlocks::scale(size_t row, size_t b) const { return scale_number(scales, scale_type, row * blocks + b); }

float CodeBlocks::zero(size_t row, size_t b) const {
  if (real_zeros) return scale_number(real_zeros, real_zero_type, row * blocks + b);
  if (zeros && zero_rows) return float(get_packed(zeros + row / zero_rows * zero_bytes, row % zero_rows, bits));
  return zeros ? float(get_packed(zeros + row * zero_bytes, b, bits)) : float(1u << (bits - 1));
}

void CodeBlocks::parameters(size_t row, const kernels::NBitRun& run) const {
  const size_t at = row * blocks + run.first;
  const auto copy = [&](const void* from, DType type, float* to) {
    if (type == DType::f32)
      for (size_t i = 0; i < run.count; ++i) to[i * run.stride] = static_cast<const float*>(from)[at + i];
    else
      for (size_t i = 0; i < run.count; ++i) to[i * run.stride] = scale_number(from, type, at + i);
  };
  copy(scales, scale_type, run.scales);
  if (real_zeros) return copy(real_zeros, real_zero_type, run.zeros);
  for (size_t i = 0; i < run.count; ++i) run.zeros[i * run.stride] = zero(row, run.first + i);
}

void CodeBlocks::decode(size_t row, float* to) const {
  const uint8_t* from = codes + row * row_bytes;
  const size_t block_bytes = block * bits / 8;
  for (size_t b = 0; b < blocks; ++b) {
    const size_t first = b * block, n = std::min(block, length - first);
    if (!groups) {
      decode_run(bits, from + b * block_bytes, n, scale(row, b), zero(row, b), to + first);
      continue;
    }
    decode_run(bits, from + b * block_bytes, n, 1, 0, to + first);
    for (size_t i = first; i < first + n; ++i) {
      const size_t g = size_t(groups[i]);
      to[i] = (to[i] - zero(row, g)) * scale(row, g);
    }
  }
}

}  // namespace retort::ops
