#include "ops/quant/common/integer_product.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"

namespace retort::ops {

size_t exact_packed_bytes(size_t k, size_t n) {
  const size_t full = round_up(kernels::gemm_packed_bytes(kExactDepth, n), 64);
  const size_t rest = k % kExactDepth ? round_up(kernels::gemm_packed_bytes(k % kExactDepth, n), 64) : 0;
  return checked_add(checked_mul(full, k / kExactDepth, "packed weights"), rest, "packed weights");
}

void pack_exact(const float* b, size_t row, size_t column, size_t k, size_t n, void* packed) {
  char* to = static_cast<char*>(packed);
  for (size_t i = 0; i < k; i += kExactDepth) {
    const size_t depth = std::min(kExactDepth, k - i);
    kernels::gemm_pack_b(b + i * row, row, column, depth, n, reinterpret_cast<float*>(to));
    to += round_up(kernels::gemm_packed_bytes(depth, n), 64);
  }
}

void multiply_exact(size_t m, size_t n, size_t k, const float* a, const void* packed_b, int32_t* c, float* work,
                    const Parallel& parallel) {
  std::fill_n(c, m * n, 0);
  const char* b = static_cast<const char*>(packed_b);
  for (size_t i = 0; i < k; i += kExactDepth) {
    const size_t depth = std::min(kExactDepth, k - i);
    kernels::gemm({.m = m,
                   .n = n,
                   .k = depth,
                   .a = a + i,
                   .a_stride = k,
                   .packed_b = reinterpret_cast<const float*>(b),
                   .c = work,
                   .c_stride = n},
                  parallel);
    if (parallel.cancelled()) return;  // what `work` holds then may be no integers
    b += round_up(kernels::gemm_packed_bytes(depth, n), 64);
    kernels::for_chunks(parallel, m * n, [&](size_t begin, size_t end) {
      for (size_t j = begin; j < end; ++j) c[j] = int32_t(uint32_t(c[j]) + uint32_t(int32_t(work[j])));
    });
  }
}

void widen(const void* codes, DType type, size_t first, size_t n, int32_t zero, float* to) {
  const auto each = [&](const auto* from) {
    for (size_t i = 0; i < n; ++i) to[i] = float(int32_t(from[first + i]) - zero);
  };
  type == DType::i8 ? each(static_cast<const int8_t*>(codes)) : each(static_cast<const uint8_t*>(codes));
}

ZeroPoints::ZeroPoints(const RunContext& c, size_t input, size_t wanted, std::string_view what) {
  if (c.has(input)) set(c.dtype(input), c.shape(input), c.data(input), wanted, what);
}

ZeroPoints::ZeroPoints(const Tensor* constant, size_t wanted, std::string_view what) {
  if (constant) set(constant->dtype(), constant->shape(), constant->data(), wanted, what);
}

void ZeroPoints::set(DType type, const Shape& shape, const void* data, size_t wanted, std::string_view what) {
  const size_t count = element_count(shape);
  require(count == 1 || count == wanted, ErrorCode::invalid_argument, "{} has shape {}, expected one element or {}",
          what, to_string(shape), wanted);
  data_ = data;
  type_ = type;
  step_ = count == 1 ? 0 : 1;
}

int32_t ZeroPoints::at(size_t i) const {
  if (!data_) return 0;
  return type_ == DType::i8 ? static_cast<const int8_t*>(data_)[i * step_]
                            : static_cast<const uint8_t*>(data_)[i * step_];
}

}  // namespace retort::ops
