// QLinear… of com.microsoft: quantised operators. DequantizeLinear converts the inputs, the operator without QLinear
// computes, and QuantizeLinear converts the result.
#include <algorithm>

#include "lift/quantized.h"

namespace retort {
namespace {

// For some operators, scales and zero points must be scalars, and those of the inputs are not optional.
void require_scalars(Rewriter& r, std::initializer_list<size_t> scales_and_zeros) {
  const size_t last = scales_and_zeros.size() - 1, *indices = scales_and_zeros.begin();
  for (size_t k = 0; k <= last; ++k) {
    const size_t i = indices[k];
    require(r.has(i) || k == last, ErrorCode::invalid_graph, "input {} (a scale or zero point) is missing", i);
    require(!r.has(i) || !r.type(i).ranked || r.type(i).rank() == 0, ErrorCode::invalid_graph,
            "input {} (a scale or zero point) has shape {}, expected a scalar", i,
            r.has(i) ? r.graph().dims().text(r.type(i).shape) : "");
  }
}

// For others, they may have several axes of extent 1, which ONNX Runtime ignores.
void as_scalar(Rewriter& r, size_t i) {
  if (!r.has(i) || (r.type(i).ranked && r.type(i).rank() < 2)) return;
  const ValueType type = r.type(i);
  require(!type.ranked || std::ranges::all_of(type.shape, [](Dim d) { return may_equal(d, 1); }),
          ErrorCode::invalid_graph, "input {} (a scale or zero point) has shape {}, expected one element", i,
          r.graph().dims().text(type.shape));
  r.set_input(i, r.add({.type = "Reshape", .inputs = {r.input(i), r.constant(std::vector<int64_t>{})}}));
}

void q_linear_binary(Rewriter& r, std::string_view type) {
  require_scalars(r, {1, 2, 4, 5, 6, 7});
  const ValueId a = real_numbers(r, 0, 1, 2), b = real_numbers(r, 3, 4, 5);
  store_codes(r, r.add({.type = std::string(type), .inputs = {a, b}}), 6, 7);
}
void apply_q_linear_add(Rewriter& r) { q_linear_binary(r, "Add"); }
void apply_q_linear_mul(Rewriter& r) { q_linear_binary(r, "Mul"); }

void q_linear_unary(Rewriter& r, std::string_view type) {
  const ValueId x = real_numbers(r, 0, 1, 2);
  store_codes(r, r.add({.type = std::string(type), .inputs = {x}, .attributes = r.attributes()}), 3, 4);
}
void apply_q_linear_leaky_relu(Rewriter& r) { q_linear_unary(r, "LeakyRelu"); }
void apply_q_linear_sigmoid(Rewriter& r) { q_linear_unary(r, "Sigmoid"); }

void apply_q_linear_average_pool(Rewriter& r) {
  require_scalars(r, {1, 2, 3, 4});
  const auto* kernel = r.attributes().get<std::vector<int64_t>>("kernel_shape");
  require(kernel, ErrorCode::invalid_graph, "the attribute kernel_shape is missing");
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  const size_t rank = kernel->size() + 2;
  r.erase({"channels_last"});
  ValueId x = real_numbers(r, 0, 1, 2);
  if (last) x = channels_first(r, x, rank);
  ValueId y = r.add({.type = "AveragePool", .inputs = {x}, .attributes = r.attributes()});
  if (last) y = channels_last(r, y, rank);
  store_codes(r, y, 3, 4);
}

// All axes but the first and the last.
ValueId axes_between(Rewriter& r) {
  if (r.type(0).ranked) {
    std::vector<int64_t> axes;
    for (int64_t d = 1; d + 1 < int64_t(r.type(0).rank()); ++d) axes.push_back(d);
    return r.constant(axes);
  }
  const auto number = [&](int64_t v) { return r.constant(Tensor::of<int64_t>({}, {v})); };
  const ValueId rank = r.add({.type = "Size", .inputs = {r.add({.type = "Shape", .inputs = {r.input(0)}})}});
  const ValueId end = r.add({.type = "Sub", .inputs = {rank, number(1)}});
  return r.add({.type = "Range", .inputs = {number(1), end, number(1)}});
}

void apply_q_linear_global_average_pool(Rewriter& r) {
  require(!r.type(0).ranked || r.type(0).rank() >= 3, ErrorCode::invalid_graph,
          "X has shape {}, expected 3 axes or more", r.graph().dims().text(r.type(0).shape));
  const ValueId x = real_numbers(r, 0, 1, 2);
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  store_codes(r,
              last ? r.add({.type = "ReduceMean", .inputs = {x, axes_between(r)}})
                   : r.add({.type = "GlobalAveragePool", .inputs = {x}}),
              3, 4);
}

void apply_q_linear_where(Rewriter& r) {
  const ValueId x = real_numbers(r, 1, 2, 3), y = real_numbers(r, 4, 5, 6);
  store_codes(r, r.add({.type = "Where", .inputs = {r.input(0), x, y}}), 7, 8);
}

void apply_q_linear_concat(Rewriter& r) {
  const size_t count = r.node().inputs.size();
  require(count >= 5 && count % 3 == 2, ErrorCode::invalid_graph,
          "has {} inputs, expected scale and zero point of Y and three for each tensor", count);
  std::vector<ValueId> tensors;
  for (size_t i = 2; i < count; i += 3) tensors.push_back(real_numbers(r, i, i + 1, i + 2));
  store_codes(r, r.add({.type = "Concat", .inputs = tensors, .attributes = r.attributes()}), 0, 1);
}

// Before opset 13, Softmax was computed over all elements from `axis` on.
void apply_q_linear_softmax(Rewriter& r) {
  const auto* opset = r.attributes().get<int64_t>("opset");
  require(opset, ErrorCode::invalid_graph, "the attribute opset is missing: it says over which axes the sums go");
  const int64_t version = *opset, axis = r.attributes().get_or<int64_t>("axis", -1);
  for (const size_t i : {1, 2, 3, 4}) as_scalar(r, i);
  ValueId x = real_numbers(r, 0, 1, 2);
  if (version >= 13) {
    x = r.add({.type = "Softmax", .inputs = {x}, .attributes = {{"axis", axis}}});
  } else {
    const ValueId shape = r.add({.type = "Shape", .inputs = {x}});
    x = r.add({.type = "Flatten", .inputs = {x}, .attributes = {{"axis", axis}}});
    x = r.add({.type = "Softmax", .inputs = {x}, .attributes = {{"axis", int64_t(-1)}}});
    x = r.add({.type = "Reshape", .inputs = {x, shape}, .attributes = {{"allowzero", int64_t(1)}}});
  }
  store_codes(r, x, 3, 4);
}

void apply_q_linear_reduce_mean(Rewriter& r) {
  require_scalars(r, {1, 2, 3, 4});
  store_codes(r, reduced(r, "ReduceMean", real_numbers(r, 0, 1, 2)), 3, 4);
}

constexpr LiftRule kQLinearRules[] = {
    {"QLinearAdd", kAlways, apply_q_linear_add, "com.microsoft"},
    {"QLinearAveragePool", kAlways, apply_q_linear_average_pool, "com.microsoft"},
    {"QLinearConcat", kAlways, apply_q_linear_concat, "com.microsoft"},
    {"QLinearGlobalAveragePool", kAlways, apply_q_linear_global_average_pool, "com.microsoft"},
    {"QLinearLeakyRelu", kAlways, apply_q_linear_leaky_relu, "com.microsoft"},
    {"QLinearMul", kAlways, apply_q_linear_mul, "com.microsoft"},
    {"QLinearReduceMean", kAlways, apply_q_linear_reduce_mean, "com.microsoft"},
    {"QLinearSigmoid", kAlways, apply_q_linear_sigmoid, "com.microsoft"},
    {"QLinearSoftmax", kAlways, apply_q_linear_softmax, "com.microsoft"},
    {"QLinearWhere", kAlways, apply_q_linear_where, "com.microsoft"},
};

}  // namespace

extern const LiftRules lift_q_linear;
constinit const LiftRules lift_q_linear{kQLinearRules};

}  // namespace retort
