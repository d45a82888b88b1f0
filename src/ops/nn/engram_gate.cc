// com.microsoft.EngramGate: value · sigmoid(sign(dot) · sqrt(max(|dot|, 1e-6))) for each hyper-connection, where dot is
// the product of the normalised key and query over the root of their size. Output 1 is the result normalised.
#include "ops/nn/common/normalize.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct EngramGate {
  float epsilon = 1e-5f;
  static constexpr std::tuple attributes{attr("epsilon", &EngramGate::epsilon)};
  enum Input : size_t { kKey, kQuery, kValue, kKeyScale, kQueryScale, kScale };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kKey));
    c.set(1, c.dtype(kKey));
    const Shape& k = c.shape(kKey);
    require(k.rank() == 4, ErrorCode::invalid_argument, "key has {} axes, expected 4", k.rank());
    require(!c.wants(1) || c.has(kScale), ErrorCode::invalid_argument, "gated_value_normed needs conv_norm_scale");
    c.set(0, c.dtype(kKey), k);
    c.set(1, c.dtype(kKey), k);
    expect_shape(c, kQuery, "query", k);
    expect_shape(c, kValue, "value", {k[0], k[1], k[3]});
    expect_shape(c, kKeyScale, "key_norm_scale", {k[2], k[3]});
    expect_shape(c, kQueryScale, "query_norm_scale", {k[2], k[3]});
    if (c.has(kScale)) expect_shape(c, kScale, "conv_norm_scale", {k[2], k[3]});
  }
  Cost cost(const CostContext& c) const { return {.operations = 12 * c.count(kKey)}; }

  // The gate of a row of key and query.
  float gate(std::span<const float> key, std::span<const float> query, const float* key_scale,
             const float* query_scale) const {
    const double k = inverse_rms(key, epsilon), q = inverse_rms(query, epsilon);
    double dot = 0;
    for (size_t i = 0; i < key.size(); ++i)
      dot += double(key[i]) * k * double(key_scale[i]) * (double(query[i]) * q * double(query_scale[i]));
    dot /= std::sqrt(double(std::max<size_t>(key.size(), 1)));
    const double root = std::sqrt(std::max(std::abs(dot), 1e-6));
    return sigmoid(float(dot > 0 ? root : dot < 0 ? -root : dot == 0 ? 0 : dot));
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(kKey);
    const auto branches = size_t(shape[2]), width = size_t(shape[3]);
    const auto key = c.input<T>(kKey), query = c.input<T>(kQuery), value = c.input<T>(kValue);
    const auto out = c.output<T>(0);
    c.parallel().for_each(width ? key.size() / width : 0, [&](size_t row, int) {
      const size_t first = row * width, b = row % branches * width;
      const float g = gate(key.subspan(first, width), query.subspan(first, width), c.input<T>(kKeyScale).data() + b,
                           c.input<T>(kQueryScale).data() + b);
      for (size_t i = 0; i < width; ++i) out[first + i] = g * value[row / branches * width + i];
      if (!c.wants(1)) return;
      const double factor = inverse_rms(std::span<const T>(out).subspan(first, width), epsilon);
      const auto normed = c.output<T>(1);
      const auto scale = c.input<T>(kScale);
      for (size_t i = 0; i < width; ++i)
        normed[first + i] = float(double(out[first + i]) * factor * double(scale[b + i]));
    });
  }
};

}  // namespace

extern const OpDef op_engram_gate;
constinit const OpDef op_engram_gate = define<EngramGate>({
    .name = "EngramGate",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"key: T", "query: T", "value: T", "key_norm_scale: T", "query_norm_scale: T", "conv_norm_scale: T?"},
    .outputs = {"output: T", "gated_value_normed: T?"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
