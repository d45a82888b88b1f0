// QuantizeLinear: y = x / scale, rounded half to even, + zero point, clamped to the range of the codes. The quotient is
// a number of the type that `precision` names, by default that of the scale. Codes that are floats are rounded as by
// Cast.
#include <algorithm>

#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/codes.h"
#include "ops/math/common/small_float.h"
#include "ops/quant/common/quantization.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct QuantizeLinear : QuantizationAttributes {
  DType output_dtype = DType::undefined;
  bool saturate = true;
  DType precision = DType::undefined;
  static constexpr auto attributes =
      std::tuple_cat(quantization_attributes, std::tuple{attr("output_dtype", &QuantizeLinear::output_dtype),
                                                         attr("saturate", &QuantizeLinear::saturate),
                                                         attr("precision", &QuantizeLinear::precision)});

  void infer(InferContext& c) const {
    const DType y = c.has(kZeroPoint)                  ? c.dtype(kZeroPoint)
                    : output_dtype != DType::undefined ? output_dtype
                                                       : DType::u8;
    require(contains(kIntegerCodes | kFloatCodes, y), ErrorCode::invalid_argument,
            "codes cannot be {}, expected an integer of 2 to 16 bits or a float of 4 or 8", dtype_name(y));
    require(!c.has(kZeroPoint) || output_dtype == DType::undefined || output_dtype == y, ErrorCode::invalid_argument,
            "the zero point is {}, but output_dtype is {}", dtype_name(y), dtype_name(output_dtype));
    require(precision == DType::undefined || (is_float(precision) && precision != DType::f64),
            ErrorCode::invalid_argument, "precision is {}, expected that of float32, float16 or bfloat16",
            dtype_name(precision));
    infer_as(c, y);
  }
  // Division, rounding and addition of the zero point for each element.
  Cost cost(const CostContext& c) const { return {.operations = 3 * c.count(0)}; }

  size_t scratch(const RunContext& c) const { return Scales::bytes(c); }

  void run(RunContext& c) const {
    const Scales s = Scales::load(c);
    const bool packed = is_packed(c.out_dtype());  // neighbours share a byte, so this is serial
    if (packed && c.out_count() > 0)
      static_cast<uint8_t*>(c.out_data())[dtype_bytes(c.out_dtype(), c.out_count()) - 1] = 0;
    for_each_run(c, packed ? Parallel() : c.parallel(), [&](const Run& r) { convert(c, s, r); });
  }

 private:
  static constexpr size_t kPart = 512;  ///< of a run, in the first-level cache
  /// With a scale for each element, blocks of 32 take 0.5 to 0.8 of the time of runs of their own, of 64 0.9 to 1.2, of
  /// 128 1.5 to 1.7 (AMD EPYC of Zen 4, at all levels of instructions).
  static constexpr size_t kLongBlock = 64;

  /// Numbers and what their codes are made with: one for all, (step 1) one each, or (block) one for each block.
  struct Numbers {
    const float* x;
    const float* scale;
    const int32_t* zero;
    size_t step, n, block = 0;
  };

  void convert(const RunContext& c, const Scales& s, const Run& r) const {
    const DType type = c.out_dtype();
    const bool plain = c.dtype(kX) == DType::f32 && !is_half(division(c));
    if (plain && (r.block == 0 || r.block >= kLongBlock) && !is_packed(type) && !is_small_float(type)) {
      const float* const x = c.input<float>(kX).data() + r.first;
      return store(c, {x, s.scale + r.scale, s.zero + r.scale, r.step, r.n, r.block}, r.first);
    }
    // Parts of whole blocks. A long block is a run of its own.
    const size_t part = r.block == 0 ? kPart : r.block < kLongBlock ? kPart / r.block * r.block : r.block;
    for (size_t done = 0; done < r.n; done += part) {
      Run some = r.part(done, std::min(part, r.n - done));
      if (some.block >= kLongBlock) {
        some.block = 0;
        convert(c, s, some);
      } else {
        convert_part(c, s, some);
      }
    }
  }

  /// Of kPart elements at most.
  void convert_part(const RunContext& c, const Scales& s, const Run& r) const {
    float numbers[kPart], scales[kPart];
    int32_t zeros[kPart];
    Numbers v{numbers, s.scale + r.scale, s.zero + r.scale, r.step, r.n};
    if (c.dtype(kX) == DType::f32)
      v.x = c.input<float>(kX).data() + r.first;
    else
      kernels::cast(static_cast<const char*>(c.data(kX)) + r.first * dtype_bytes(c.dtype(kX), 1), c.dtype(kX), numbers,
                    DType::f32, r.n, {});
    for (size_t i = 0; r.block != 0 && i < r.n; i += r.block) {
      std::fill_n(scales + i, std::min(r.block, r.n - i), v.scale[i / r.block]);
      std::fill_n(zeros + i, std::min(r.block, r.n - i), v.zero[i / r.block]);
    }
    if (r.block != 0) v.scale = scales, v.zero = zeros, v.step = 1;
    if (is_half(division(c))) divide_halves(division(c), v, numbers, scales);
    store(c, v, r.first);
  }

  /// Makes the quotients in a type of 16 bits; the scales become 1.
  static void divide_halves(DType type, Numbers& v, float* quotients, float* scales) {
    const size_t n = v.step ? v.n : 1;
    round_to(type, v.scale, scales, n);
    round_to(type, v.x, quotients, v.n);
    const float one = *scales;
    for (size_t i = 0; i < v.n; ++i) quotients[i] /= v.step ? scales[i] : one;
    round_to(type, quotients, quotients, v.n);
    std::fill_n(scales, n, 1.0f);
    v.x = quotients;
    v.scale = scales;
  }
  static void round_to(DType type, const float* x, float* y, size_t n) {
    uint16_t halves[kPart];
    kernels::cast(x, DType::f32, halves, type, n, {});
    kernels::cast(halves, type, y, DType::f32, n, {});
  }

  /// Writes codes from element `first` on.
  void store(const RunContext& c, const Numbers& v, size_t first) const {
    void* const y = c.out_data();
    switch (c.out_dtype()) {
      case DType::u8:
        return quantize(v, static_cast<uint8_t*>(y) + first);
      case DType::i8:
        return quantize(v, static_cast<int8_t*>(y) + first);
      case DType::u16:
        return quantize(v, static_cast<uint16_t*>(y) + first);
      case DType::i16:
        return quantize(v, static_cast<int16_t*>(y) + first);
      default:
        return is_small_float(c.out_dtype()) ? store_floats(c, v, first) : store_bits(c, v, first);
    }
  }
  template <typename T>
  static void quantize(const Numbers& v, T* y) {
    const size_t most = v.block == 0 ? v.n : v.block;
    for (size_t i = 0, k = 0; i < v.n; i += most, ++k)
      kernels::quantize(
          kernels::QuantizeRun<T>{v.x + i, v.scale + k, v.zero + k, v.step, y + i, std::min(most, v.n - i)});
  }

  /// Of kPart elements at most, as those below.
  void store_floats(const RunContext& c, const Numbers& v, size_t first) const {
    float quotients[kPart];
    uint8_t codes[kPart];
    for (size_t i = 0; i < v.n; ++i) quotients[i] = v.x[i] / v.scale[i * v.step];
    encode_small_floats(c.out_dtype(), quotients, v.n, saturate, ScaleRounding::up, codes);
    put(c, codes, v.n, first);
  }

  /// Codes of less than 8 bits are those of 8 bits in a smaller range.
  static void store_bits(const RunContext& c, const Numbers& v, size_t first) {
    uint8_t codes[kPart];
    const auto [low, high] = code_range(c.out_dtype());
    if (low < 0) {
      int8_t numbers[kPart];
      quantize(v, numbers);
      for (size_t i = 0; i < v.n; ++i) codes[i] = uint8_t(std::clamp<int>(numbers[i], low, high));
    } else {
      quantize(v, codes);
      for (size_t i = 0; i < v.n; ++i) codes[i] = uint8_t(std::min<int>(codes[i], high));
    }
    put(c, codes, v.n, first);
  }

  static void put(const RunContext& c, const uint8_t* codes, size_t n, size_t first) {
    auto* const bytes = static_cast<uint8_t*>(c.out_data());
    const size_t bits = dtype_bits(c.out_dtype());
    if (bits == 8) {
      std::copy_n(codes, n, bytes + first);
      return;
    }
    size_t i = 0;
    for (; bits == 4 && first % 2 == 0 && i + 2 <= n; i += 2)
      bytes[(first + i) / 2] = uint8_t((codes[i] & 15) | codes[i + 1] << 4);
    for (; i < n; ++i) set_packed(bytes, first + i, bits, codes[i]);
  }

  DType division(const RunContext& c) const { return precision == DType::undefined ? c.dtype(kScale) : precision; }
  static bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }
};

}  // namespace

extern const OpDef op_quantize_linear;
constinit const OpDef op_quantize_linear = define<QuantizeLinear>({
    .name = "QuantizeLinear",
    .since = {10, 13, 19, 21, 23, 24, 25, 28},
    .inputs = {"x: T", "y_scale: S", "y_zero_point: Z?"},
    .outputs = {"y: Z"},
    .types = types({DType::f32, DType::f16, DType::bf16, DType::i32}),
    .traits = kConverts,
});

}  // namespace retort::ops
