// FlexAttention of ai.onnx.preview becomes the Attention of ai.onnx. If bodies change the scores or the weights, it
// becomes the products and the Softmax of which attention consists, with the nodes of the bodies between them.
#include <cmath>
#include <map>

#include "base/error.h"
#include "lift/lift.h"
#include "lift/rewriter.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

ValueId as_type(Rewriter& r, ValueId x, DType to) { return r.type_of(x).dtype == to ? x : cast(r, x, to); }

/// Copies the nodes of a body into the outer graph.
class Splice {
 public:
  Splice(Rewriter& r, const Body& body) : r_(r), inner_(*body.graph) {
    const Node& node = r.node();
    require(inner_.inputs.size() == 1 + node.captures && inner_.outputs.size() == 1, ErrorCode::invalid_graph,
            "{} has {} inputs and {} outputs, expected one of each", body.attribute,
            inner_.inputs.size() - std::min<size_t>(node.captures, inner_.inputs.size()), inner_.outputs.size());
    const size_t own = node.inputs.size() - node.captures;
    for (size_t i = 0; i < node.captures; ++i) enter(inner_.inputs[1 + i], node.inputs[own + i]);
  }
  /// The result of the body for input x.
  ValueId apply(ValueId x) {
    enter(inner_.inputs[0], x);
    lift(inner_);
    for (const NodeId id : inner_.order()) add(inner_.node(id));
    return outer(inner_.outputs[0]);
  }

 private:
  void enter(ValueId inner, ValueId outer) {
    outer_[inner] = outer;
    if (outer != ValueId::none) inner_.value(inner).type = r_.graph().value(outer).type;
  }
  ValueId outer(ValueId inner) {
    if (inner == ValueId::none) return inner;
    const auto found = outer_.find(inner);
    if (found != outer_.end()) return found->second;
    const Tensor* constant = inner_.constant(inner);
    require(constant, ErrorCode::invalid_graph, "'{}' has no producer", inner_.value(inner).name);
    return outer_[inner] = r_.constant(*constant);
  }
  void add(Node node) {
    for (ValueId& in : node.inputs) in = outer(in);
    for (ValueId& out : node.outputs) {
      if (out == ValueId::none) continue;
      const ValueId made = r_.graph().add_value(r_.graph().unique_name(node.type));
      outer_[out] = made;
      out = made;
    }
    node.position = r_.node().position;
    const NodeId added = r_.graph().add_node(std::move(node));
    infer_node(r_.graph(), r_.graph().node(added));
  }

  Rewriter& r_;
  Graph& inner_;
  std::map<ValueId, ValueId> outer_;
};

const Body* find_body(Rewriter& r, std::string_view name) {
  for (const Body& b : r.node().bodies) {
    if (b.attribute == name) return &b;
  }
  return nullptr;
}

// K or V, with heads repeated so that there is one for each head of Q.
ValueId spread_heads(Rewriter& r, size_t i) {
  const Dim wanted = r.type(0).shape[1], heads = r.type(i).shape[1], size = r.type(i).shape[3];
  if (wanted == heads) return r.input(i);
  require(is_known(wanted) && is_known(heads) && is_known(size), ErrorCode::not_implemented,
          "the numbers of heads must be known");
  require(heads > 0 && wanted % heads == 0, ErrorCode::invalid_argument, "{} heads of Q, {} of input {}", wanted, heads,
          i);
  const ValueId apart = r.add({.type = "Unsqueeze", .inputs = {r.input(i), r.constant(Ints{2})}});
  const ValueId all = r.add({.type = "Expand", .inputs = {apart, r.constant(Ints{1, 1, wanted / heads, 1, 1})}});
  return r.add({.type = "Reshape", .inputs = {all, r.constant(Ints{0, wanted, -1, size})}});
}

void apply_products(Rewriter& r) {
  const DType type = r.type(0).dtype, usual = type == DType::f64 ? DType::f64 : DType::f32;
  const auto precision = DType(r.attributes().get_or<int64_t>("softmax_precision", int64_t(usual)));
  require(is_float(precision), ErrorCode::invalid_argument, "softmax_precision is {}, expected that of a float type",
          int64_t(precision));
  const Dim size = r.type(0).shape[3];
  float scale = r.attributes().get_or<float>("scale", 0);
  if (!r.attributes().find("scale")) {
    require(is_known(size), ErrorCode::not_implemented, "the size of the heads must be known");
    scale = float(1 / std::sqrt(double(std::max<Dim>(size, 1))));
  }
  const ValueId keys = transpose(r, as_type(r, spread_heads(r, 1), precision), {0, 1, 3, 2});
  const ValueId products = r.add({.type = "MatMul", .inputs = {as_type(r, r.input(0), precision), keys}});
  ValueId x = r.add({.type = "Mul", .inputs = {products, r.constant(float_scalar(precision, scale))}});
  if (const Body* body = find_body(r, "score_mod")) x = Splice(r, *body).apply(x);
  x = r.add({.type = "Softmax", .inputs = {x}, .attributes = {{"axis", int64_t(-1)}}});
  if (const Body* body = find_body(r, "prob_mod")) x = Splice(r, *body).apply(x);
  r.replace_output(0, r.add({.type = "MatMul", .inputs = {as_type(r, x, type), spread_heads(r, 2)}}));
  r.remove();
}

void apply_flex_attention(Rewriter& r) {
  for (const size_t i : {0, 1, 2})
    require(r.rank(i, "FlexAttention") == 4, ErrorCode::invalid_argument, "input {} has {} axes, expected 4", i,
            r.type(i).rank());
  if (!r.node().bodies.empty()) return apply_products(r);
  Attributes a;
  if (const Attribute* scale = r.attributes().find("scale")) a.set("scale", *scale);
  r.replace_output(0, r.add({.type = "Attention", .inputs = {r.input(0), r.input(1), r.input(2)}, .attributes = a}));
  r.remove();
}

constexpr LiftRule kFlexRules[] = {{"FlexAttention", kAlways, apply_flex_attention, "ai.onnx.preview"}};

}  // namespace

extern const LiftRules lift_flex_attention;
constinit const LiftRules lift_flex_attention{kFlexRules};

}  // namespace retort
