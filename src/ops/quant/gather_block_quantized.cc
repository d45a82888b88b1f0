// com.microsoft.GatherBlockQuantized: Gather from quantised data, with floats as result: (code - zero point) · scale.
// Blocks along one axis have a scale and a zero point each. An index that is out of range gives zeros.
#include <bit>

#include "base/checked.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/chunks.h"
#include "ops/integers.h"
#include "ops/math/common/small_float.h"
#include "ops/op.h"
#include "ops/quant/common/quantization.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct GatherBlockQuantized {
  int64_t bits = 4, block_size = 128, gather_axis = 0, quantize_axis = 1;
  static constexpr std::tuple attributes{attr("bits", &GatherBlockQuantized::bits),
                                         attr("block_size", &GatherBlockQuantized::block_size),
                                         attr("gather_axis", &GatherBlockQuantized::gather_axis),
                                         attr("quantize_axis", &GatherBlockQuantized::quantize_axis)};
  enum Input : size_t { kData, kIndices, kScales, kZeros };

  void check() const {
    require(bits == 2 || bits == 4 || bits == 8, ErrorCode::invalid_argument, "bits is {}, expected 2, 4 or 8", bits);
    require(block_size == 0 || (block_size >= 16 && std::has_single_bit(uint64_t(block_size))),
            ErrorCode::invalid_argument, "block_size is {}, expected a power of two from 16 on, or 0", block_size);
  }

  void infer(InferContext& c) const {
    const DType type = c.dtype(kScales), data = c.dtype(kData);
    c.set(0, type);
    require(is_float(type) && type != DType::f64, ErrorCode::invalid_argument,
            "scales are {}, expected float32, float16 or bfloat16", dtype_name(type));
    require(contains(kFloatCodes, data) ? !c.has(kZeros) : block_size != 0, ErrorCode::invalid_argument,
            "data of {} {}", dtype_name(data),
            c.has(kZeros) && block_size ? "have no zero points" : "need a block_size");
    require(data == DType::u8 || contains(kFloatCodes, data) || bits == 4, ErrorCode::invalid_argument,
            "bits is {} for data of {}, expected 4", bits, dtype_name(data));
    require(!c.has(kZeros) || c.dtype(kZeros) == data, ErrorCode::invalid_argument,
            "data are {}, zero_points {}; both must be equal", dtype_name(data),
            dtype_name(c.has(kZeros) ? c.dtype(kZeros) : data));
    const Shape &x = c.shape(kData), &indices = c.shape(kIndices);
    const size_t along = c.axis(gather_axis, x.rank()), blocked = c.axis(quantize_axis, x.rank());
    require(data != DType::u8 || (along == 0 && blocked + 1 == x.rank() && blocked != 0), ErrorCode::invalid_argument,
            "data of uint8 with shape {}: gather_axis is {}, quantize_axis {}; expected the first and the last axis",
            c.dims().text(x), gather_axis, quantize_axis);
    Shape y;
    for (size_t d = 0; d < x.rank(); ++d) {
      const Dim extent = d + 1 == x.rank() ? c.dims().mul(x[d], per_element(data)) : x[d];
      if (d != along) y.push_back(extent);
      for (size_t i = 0; d == along && i < indices.rank(); ++i) y.push_back(indices[i]);
    }
    check_scales(c, x, blocked);
    c.set(0, type, y);
  }
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.out_count(), .access = Access::rows}; }

  void run(RunContext& c) const {
    const Shape& x = c.shape(kData);
    const size_t along = normalize_axis(gather_axis, x.rank());
    const Layout l = layout(c);
    const size_t extent = size_t(x[along]), inner = l.inner;
    const size_t count = c.count(kIndices), rows = c.out_count() / std::max<size_t>(1, inner);
    if (c.out_count() == 0) return;
    with_indices(c, [&](const auto* indices) {
      const auto gather = [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
          const auto index = int64_t(indices[r % count]), at = index < 0 ? index + int64_t(extent) : index;
          if (at < 0 || at >= int64_t(extent))
            fill(c.out_dtype(), nullptr, row_of(c, r * inner), inner, Parallel());
          else
            decode(c, l, (r / count * extent + size_t(at)) * inner, r * inner);
        }
      };
      kernels::for_chunks(c.parallel(), rows, gather, std::max<size_t>(1, kernels::kChunk / inner));
      return std::optional<kernels::BadIndex>();  // zeros if the index is out of range
    });
  }

 private:
  // Codes in an element of the data: bytes hold several.
  int64_t per_element(DType data) const { return data == DType::u8 ? 8 / bits : 1; }
  int64_t block(int64_t extent) const { return block_size > 0 ? block_size : std::max<int64_t>(1, extent); }

  void check_scales(const InferContext& c, const Shape& x, size_t blocked) const {
    if (!c.ranked(kScales)) return;
    const Shape& scales = c.shape(kScales);
    const bool broadcasts = contains(kFloatCodes, c.dtype(kData));
    bool fits = scales.rank() == x.rank();
    for (size_t d = 0; fits && d < x.rank(); ++d) {
      if (d == blocked)
        fits = !is_known(x[d]) || may_equal(scales[d], ceil_div(x[d] * per_element(c.dtype(kData)), block(x[d])));
      else
        fits = may_equal(scales[d], x[d]) || (broadcasts && scales[d] == 1);
    }
    require(fits, ErrorCode::invalid_argument,
            "scales have shape {}, data {}; expected that with one for each block of {} along axis {}",
            c.dims().text(scales), c.dims().text(x), block_size, quantize_axis);
    if (!c.has(kZeros) || !c.ranked(kZeros)) return;
    const Shape& zeros = c.shape(kZeros);
    fits = zeros.rank() == scales.rank();
    for (size_t d = 0; fits && d < zeros.rank(); ++d) {
      const Dim wanted =
          d == blocked && is_known(scales[d]) ? ceil_div(scales[d], per_element(c.dtype(kData))) : scales[d];
      fits = (d == blocked && !is_known(scales[d])) || may_equal(zeros[d], wanted);
    }
    require(fits, ErrorCode::invalid_argument, "zero_points have shape {}, scales {}", c.dims().text(zeros),
            c.dims().text(scales));
  }

  struct Layout {
    Shape extents, strides;  // of the codes; from one to the next scale along each axis, 0: all have one
    size_t blocked, block, inner, blocks_of_row, zero_bytes;
    DType type;
    size_t bits;
  };
  Layout layout(const RunContext& c) const {
    Layout l{.extents = c.shape(kData), .type = c.dtype(kData)};
    const size_t rank = l.extents.rank(), along = normalize_axis(gather_axis, rank);
    l.extents[rank - 1] *= per_element(l.type);
    l.blocked = normalize_axis(quantize_axis, rank);
    l.block = size_t(block(l.extents[l.blocked]));
    l.inner = size_t(extent_product(l.extents, along + 1, rank));
    l.bits = l.type == DType::u8 ? size_t(bits) : dtype_bits(l.type);
    const Shape& scales = c.shape(kScales);
    l.strides = row_major_strides(scales);
    for (size_t d = 0; d < rank; ++d)
      if (d != l.blocked && scales[d] == 1) l.strides[d] = 0;
    l.blocks_of_row = size_t(scales[rank - 1]);
    l.zero_bytes = c.has(kZeros) ? size_t(c.shape(kZeros)[rank - 1]) : 0;
    return l;
  }

  static void* row_of(const RunContext& c, size_t first) {
    return static_cast<char*>(c.out_data()) + first * dtype_bits(c.out_dtype()) / 8;
  }

  // A row of codes from `from` on, line by line of the last axis.
  static void decode(const RunContext& c, const Layout& l, size_t from, size_t to) {
    const size_t rank = l.extents.rank(), last = size_t(l.extents[rank - 1]);
    for (size_t done = 0; done < l.inner;) {
      const size_t column = (from + done) % last, n = std::min(l.inner - done, last - column);
      size_t scale = 0;
      for (size_t d = rank - 1, line = (from + done) / last; d-- > 0;) {
        const size_t at = line % size_t(l.extents[d]);
        line /= size_t(l.extents[d]);
        scale += (d == l.blocked ? at / l.block : at) * size_t(l.strides[d]);
      }
      decode_line(c, l, {from + done, to + done, n, column, scale});
      done += n;
    }
  }
  struct Line {
    size_t from, to, n, column, scale;  // `scale`: that of column 0
  };
  static void decode_line(const RunContext& c, const Layout& l, const Line& line) {
    const bool along = l.blocked + 1 == l.extents.rank();
    const auto step = size_t(l.strides[l.extents.rank() - 1]);
    const DType type = c.out_dtype();
    constexpr size_t kMost = 256;
    float part[kMost];
    for (size_t i = 0, n; i < line.n; i += n) {
      const size_t column = line.column + i, k = line.scale + (along ? column / l.block : column) * step;
      n = std::min(line.n - i, along ? std::min(kMost, l.block - column % l.block) : size_t(1));
      float* const y = type == DType::f32 ? c.output<float>().data() + line.to + i : part;
      const float scale = scale_number(c.data(kScales), c.dtype(kScales), k);
      decode_codes(c.data(kData), l, line.from + i, {zero(c, l, k), scale}, {y, n});
      if (y == part) kernels::cast(part, DType::f32, row_of(c, line.to + i), type, n, {});
    }
  }
  struct Block {
    float zero, scale;
  };
  // Codes of one block, which are bytes, pairs in bytes or others.
  static void decode_codes(const void* data, const Layout& l, size_t from, const Block& b, std::span<float> to) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    float* const __restrict y = to.data();
    const size_t n = to.size();
    if (l.type == DType::u8 && l.bits == 8) {
      for (size_t i = 0; i < n; ++i) y[i] = (float(bytes[from + i]) - b.zero) * b.scale;
    } else if (l.type == DType::u8 && l.bits == 4 && from % 2 == 0 && n % 2 == 0) {
      for (size_t i = 0; i < n / 2; ++i) {
        const unsigned pair = bytes[from / 2 + i];
        y[2 * i] = (float(int(pair & 15)) - b.zero) * b.scale;
        y[2 * i + 1] = (float(int(pair >> 4)) - b.zero) * b.scale;
      }
    } else {
      for (size_t i = 0; i < n; ++i) y[i] = (code(data, l, from + i) - b.zero) * b.scale;
    }
  }
  static float code(const void* data, const Layout& l, size_t i) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    if (is_small_float(l.type)) return decode_small_float(l.type, l.bits == 4 ? get_packed(bytes, i, 4) : bytes[i]);
    return l.type == DType::u8 ? float(get_packed(bytes, i, l.bits)) : float(integer_code(bytes, l.type, i));
  }
  static float zero(const RunContext& c, const Layout& l, size_t k) {
    if (!c.has(kZeros)) return l.type == DType::u8 ? float(1u << (l.bits - 1)) : 0.0f;
    if (l.type != DType::u8) return float(integer_code(c.data(kZeros), l.type, k));
    const uint8_t* row = c.input<uint8_t>(kZeros).data() + k / l.blocks_of_row * l.zero_bytes;
    return float(get_packed(row, k % l.blocks_of_row, l.bits));
  }
};

}  // namespace

extern const OpDef op_gather_block_quantized;
constinit const OpDef op_gather_block_quantized = define<GatherBlockQuantized>({
    .name = "GatherBlockQuantized",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"data: T", "indices: I", "scales: S", "zero_points: T?"},
    .outputs = {"output: S"},
    .types = kFloatCodes | types({DType::u8, DType::u4, DType::i4}),
    .traits = kConverts,
});

}  // namespace retort::ops
