#include "passes/codes.h"

#include "ops/evaluate.h"

namespace retort {

bool is_plain(const Graph& g, const Node& n, ValueId real) {
  return n.attributes.get_or<int64_t>("block_size", 0) == 0 && is_float32(g, real) && is_float32(g, n.input(1)) &&
         g.constant(n.inputs[1]) && (n.input(2) == ValueId::none || g.constant(n.inputs[2])) &&
         n.attributes.get_or<int64_t>("precision", int64_t(DType::f32)) == int64_t(DType::f32);
}

bool has_one_scale(const Graph& g, const Node& n) { return g.constant(n.inputs[1])->count() == 1; }

std::optional<Codes> codes_of(const Graph& g, ValueId v) {
  const Node* n = producer_of(g, v, "DequantizeLinear");
  if (!n || !is_plain(g, *n, v) || !has_one_scale(g, *n)) return std::nullopt;
  const Codes c{n->inputs[0], n->inputs[1], n->input(2), g.value(n->inputs[0]).type.dtype};
  return is_code_type(c.type) ? std::optional(c) : std::nullopt;
}

std::optional<Codes> result_codes(const Graph& g, const Node& n) {
  if (!is_plain(g, n, n.inputs[0]) || !has_one_scale(g, n)) return std::nullopt;
  const Codes c{n.outputs[0], n.inputs[1], n.input(2), g.value(n.outputs[0]).type.dtype};
  return is_code_type(c.type) ? std::optional(c) : std::nullopt;
}

Tensor constant_result(const Graph& g, const Node& n) {
  std::vector<Value> values;
  for (const ValueId in : n.inputs) {
    if (in != ValueId::none && !g.constant(in)) return {};
    values.push_back(in == ValueId::none ? Value() : Value(*g.constant(in)));
  }
  std::vector<const Value*> inputs;
  for (const Value& x : values) inputs.push_back(x.empty() ? nullptr : &x);
  try {
    const std::vector<Value> results = evaluate(n, inputs);
    return *results[0].tensor();
  } catch (const Error&) {
    return {};  // a run will report it
  }
}

int64_t zero_of(const Graph& g, const Codes& c) {
  if (c.zero == ValueId::none) return 0;
  const Tensor& t = *g.constant(c.zero);
  return c.type == DType::i8 ? t.data<int8_t>()[0] : t.data<uint8_t>()[0];
}

float scale_of(const Graph& g, const Codes& c) { return g.constant(c.scale)->at<float>(0); }

ValueId given_zero(Patch& p, const Codes& c) {
  if (c.zero != ValueId::none) return c.zero;
  return p.constant(c.type == DType::i8 ? Tensor::of<int8_t>({}, {0}) : Tensor::of<uint8_t>({}, {0}));
}

}  // namespace retort
