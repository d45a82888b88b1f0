// DequantizeLinear: y = (x - zero point) · scale.
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
      for_each_run(c, c.parallel(), [&](const Run& r) { convert(c, s, r, y); });
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
  template <typename Y>
  static void convert(const RunContext& c, const Scales& s, const Run& r, Y* y) {
    const DType type = c.dtype(kX);
    if (type == DType::i32 && r.step == 0 && s.zero[r.scale] == 0) {  // sums of products, whose zero point is 0
      const auto* x = static_cast<const int32_t*>(c.data(kX)) + r.first;
      for (size_t i = 0; i < r.n; ++i) y[r.first + i] = Y(float(x[i]) * s.scale[r.scale]);
      return;
    }
    const auto integers = [&](const auto* x) {
      if (r.step == 0) {  // a loop that the compiler vectorises
        const int32_t zero = s.zero[r.scale];
        const float scale = s.scale[r.scale];
        for (size_t i = 0; i < r.n; ++i) y[r.first + i] = Y(float(int32_t(x[r.first + i]) - zero) * scale);
        return;
      }
      for (size_t i = 0; i < r.n; ++i) {
        const size_t k = r.scale + i * r.step;
        y[r.first + i] = Y(float(int32_t(x[r.first + i]) - s.zero[k]) * s.scale[k]);
      }
    };
    if (type == DType::i8) return integers(static_cast<const int8_t*>(c.data(kX)));
    if (type == DType::u8) return integers(static_cast<const uint8_t*>(c.data(kX)));
    const auto* bytes = static_cast<const uint8_t*>(c.data(kX));
    for (size_t i = r.first; i < r.first + r.n; ++i) {
      const size_t k = r.scale + (i - r.first) * r.step;
      const float v = is_small_float(type)
                          ? decode_small_float(type, is_packed(type) ? get_packed(bytes, i, 4) : bytes[i])
                          : float(int64_t(integer_code(bytes, type, i)) - s.zero[k]);
      y[i] = Y(v * s.scale[k]);
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
