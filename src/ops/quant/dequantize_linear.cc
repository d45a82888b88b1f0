// DequantizeLinear: y = (x - zero point) · scale.
#include <algorithm>

#include "ops/math/common/small_float.h"
#include "ops/quant/common/quantization.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct DequantizeLinear : QuantizationAttributes {
  DType output_dtype = DType::undefined;
  static constexpr auto attributes =
      std::tuple_cat(quantization_attributes, std::tuple{attr("output_dtype", &DequantizeLinear::output_dtype)});

  DType result(DType scale) const { return output_dtype != DType::undefined ? output_dtype : scale; }

  void check() const {
    QuantizationAttributes::check();
    require(output_dtype == DType::undefined || (is_float(output_dtype) && output_dtype != DType::f64),
            ErrorCode::invalid_argument, "output_dtype is {}, expected float32, float16 or bfloat16",
            dtype_name(output_dtype));
  }

  void infer(InferContext& c) const {
    const DType y = result(c.dtype(kScale));
    require(is_float(y) && y != DType::f64, ErrorCode::invalid_argument,
            "a scale of {} needs an output_dtype of float32, float16 or bfloat16", dtype_name(y));
    infer_as(c, y);
  }
  // Subtraction of the zero point and multiplication for each element.
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.count(0)}; }

  size_t scratch(const RunContext& c) const { return Scales::bytes(c); }

  void run(RunContext& c) const {
    const Scales s = Scales::load(c);
    const auto store = [&]<typename Y>(Y* y) {
      for_each_run(c, c.parallel(), [&](const Run& r) {
        const size_t n = r.block ? r.block : r.n;
        for (size_t done = 0; done < r.n; done += n) {
          Run one = r.part(done, std::min(n, r.n - done));
          one.block = 0;
          convert(c, s, one, y);
        }
      });
    };
    switch (c.out_dtype()) {
      case DType::f16:
        return store(c.output<float16>().data());
      case DType::bf16:
        return store(c.output<bfloat16>().data());
      default:
        return store(c.output<float>().data());
    }
  }

 private:
  static constexpr size_t kPart = 512;  ///< of a run, in the first-level cache

  template <typename Y>
  static void convert(const RunContext& c, const Scales& s, const Run& r, Y* y) {
    if constexpr (std::is_same_v<Y, float>) {
      numbers(c, s, r, y + r.first);
    } else {
      float part[kPart];
      for (size_t done = 0; done < r.n; done += kPart) {
        const size_t n = std::min(kPart, r.n - done);
        numbers(c, s, r.part(done, n), part);
        for (size_t i = 0; i < n; ++i) y[r.first + done + i] = Y(part[i]);
      }
    }
  }

  /// y: that of the first element of the run.
  [[gnu::noinline]] static void numbers(const RunContext& c, const Scales& s, const Run& r, float* y) {
    const void* data = c.data(kX);
    switch (const DType type = c.dtype(kX)) {
      case DType::i8:
        return integers(s, r, static_cast<const int8_t*>(data) + r.first, y);
      case DType::u8:
        return integers(s, r, static_cast<const uint8_t*>(data) + r.first, y);
      case DType::i16:
        return integers(s, r, static_cast<const int16_t*>(data) + r.first, y);
      case DType::u16:
        return integers(s, r, static_cast<const uint16_t*>(data) + r.first, y);
      case DType::i32:
        return sums(s, r, static_cast<const int32_t*>(data) + r.first, y);
      default:
        is_small_float(type) ? floats(s, r, data, type, y) : packed(s, r, data, type, y);
    }
  }

  /// x: the codes of the run.
  template <typename X>
  static void integers(const Scales& s, const Run& r, const X* __restrict x, float* __restrict y) {
    if (r.step == 0) {  // a loop that the compiler vectorises
      const int32_t zero = s.zero[r.scale];
      const float scale = s.scale[r.scale];
      for (size_t i = 0; i < r.n; ++i) y[i] = float(int32_t(x[i]) - zero) * scale;
      return;
    }
    const int32_t* __restrict zero = s.zero + r.scale;
    const float* __restrict scale = s.scale + r.scale;
    for (size_t i = 0; i < r.n; ++i) y[i] = float(int32_t(x[i]) - zero[i]) * scale[i];
  }

  // Sums of products, whose zero points are usually 0.
  static void sums(const Scales& s, const Run& r, const int32_t* x, float* y) {
    if (r.step == 0 && s.zero[r.scale] == 0) {
      for (size_t i = 0; i < r.n; ++i) y[i] = float(x[i]) * s.scale[r.scale];
      return;
    }
    const int32_t* const zero = s.zero + r.scale;
    const float* __restrict scale = s.scale + r.scale;
    float* __restrict to = y;
    if (r.step != 0 && std::all_of(zero, zero + r.n, [](int32_t z) { return z == 0; })) {
      for (size_t i = 0; i < r.n; ++i) to[i] = float(x[i]) * scale[i];
    } else {
      for (size_t i = 0; i < r.n; ++i) to[i] = float(int64_t(x[i]) - zero[i * r.step]) * scale[i * r.step];
    }
  }

  static void floats(const Scales& s, const Run& r, const void* data, DType type, float* y) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    const float* const numbers = small_float_numbers(type);
    for (size_t i = 0; i < r.n; ++i) {
      const size_t at = r.first + i;
      y[i] = numbers[is_packed(type) ? get_packed(bytes, at, 4) : bytes[at]] * s.scale[r.scale + i * r.step];
    }
  }

  // Codes of parts of a byte.
  static void packed(const Scales& s, const Run& r, const void* data, DType type, float* y) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    const size_t bits = dtype_bits(type);
    const int mask = (1 << bits) - 1, sign = code_range(type).first < 0 ? 1 << (bits - 1) : 0;
    int8_t codes[kPart];
    for (size_t done = 0; done < r.n; done += kPart) {
      const size_t n = std::min(kPart, r.n - done), first = r.first + done;
      for (size_t i = 0; i < n; ++i) {
        const size_t bit = (first + i) * bits;
        const int code = bytes[bit / 8] >> (bit % 8) & mask;
        codes[i] = int8_t((code ^ sign) - sign);
      }
      integers(s, r.part(done, n), codes, y + done);
    }
  }
};

}  // namespace

extern const OpDef op_dequantize_linear;
constinit const OpDef op_dequantize_linear = define<DequantizeLinear>({
    .name = "DequantizeLinear",
    .since = {10, 13, 19, 21, 23, 24, 25, 28},
    .inputs = {"x: T", "x_scale: S", "x_zero_point: T?"},
    .outputs = {"y: R"},
    .types = kIntegerCodes | kFloatCodes | types({DType::i32}),
    .traits = kConverts,
});

}  // namespace retort::ops
