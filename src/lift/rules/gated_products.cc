// com.microsoft.SwiGLU, a clamped Swish of one half times the other, and what consists of products and such a gate, or
// of a norm and products with packed weights: RouterGateUpProj, MatMulNBitsMlp, MatMulNBitsQkv.
#include <array>
#include <limits>

#include "base/error.h"
#include "lift/expect.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;
constexpr std::string_view kOfMicrosoft = "com.microsoft";

// The two halves of each row. A row whose length only a run tells becomes two, so that an odd length is an error.
std::array<ValueId, 2> halves(Rewriter& r, ValueId x) {
  const ValueType type = r.type_of(x);
  require(!type.ranked || type.rank() > 0, ErrorCode::invalid_argument, "a scalar has no halves");
  const Attributes last{{"axis", int64_t(-1)}};
  if (type.ranked && is_known(type.shape.back())) {
    const Dim width = type.shape.back();
    require(width % 2 == 0, ErrorCode::invalid_argument, "rows of {} elements have no halves", width);
    Attributes two = last;
    two.set("num_outputs", int64_t(2));
    const auto made = r.add_all({.type = "Split", .inputs = {x}, .attributes = two, .outputs = 2});
    return {made[0], made[1]};
  }
  const ValueId lead = r.add({.type = "Shape", .inputs = {x}, .attributes = {{"end", int64_t(-1)}}});
  const ValueId shape = r.add({.type = "Concat", .inputs = {lead, r.constant(Ints{2, -1})}, .attributes = last});
  const ValueId both = r.add({.type = "Reshape", .inputs = {x, shape}});
  const auto half = [&](int64_t i) {
    const ValueId index = r.constant(Tensor::of<int64_t>({}, {i}));
    return r.add({.type = "Gather", .inputs = {both, index}, .attributes = {{"axis", int64_t(-2)}}});
  };
  return {half(0), half(1)};
}

ValueId to_type(Rewriter& r, ValueId x, DType type) { return r.type_of(x).dtype == type ? x : cast(r, x, type); }

// Computed in float32 and rounded once, or also after the Swish. The attributes are a copy, since adding nodes moves those
// of the node.
ValueId gated(Rewriter& r, ValueId gate, ValueId up, const Attributes given) {
  const ValueType a = r.type_of(gate);
  const auto number = [&](float value) { return r.constant(float_scalar(DType::f32, value)); };
  const float limit = given.get_or<float>("limit", 0), alpha = given.get_or<float>("activation_alpha", 1),
              beta = given.get_or<float>("activation_beta", 0);
  ValueId g = to_type(r, gate, DType::f32), u = to_type(r, up, DType::f32);
  if (limit > 0) {
    g = r.add({.type = "Clip", .inputs = {g, ValueId::none, number(limit)}});
    u = r.add({.type = "Clip", .inputs = {u, number(-limit), number(limit)}});
  }
  g = r.add({.type = "Swish", .inputs = {g}, .attributes = {{"alpha", alpha}}});
  if (given.get_or<int64_t>("round_activation", 0) != 0 && a.dtype != DType::f32)
    g = cast(r, cast(r, g, a.dtype), DType::f32);
  u = expect(r, u, "up", g);  // which is like the gate, and has another reader in any case
  if (beta != 0) u = r.add({.type = "Add", .inputs = {u, number(beta)}});
  return to_type(r, r.add({.type = "Mul", .inputs = {g, u}}), a.dtype);
}

void swi_glu(Rewriter& r) {
  const auto parts = r.has(1) ? std::array{r.input(0), r.input(1)} : halves(r, r.input(0));
  r.replace_output(0, gated(r, parts[0], parts[1], r.attributes()));
  r.remove();
}

