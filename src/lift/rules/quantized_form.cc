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

void apply_q_linear_conv(Rewriter& r) {
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  r.erase({"channels_last"});
  if (!last) return use_standard_form(r);
  const auto* kernel = r.attributes().get<std::vector<int64_t>>("kernel_shape");
  std::optional<size_t> rank;
  if (kernel) rank = kernel->size() + 2;
  for (const size_t i : {size_t(3), size_t(0)}) {
    if (r.type(i).ranked) rank = r.type(i).rank();
  }
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
