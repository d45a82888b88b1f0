#include "ops/quant/common/quantization.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/chunks.h"
#include "ops/math/common/small_float.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
float scale_number(const void* data, DType type, size_t i) {
  switch (type) {
    case DType::f16:
      return float(static_cast<const float16*>(data)[i]);
    case DType::bf16:
      return float(static_cast<const bfloat16*>(data)[i]);
    case DType::f8e8m0:
      return decode_small_float(type, static_cast<const uint8_t*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

void QuantizationAttributes::check() const {
  require(block_size >= 0, ErrorCode::invalid_argument, "block_size is {}", block_size);
}

void QuantizationAttributes::infer_as(InferContext& c, DType y) const {
  c.set(0, y);
  check_shapes(c);
  c.set(0, y, c.shape(kX));
}

void QuantizationAttributes::check_shapes(const InferContext& c) const {
  if (!c.ranked(kX) || !c.ranked(kScale)) return;
  const Shape &x = c.shape(kX), &scale = c.shape(kScale);
  bool fits = true;
  if (block_size > 0) {
    const size_t along = c.axis(axis, x.rank());
    fits = scale.rank() == x.rank();
    for (size_t d = 0; fits && d < x.rank(); ++d) {
      const Dim wanted = d == along && is_known(x[d]) ? ceil_div(x[d], Dim(block_size)) : x[d];
      fits = d == along && !is_known(x[d]) ? true : may_equal(scale[d], wanted);
    }
  } else if (scale.rank() == 1 && is_known(scale[0]) && scale[0] != 1) {
    fits = may_equal(scale[0], x[c.axis(axis, x.rank())]);
  } else {
    fits = scale.rank() <= 1;
  }
  if (!fits)
    fail(ErrorCode::invalid_argument, "scale has shape {}, X {}; axis {}, block_size {}", c.dims().text(scale),
         c.dims().text(x), axis, block_size);
  if (!c.has(kZeroPoint) || !c.ranked(kZeroPoint)) return;
  const Shape& zero = c.shape(kZeroPoint);
  bool same = zero.rank() == scale.rank();
  for (size_t d = 0; same && d < zero.rank(); ++d) same = may_equal(zero[d], scale[d]);
  const auto one = [](const Shape& s) { return s.rank() == 0 || (s.rank() == 1 && may_equal(s[0], 1)); };
  if (!(same || (one(zero) && one(scale))))
    fail(ErrorCode::invalid_argument, "zero point has shape {}, scale {}", c.dims().text(zero), c.dims().text(scale));
}

void QuantizationAttributes::for_each_run(const RunContext& c, const Parallel& parallel,
                                          FunctionRef<void(const Run&)> run) const {
  const Shape& x = c.shape(kX);
  const size_t count = c.count(kX);
  if (count == 0) return;
  if (whole(c)) {
    return kernels::for_chunks(parallel, count, [&](size_t begin, size_t end) { run({begin, end - begin, 0, 0}); });
  }
  const size_t along = normalize_axis(axis, x.rank()), extent = size_t(x[along]);
  size_t inner = 1;
  for (size_t d = along + 1; d < x.rank(); ++d) inner *= size_t(x[d]);
  const size_t block = block_size > 0 ? size_t(block_size) : 1, blocks = ceil_div(extent, block);
  const size_t rows = count / (extent * inner);
  // A run has as many indices along the axis as a chunk has, in whole blocks; where the numbers of a block lie apart,
  // one; and where each element has a scale, all: then memory is the limit.
  const size_t unit = inner > 1 ? 1 : block_size > 0 ? block : extent;
  const bool apart = inner > 1 && block_size > 0;
  const size_t together = apart ? 1 : std::min(extent, std::max<size_t>(1, kernels::kChunk / (inner * unit)) * unit);
  const size_t runs = ceil_div(extent, together), tasks = rows * runs;
  const size_t per_chunk = std::max<size_t>(1, kernels::kChunk / (count / tasks));
  kernels::for_chunks(
      parallel, tasks,
      [&](size_t begin, size_t end) {
        for (size_t t = begin; t < end; ++t) {
          const size_t row = t / runs, first = t % runs * together, n = std::min(together, extent - first) * inner;
          const size_t at = (row * extent + first) * inner;
          if (inner > 1) {
            run(apart ? Run{at, n, (row * blocks + first / block) * inner, 1} : Run{at, n, first, 0, inner});
          } else {
            run(block_size > 0 ? Run{at, n, row * blocks + first / block, 0, block} : Run{at, n, first, 1});
          }
        }
      },
      per_chunk);
}

std::pair<int32_t, int32_t> code_range(DType type) {
  if (type == DType::i32) return {INT32_MIN, INT32_MAX};
  const int bits = int(dtype_bits(type));
  const bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i4 || type == DType::i2;
  if (is_signed) return {-(1 << (bits - 1)), (1 << (bits - 1)) - 1};
  return {0, (1 << bits) - 1};
}

int32_t integer_code(const void* data, DType type, size_t i) {
  switch (type) {
    case DType::i8:
      return static_cast<const int8_t*>(data)[i];
    case DType::u8:
      return static_cast<const uint8_t*>(data)[i];
    case DType::i16:
      return static_cast<const int16_t*>(data)[i];
    case DType::u16:
      return static_cast<const uint16_t*>(data)[i];
    case DType::i32:
      return static_cast<const int32_t*>(data)[i];
    default:
      break;
  }
  const size_t bits = dtype_bits(type);
  const int32_t code = get_packed(static_cast<const uint8_t*>(data), i, bits);
  return code > code_range(type).second ? code - (1 << bits) : code;
}

namespace {

/// The zero points as integers.
void load_zeros(const RunContext& c, size_t n, int32_t* zero) {
  using Attributes = QuantizationAttributes;
  if (!c.has(Attributes::kZeroPoint)) {
    std::fill_n(zero, n, 0);
    return;
  }
  const DType type = c.dtype(Attributes::kZeroPoint);
  const auto* const bytes = static_cast<const uint8_t*>(c.data(Attributes::kZeroPoint));
  if (kernels::can_cast(type)) return kernels::cast(bytes, type, zero, DType::i32, n, {});
  // QuantizeLinear ignores those of floats, as ONNX Runtime does.
  const bool checked = is_small_float(type) && is_small_float(c.dtype(Attributes::kX));
  for (size_t i = 0; i < n; ++i) {
    zero[i] = is_small_float(type) ? 0 : integer_code(bytes, type, i);
    const uint8_t code = checked ? is_packed(type) ? get_packed(bytes, i, 4) : bytes[i] : 0;
    require(!checked || decode_small_float(type, code) == 0, ErrorCode::invalid_argument,
            "the zero point of {} must be 0", dtype_name(type));
  }
}

}  // namespace

Scales Scales::load(const RunContext& c) {
  using Attributes = QuantizationAttributes;
  const size_t n = c.count(Attributes::kScale);
  auto* const zero = static_cast<int32_t*>(c.scratch());
  load_zeros(c, n, zero);
  const DType type = c.dtype(Attributes::kScale);
  const void* const data = c.data(Attributes::kScale);
  if (type == DType::f32) return {static_cast<const float*>(data), zero};
  auto* const scale = reinterpret_cast<float*>(zero + n);
  if (kernels::can_cast(type)) {
    kernels::cast(data, type, scale, DType::f32, n, {});
  } else {
    for (size_t i = 0; i < n; ++i) scale[i] = scale_number(data, type, i);
  }
  return {scale, zero};
}

}  // namespace retort::ops
