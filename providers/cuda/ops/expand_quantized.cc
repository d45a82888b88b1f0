// QLinear… of com.microsoft and its kin: the same operator between DequantizeLinear and QuantizeLinear.
#include <numeric>

#include "cuda/core/expansion.h"
#include "expand.h"

namespace providers::cuda {
namespace {

constexpr Type kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr const char* kMs = "com.microsoft";

bool is_code(const Value* v) {
  return v && (v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8);
}

/// Input `x` as real numbers. `like` null: the shape of the input.
const Value* real_of(Expansion& e, size_t x, size_t scale, size_t zero) {
  const Node& n = e.of();
  return e.add({"DequantizeLinear"}, {n.input(x), n.input(scale), n.input(zero)}, kFloat, n.input(x));
}
/// Stores real numbers as codes in output 0.
void store_codes(Expansion& e, const Value* y, size_t scale, size_t zero) {
  e.make({"QuantizeLinear"}, {y, e.of().input(scale), e.of().input(zero)}, {e.of().out[0]});
}

// The first of the tensors has codes, all scales are there and have one element, and so has the result.
std::string refuses_codes(const Node& node, size_t x, const std::vector<size_t>& scales, size_t zero) {
  if (!is_code(node.input(x))) return text("input ", x, " has no codes of 8 bits");
  for (const size_t i : scales) {
    const Value* const v = node.input(i);
    if (!v || v->type != kFloat) return text("input ", i, ", a scale, is not float32");
    if (v->has_rank && v->rank() > 1) return text("input ", i, ", a scale, has ", v->rank(), " axes");
  }
  // Without a zero point, QuantizeLinear makes codes of the type of its output.
  const Value* const z = node.input(zero);
  return z && !is_code(z) ? text("input ", zero, " has no codes of 8 bits") : "";
}

template <const char* kType>
void binary(Expansion& e) {
  const Value *a = real_of(e, 0, 1, 2), *b = real_of(e, 3, 4, 5);
  store_codes(e, e.add({kType}, {a, b}, kFloat, e.of().out[0]), 6, 7);
}
constexpr char kAdd[] = "Add", kMul[] = "Mul";

void sigmoid(Expansion& e) { store_codes(e, e.add({"Sigmoid"}, {real_of(e, 0, 1, 2)}, kFloat, e.of().input(0)), 3, 4); }
void leaky_relu(Expansion& e) {
  const Expansion::Given alpha{{"alpha", e.of().number("alpha", 0.01f)}};
  store_codes(e, e.add({"LeakyRelu"}, {real_of(e, 0, 1, 2)}, kFloat, e.of().input(0), alpha), 3, 4);
}
void where(Expansion& e) {
  const Value *x = real_of(e, 1, 2, 3), *y = real_of(e, 4, 5, 6);
  store_codes(e, e.add({"Where"}, {e.of().input(0), x, y}, kFloat, e.of().out[0]), 7, 8);
}

void softmax(Expansion& e) {
  const Expansion::Given axis{{"axis", e.of().integer("axis", -1)}};
  const int opset = int(e.of().integer("opset", 13));
  const Value* const x = real_of(e, 0, 1, 2);
  store_codes(e, e.add({"Softmax", opset < 13 ? 11 : 13}, {x}, kFloat, x, axis), 3, 4);
}

void concat(Expansion& e) {
  const Node& n = e.of();
  std::vector<const Value*> tensors;
  for (size_t i = 2; i + 2 < n.in.size(); i += 3) tensors.push_back(real_of(e, i, i + 1, i + 2));
  const Expansion::Given axis{{"axis", n.integer("axis", 0)}};
  store_codes(e, e.add({"Concat"}, tensors, kFloat, n.out[0], axis), 0, 1);
}
std::string refuses_concat(const Node& node) {
  if (node.in.size() < 5 || node.in.size() % 3 != 2) return text("it has ", node.in.size(), " inputs");
  std::vector<size_t> scales{0};
  for (size_t i = 3; i < node.in.size(); i += 3) scales.push_back(i);
  return refuses_codes(node, 2, scales, 1);
}

const Value* average_pool(Expansion& e, const Value* x) {
  const Node& n = e.of();
  Expansion::Given given;
  for (const char* name : {"kernel_shape", "strides", "pads"})
    if (n.has(name)) given.push_back({name, n.integers(name)});
  for (const char* name : {"ceil_mode", "count_include_pad"}) given.push_back({name, n.integer(name, 0)});
  given.push_back({"auto_pad", n.string("auto_pad", "NOTSET")});
  return e.add({"AveragePool", 19}, {x}, kFloat, nullptr, given);
}
void q_average_pool(Expansion& e) {
  const bool last = e.of().integer("channels_last", 0) != 0;
  const Value* x = real_of(e, 0, 1, 2);
  if (last) x = channels_first(e, x);
  const Value* y = average_pool(e, x);
  store_codes(e, last ? channels_last(e, y, e.of().input(0)->rank()) : y, 3, 4);
}
void q_global_average_pool(Expansion& e) {
  const bool last = e.of().integer("channels_last", 0) != 0;
  const Value* x = real_of(e, 0, 1, 2);
  if (last) x = channels_first(e, x);
  const Value* const y = e.add({"GlobalAveragePool"}, {x}, kFloat);
  store_codes(e, last ? channels_last(e, y, e.of().input(0)->rank()) : y, 3, 4);
}
std::string refuses_pool(const Node& node) {
  const std::string why = refuses_codes(node, 0, {1, 3}, 4);
  if (!why.empty() || node.integer("channels_last", 0) == 0) return why;
  return node.input(0)->has_rank ? "" : "the rank of its input is unknown";
}

void reduce_mean(Expansion& e) {
  const Node& n = e.of();
  const Expansion::Given given{{"axes", n.integers("axes")}, {"keepdims", n.integer("keepdims", 1)}};
  store_codes(e, e.add({"ReduceMean", 13}, {real_of(e, 0, 1, 2)}, kFloat, n.out[0], given), 3, 4);
}

// The channels are last.
void max_pool(Expansion& e) {
  const Node& n = e.of();
  Expansion::Given given;
  for (const char* name : {"kernel_shape", "strides", "pads", "dilations"})
    if (n.has(name)) given.push_back({name, n.integers(name)});
  given.push_back({"ceil_mode", n.integer("ceil_mode", 0)});
  given.push_back({"auto_pad", n.string("auto_pad", "NOTSET")});
  const Value* const x = n.input(0);
  const Value* const y = e.add({"MaxPool", 12}, {channels_first(e, x)}, x->type, nullptr, given);
  e.make({"Transpose"}, {y}, {n.out[0]}, {{"perm", order_of(x->rank(), true)}});
}

// The projection to queries, keys and values is a quantised product; then it is Attention without weights.
void attention(Expansion& e) {
  const Node& n = e.of();
  const Expansion::Form product{"MatMulIntegerToFloat", 1, kMs};
  const std::vector<const Value*> in{n.input(0), n.input(1), n.input(3), n.input(4),
                                     n.input(6), n.input(7), n.input(2)};
  const Value* const all = e.add(product, in, kFloat);
  Expansion::Given given{{"num_heads", n.integer("num_heads", 0)}, {"unidirectional", n.integer("unidirectional", 0)}};
  for (const char* name : {"scale", "mask_filter_value"})
    if (n.has(name)) given.push_back({name, n.number(name, 0)});
  e.make({"Attention", 1, kMs}, {all, nullptr, nullptr, n.input(5), n.input(8)}, n.out, given);
}

// Tables of codes.
void embedding(Expansion& e) {
  const Node& n = e.of();
  std::vector<const Value*> in{n.input(0), n.input(1)};
  for (size_t i = 2; i < 7; ++i) in.push_back(n.input(i) ? real_of(e, i, i + 6, i + 11) : nullptr);
  in.push_back(n.input(7));
  const Expansion::Given epsilon{{"epsilon", n.number("epsilon", 1e-12f)}};
  e.make({"EmbedLayerNormalization", 1, kMs}, in, n.out, epsilon);
}
std::string refuses_embedding(const Node& node) {
  for (size_t i = 2; i < 7; ++i)
    if (node.input(i) && !is_code(node.input(i))) return text("input ", i, " has no codes of 8 bits");
  return refuses_codes(node, 2, {8, 9, 11, 12}, 13);
}

}  // namespace

void expand_quantized(Kinds& kinds) {
  const auto of_one = [](const Node& n) { return refuses_codes(n, 0, {1, 3}, 4); };
  const auto of_two = [](const Node& n) { return refuses_codes(n, 0, {1, 4, 6}, 7); };
  kinds[{kMs, "QLinearAdd"}] = expanded(of_two, binary<kAdd>);
  kinds[{kMs, "QLinearMul"}] = expanded(of_two, binary<kMul>);
  kinds[{kMs, "QLinearSigmoid"}] = expanded(of_one, sigmoid);
  kinds[{kMs, "QLinearLeakyRelu"}] = expanded(of_one, leaky_relu);
  kinds[{kMs, "QLinearSoftmax"}] = expanded(of_one, softmax);
  kinds[{kMs, "QLinearReduceMean"}] = expanded(of_one, reduce_mean);
  kinds[{kMs, "QLinearWhere"}] = expanded([](const Node& n) { return refuses_codes(n, 1, {2, 5, 7}, 8); }, where);
  kinds[{kMs, "QLinearConcat"}] = expanded(refuses_concat, concat);
  kinds[{kMs, "QLinearAveragePool"}] = expanded(refuses_pool, q_average_pool);
  kinds[{kMs, "QLinearGlobalAveragePool"}] = expanded(refuses_pool, q_global_average_pool);
  kinds[{kMs, "NhwcMaxPool"}] = expanded(
      [](const Node& n) -> std::string { return n.input(0)->has_rank ? "" : "the rank of its input is unknown"; },
      max_pool);
  kinds[{kMs, "QAttention"}] = expanded(
      [](const Node& n) {
        for (const char* name : {"do_rotary", "past_present_share_buffer"})
          if (n.integer(name, 0) != 0) return text("attribute ", name, " is set");
        return refuses_codes(n, 0, {3, 4}, 6);
      },
      attention);
  kinds[{kMs, "QEmbedLayerNormalization"}] = expanded(refuses_embedding, embedding);
}

}  // namespace providers::cuda
