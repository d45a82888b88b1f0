// Gates and other operators of com.microsoft that are a few simple nodes.
#include "expand.h"

namespace providers::cuda {
namespace {

constexpr Type kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr const char* kMs = "com.microsoft";

void swi_glu(Expansion& e) {
  const Node& n = e.of();
  const Value* const gate =
      e.add({"Swish", 24}, {n.input(0)}, n.input(0)->type, n.input(0), {{"alpha", n.number("alpha", 1)}});
  e.make({"Mul"}, {gate, n.input(1)}, {n.out[0]});
}

const Value* cast(Expansion& e, const Value* x, Type type) {
  return x->type == type ? x : e.add({"Cast"}, {x}, type, x, {{"to", int64_t(type)}});
}

// z * sigmoid(z), z = scale * x.
void scaled_silu(Expansion& e) {
  const Node& n = e.of();
  const Value* const x = n.input(0);
  const Value* z = cast(e, x, kFloat);
  if (n.input(1))
    z = e.add({"Mul"}, {z, cast(e, n.input(1), kFloat)}, kFloat, x);
  else
    z = e.add({"Affine", 1}, {z}, kFloat, x, {{"alpha", n.number("alpha", 1)}});
  const Value* const y = e.add({"Swish", 24}, {z}, kFloat, x);
  e.make({"Cast"}, {y}, {n.out[0]}, {{"to", int64_t(x->type)}});
}

// decay = scale * softplus(a + bias), beta = sigmoid(b).
void linear_attention_gate(Expansion& e) {
  const Node& n = e.of();
  const Value* const a = n.input(0);
  const Value* const sum = e.add({"Add"}, {cast(e, a, kFloat), n.input(1)}, kFloat, a);
  const Value* const soft = e.add({"Softplus"}, {sum}, kFloat, a);
  const Value* const decay = e.add({"Mul"}, {soft, n.input(2)}, kFloat, a);
  e.make({"Cast"}, {decay}, {n.out[0]}, {{"to", int64_t(a->type)}});
  if (n.out.size() > 1 && n.out[1]) e.make({"Sigmoid"}, {n.input(3)}, {n.out[1]});
}
std::string refuses_gate(const Node& node) {
  for (const size_t i : {1, 2}) {
    const Value* const v = node.input(i);
    if (!v || v->type != kFloat || !v->has_rank || v->rank() > 1)
      return text("input ", i, " is not a list of float32 numbers");
  }
  return node.out.size() > 1 && node.out[1] && !node.input(3) ? "beta needs the input b" : "";
}

// The normalised rows times an activation of the gate.
void gated_norm(Expansion& e) {
  const Node& n = e.of();
  const Value *const x = n.input(0), *const gate = n.input(2);
  const Value* const norm = e.add({"RMSNormalization", 23}, {x, n.input(1)}, x->type, x,
                                  {{"axis", int64_t(-1)}, {"epsilon", n.number("epsilon", 1e-5f)}});
  const bool sigmoid = n.string("activation", "silu") == "sigmoid";
  const Value* const factor = e.add({sigmoid ? "Sigmoid" : "Swish", 24}, {gate}, x->type, gate);
  e.make({"Mul"}, {norm, factor}, {n.out[0]});
}
std::string refuses_gated_norm(const Node& node) {
  const Value *const x = node.input(0), *const scale = node.input(1);
  const bool whole = x->has_rank && scale && scale->has_rank && x->rank() > 0 && scale->rank() == 1 &&
                     x->dims.back() >= 0 && x->dims.back() == scale->dims[0];
  return whole ? "" : "it is not known that scale has the elements of a row";
}

// x + y * gate, with a gate for each row.
void gated_add(Expansion& e) {
  const Node& n = e.of();
  const Value* const product = e.add({"Mul"}, {n.input(1), n.input(2)}, n.input(0)->type, n.input(1));
  e.make({"Add"}, {n.input(0), product}, {n.out[0]});
}

void expand_dims(Expansion& e) { e.make({"Unsqueeze"}, {e.of().input(0), e.of().input(1)}, {e.of().out[0]}); }

void transposed_product(Expansion& e) {
  const Node& n = e.of();
  const Expansion::Given given{
      {"alpha", n.number("alpha", 1)}, {"transA", n.integer("transA", 0)}, {"transB", n.integer("transB", 0)}};
  e.make({"FusedMatMul", 1, kMs}, {n.input(0), n.input(1)}, n.out, given);
}

}  // namespace

void expand_gates(Kinds& kinds) {
  kinds[{"", "SwiGLU"}] = expanded({}, swi_glu);
  kinds[{kMs, "ScaledSiLU"}] = expanded({}, scaled_silu);
  kinds[{kMs, "LinearAttentionGate"}] = expanded(refuses_gate, linear_attention_gate);
  kinds[{kMs, "GatedRMSNorm"}] = expanded(refuses_gated_norm, gated_norm);
  kinds[{kMs, "GatedAdd"}] = expanded(
      [](const Node& node) -> std::string { return node.input(3) ? "its gates are products with weights" : ""; },
      gated_add);
  kinds[{kMs, "ExpandDims"}] = expanded({}, expand_dims);
  kinds[{kMs, "TransposeMatMul"}] = expanded({}, transposed_product);
}

}  // namespace providers::cuda
