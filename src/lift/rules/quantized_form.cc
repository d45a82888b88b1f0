// Operators of com.microsoft that differ from those of ai.onnx only in their name, or in channels that come last.
#include "lift/quantized.h"

namespace retort {
namespace {

void use_standard_form(Rewriter& r) {
  r.replace_output(0, r.add({.type = r.node().type, .inputs = r.node().inputs, .attributes = r.attributes()}));
  r.remove();
}

void apply_quantize_linear(Rewriter& r) {
  r.attributes().set("precision", int64_t(DType::f32));
  use_standard_form(r);
}

// The number of axes of a convolution's input, which its weights or attributes tell if its type does not; none if only a
// run tells it.
std::optional<size_t> conv_rank(Rewriter& r) {
  for (const size_t i : {size_t(0), size_t(3)})
    if (r.type(i).ranked) return r.type(i).rank();
  for (const std::string_view name : {"kernel_shape", "strides", "dilations"})
    if (const auto* each = r.attributes().get<std::vector<int64_t>>(name)) return each->size() + 2;
  if (const auto* pads = r.attributes().get<std::vector<int64_t>>("pads")) return pads->size() / 2 + 2;
  return std::nullopt;
}

void apply_q_linear_conv(Rewriter& r) {
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  r.erase({"channels_last"});
  if (!last) return use_standard_form(r);
  const std::optional<size_t> rank = conv_rank(r);
  std::vector<ValueId> inputs = r.node().inputs;
  inputs[0] = channels_first(r, inputs[0], rank);
  const ValueId y = r.add({.type = "QLinearConv", .inputs = inputs, .attributes = r.attributes()});
  r.replace_output(0, channels_last(r, y, rank));
  r.remove();
}

void apply_nhwc_max_pool(Rewriter& r) {
  const auto* kernel = r.attributes().get<std::vector<int64_t>>("kernel_shape");
  require(kernel, ErrorCode::invalid_graph, "the attribute kernel_shape is missing");
  const size_t rank = kernel->size() + 2;
  const ValueId x = channels_first(r, r.input(0), rank);
  const ValueId y = r.add({.type = "MaxPool", .inputs = {x}, .attributes = r.attributes()});
  r.replace_output(0, channels_last(r, y, rank));
  r.remove();
}

constexpr LiftRule kFormRules[] = {
    {"DequantizeLinear", kAlways, use_standard_form, "com.microsoft"},
    {"NhwcMaxPool", kAlways, apply_nhwc_max_pool, "com.microsoft"},
    {"QLinearConv", kAlways, apply_q_linear_conv, "com.microsoft"},
    {"QuantizeLinear", kAlways, apply_quantize_linear, "com.microsoft"},
};

}  // namespace

extern const LiftRules lift_quantized_form;
constinit const LiftRules lift_quantized_form{kFormRules};

}  // namespace retort
