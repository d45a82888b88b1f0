// QuantizeLinear: y = x / scale, rounded half to even, + zero point, clamped to the range of the codes. The quotient is
// a number of the type that `precision` names, by default that of the scale. Codes that are floats are rounded as by
// Cast.
#include <algorithm>
#include <cmath>

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
  void convert(const RunContext& c, const Scales& s, const Run& r) const {
    switch (c.dtype(kX)) {
      case DType::f16:
        return from(c, s, r, c.input<float16>(kX).data());
      case DType::bf16:
        return from(c, s, r, c.input<bfloat16>(kX).data());
      case DType::i32:
        return from(c, s, r, c.input<int32_t>(kX).data());
      default:
        return from(c, s, r, c.input<float>(kX).data());
    }
  }

  template <typename X>
  void from(const RunContext& c, const Scales& s, const Run& r, const X* x) const {
    const DType type = c.out_dtype();
    if (type == DType::u8) return round(c, s, r, x, static_cast<uint8_t*>(c.out_data()), type);
    if (type == DType::i8) return round(c, s, r, x, static_cast<int8_t*>(c.out_data()), type);
    if (type == DType::u16) return round(c, s, r, x, static_cast<uint16_t*>(c.out_data()), type);
    if (type == DType::i16) return round(c, s, r, x, static_cast<int16_t*>(c.out_data()), type);
    is_small_float(type) ? to_floats(c, s, r, x) : to_bits(c, s, r, x);
  }

  template <typename X>
  void to_floats(const RunContext& c, const Scales& s, const Run& r, const X* x) const {
    constexpr size_t kPart = 256;
    float numbers[kPart];
    uint8_t codes[kPart];
    auto* bytes = static_cast<uint8_t*>(c.out_data());
    for (size_t done = 0; done < r.n; done += kPart) {
      const size_t n = std::min(kPart, r.n - done), first = r.first + done;
      for (size_t i = 0; i < n; ++i)
        numbers[i] = quotient(c, float(x[first + i]), s.scale[r.scale + (done + i) * r.step]);
      encode_small_floats(c.out_dtype(), numbers, n, saturate, ScaleRounding::up, codes);
      if (!is_packed(c.out_dtype()))
        std::copy_n(codes, n, bytes + first);
      else
        for (size_t i = 0; i < n; ++i) set_packed(bytes, first + i, dtype_bits(c.out_dtype()), codes[i]);
    }
  }

  template <typename X>
  void to_bits(const RunContext& c, const Scales& s, const Run& r, const X* x) const {
    const DType type = c.out_dtype();
    for (size_t i = 0; i < r.n; ++i) {
      const size_t k = r.scale + i * r.step, at = r.first + i;
      const float v = quotient(c, float(x[at]), s.scale[k]);
      set_packed(static_cast<uint8_t*>(c.out_data()), at, dtype_bits(type),
                 uint8_t(rounded(v, s.zero[k], code_range(type))));
    }
  }

  template <typename X, typename Y>
  void round(const RunContext& c, const Scales& s, const Run& r, const X* x, Y* y, DType type) const {
    if constexpr (std::is_same_v<X, float>) {
      if (!is_half(division(c)))
        return kernels::quantize(
            kernels::QuantizeRun<Y>{x + r.first, s.scale + r.scale, s.zero + r.scale, r.step, y + r.first, r.n});
    }
    const auto range = code_range(type);
    for (size_t i = 0; i < r.n; ++i) {
      const size_t k = r.scale + i * r.step;
      y[r.first + i] = Y(rounded(quotient(c, float(x[r.first + i]), s.scale[k]), s.zero[k], range));
    }
  }
  DType division(const RunContext& c) const { return precision == DType::undefined ? c.dtype(kScale) : precision; }
  static bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }
  float quotient(const RunContext& c, float x, float scale) const {
    const DType type = division(c);
    if (type == DType::f16) return quotient_of<float16>(x, scale);
    if (type == DType::bf16) return quotient_of<bfloat16>(x, scale);
    return x / scale;
  }
  template <typename T>
  static float quotient_of(float x, float scale) {
    return float(T(float(T(x)) / float(T(scale))));
  }
  // NaN becomes the smallest code.
  static int32_t rounded(float v, int32_t zero, std::pair<int32_t, int32_t> range) {
    const float code = std::nearbyint(v) + float(zero);
    return code >= float(range.second) ? range.second : code > float(range.first) ? int32_t(code) : range.first;
  }
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