void router_gate_up(Rewriter& r) {
  const auto activation = r.attributes().get_or<std::string>("activation", "swiglu");
  require(activation == "swiglu", ErrorCode::not_implemented, "activation \"{}\" is not swiglu", activation);
  const int64_t router = r.attributes().get_or<int64_t>("router_size", 0);
  const ValueType w = r.type(1);
  require(w.ranked && w.rank() == 2 && is_known(w.shape[1]), ErrorCode::not_implemented,
          "the number of columns of W, a matrix, must be known");
  const int64_t inter = (w.shape[1] - router) / 2;
  require(router > 0 && inter > 0 && router + 2 * inter == w.shape[1], ErrorCode::invalid_argument,
          "W has {} columns, router_size is {}; the other columns must be two halves", w.shape[1], router);
  const ValueId product = r.add({.type = "MatMul", .inputs = {r.input(0), r.input(1)}});
  const auto made = r.add_all({.type = "Split",
                               .inputs = {product, r.constant(Ints{router, inter, inter})},
                               .attributes = {{"axis", int64_t(-1)}},
                               .outputs = 3});
  r.replace_output(0, made[0]);
  r.replace_output(1, gated(r, made[1], made[2], r.attributes()));
  r.remove();
}

// The input of the products, and its sum with `skip` if output `sum` is used: input 0, or its norm if there is a scale.
ValueId normalised(Rewriter& r, size_t sum, float epsilon) {
  const Attributes attributes{{"epsilon", r.attributes().get_or<float>("epsilon", epsilon)}};
  require(r.has(1) || !r.output_used(sum), ErrorCode::invalid_graph, "output {} is the sum with skip, which is missing",
          sum);
  if (!r.has(2)) {
    require(!r.has(1), ErrorCode::invalid_graph, "skip is given, norm_scale is missing");
    return r.input(0);
  }
  const ValueId scale =
      expect(r, r.input(2), "norm_scale", ValueId::none, {r.attributes().get_or<int64_t>("K", kAnyExtent)});
  if (!r.has(1)) {
    return r.add({.type = "SimplifiedLayerNormalization", .inputs = {r.input(0), scale}, .attributes = attributes});
  }
  const auto made = r.add_all({.type = "SkipSimplifiedLayerNormalization",
                               .inputs = {r.input(0), expect(r, r.input(1), "skip", r.input(0)), scale},
                               .attributes = attributes,
                               .domain = std::string(kOfMicrosoft),
                               .outputs = 4});
  if (r.output_used(sum)) r.replace_output(sum, made[3]);
  return made[0];
}

// The product with the weights of which input `first` is the first: codes, scales and an optional bias.
ValueId product(Rewriter& r, ValueId x, size_t first, const char* columns) {
  NodeSpec spec{.type = "MatMulNBits",
                .inputs = {x, r.input(first), r.input(first + 1)},
                .attributes = {{"N", r.attributes().get_or<int64_t>(columns, 0)}},
                .domain = std::string(kOfMicrosoft)};
  if (r.has(first + 2)) spec.inputs.insert(spec.inputs.end(), {ValueId::none, ValueId::none, r.input(first + 2)});
  for (const char* name : {"K", "accuracy_level", "bits", "block_size"}) {
    if (const Attribute* given = r.attributes().find(name)) spec.attributes.set(name, *given);
  }
  return r.add(std::move(spec));
}

void n_bits_mlp(Rewriter& r) {
  const auto activation = r.attributes().get_or<std::string>("activation", "");
  require(activation == "silu", ErrorCode::not_implemented, "activation \"{}\" is not silu", activation);
  const ValueId x = normalised(r, 1, 1e-5f);
  const ValueId gate = r.add({.type = "Swish", .inputs = {product(r, x, 3, "N")}});
  r.replace_output(0, r.add({.type = "Mul", .inputs = {gate, product(r, x, 6, "N")}}));
  r.remove();
}

void n_bits_qkv(Rewriter& r) {
  const ValueId x = normalised(r, 3, 1e-6f);
  for (const size_t i : {0, 1, 2}) r.replace_output(i, product(r, x, 3 + 3 * i, i == 0 ? "Nq" : "Nkv"));
  r.remove();
}

constexpr LiftRule kGatedRules[] = {{"SwiGLU", kAlways, swi_glu, kOfMicrosoft},
                                    {"RouterGateUpProj", kAlways, router_gate_up, kOfMicrosoft},
                                    {"MatMulNBitsMlp", kAlways, n_bits_mlp, kOfMicrosoft},
                                    {"MatMulNBitsQkv", kAlways, n_bits_qkv, kOfMicrosoft}};

}  // namespace

extern const LiftRules lift_gated_products;
constinit const LiftRules lift_gated_products{kGatedRules};

}  // namespace retort
