#include "lift/gradient/backward.h"

#include <algorithm>

#include "base/error.h"
#include "ir/describe.h"
#include "ops/op.h"

namespace retort::gradient {
namespace {

const GradientRule* find_rule(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const GradientRules* family : {&kElementwiseGradients, &kProductGradients, &kConvolutionGradients,
                                      &kReductionGradients, &kMovementGradients}) {
    for (const GradientRule& rule : *family) {
      if (rule.type == node.type) return &rule;
    }
  }
  return nullptr;
}

Tensor scalar(DType type, double value) {
  return type == DType::f64 ? Tensor::of<double>({}, {value}) : float_scalar(type, float(value));
}

Tensor vector_of_one(DType type, double value) { return scalar(type, value).reshaped({1}); }

}  // namespace

Term operator+(Term a, Term b) { return a.in->call("Add", {a, b}); }
Term operator-(Term a, Term b) { return a.in->call("Sub", {a, b}); }
Term operator*(Term a, Term b) { return a.in->call("Mul", {a, b}); }
Term operator/(Term a, Term b) { return a.in->call("Div", {a, b}); }
Term operator+(Term a, double b) { return a + a.in->number(b, a); }
Term operator-(Term a, double b) { return a - a.in->number(b, a); }
Term operator*(Term a, double b) { return a * a.in->number(b, a); }
Term operator/(Term a, double b) { return a / a.in->number(b, a); }
Term operator-(double a, Term b) { return b.in->number(a, b) - b; }

void Backward::run(ValueId y, std::span<const ValueId> xs, std::span<const NodeId> nodes) {
  find_active(xs, nodes);
  if (!active_.contains(y)) return;  // only integers depend on xs
  derivatives_[y] = filled(1, {this, y}).id;
  for (size_t i = nodes.size(); i-- > 0;) turn(nodes[i]);
}

ValueId Backward::derivative(ValueId x) {
  const auto found = derivatives_.find(x);
  return found == derivatives_.end() ? filled(0, {this, x}).id : found->second;
}

bool Backward::is_float(ValueId id) const {
  const ValueType& type = r_.graph().value(id).type;
  return type.is_tensor() && contains(kFloats, type.dtype);
}

void Backward::find_active(std::span<const ValueId> xs, std::span<const NodeId> nodes) {
  active_.insert(xs.begin(), xs.end());
  for (const NodeId id : nodes) {
    const Node& n = r_.graph().node(id);
    if (std::ranges::none_of(n.inputs, [&](ValueId in) { return active_.contains(in); })) continue;
    for (const ValueId out : n.outputs) {
      if (out != ValueId::none && is_float(out)) active_.insert(out);
    }
  }
}

void Backward::turn(NodeId id) {
  const Node& node = r_.graph().node(id);
  const auto is_reached = [&](ValueId out) { return derivatives_.contains(out); };
  const auto is_active = [&](ValueId in) { return active_.contains(in); };
  if (std::ranges::none_of(node.outputs, is_reached) || std::ranges::none_of(node.inputs, is_active)) return;
  node_ = node;
  const std::string name = describe(r_.graph(), node);
  const GradientRule* const rule = node.bodies.empty() ? find_rule(node) : nullptr;
  require(rule != nullptr, ErrorCode::not_implemented,
          "Gradient has no rule for {}{}{}, {}, between xs and y; compute y without it", node.domain,
          node.domain.empty() ? "" : ".", node.type, name);
  try {
    rule->apply(*this);
  } catch (Error& e) {
    e.add_context(cat("the gradient of {}", name));
    throw;
  }
}

Term Backward::dy(size_t i) {
  const auto found = i < node_.outputs.size() ? derivatives_.find(node_.outputs[i]) : derivatives_.end();
  return {this, found == derivatives_.end() ? ValueId::none : found->second};
}

void Backward::give(size_t i, Term part) {
  if (wants(i)) accumulate(node_.inputs[i], part.id);
}

void Backward::accumulate(ValueId id, ValueId part) {
  const auto [at, added] = derivatives_.try_emplace(id, part);
  if (!added) at->second = (Term{this, at->second} + Term{this, part}).id;
}

std::vector<Term> Backward::again(Term input) {
  NodeSpec spec{.type = node_.type, .inputs = node_.inputs, .attributes = node_.attributes};
  spec.inputs[0] = input.id;
  spec.outputs = node_.outputs.size();
  std::vector<Term> results;
  for (const ValueId id : r_.add_all(std::move(spec))) results.push_back({this, id});
  return results;
}

Term Backward::call(const char* type, const std::vector<Term>& inputs, Attributes attributes) {
  NodeSpec spec{.type = type, .attributes = std::move(attributes)};
  for (const Term& t : inputs) spec.inputs.push_back(t.id);
  return {this, r_.add(std::move(spec))};
}

Term Backward::number(double value, Term like) { return {this, r_.constant(scalar(type(like).dtype, value))}; }

size_t Backward::rank(Term t) const {
  require(type(t).ranked, ErrorCode::not_implemented, "the rank of '{}' must be known; declare its shape",
          r_.graph().value(t.id).name);
  return type(t).rank();
}

Term Backward::filled(double value, Term like) {
  return call("ConstantOfShape", {shape(like)}, {{"value", vector_of_one(type(like).dtype, value)}});
}

Term Backward::summed_to(Term t, Term like) {
  const size_t many = rank(t), few = rank(like), lead = many - few;
  const Shape from = type(t).shape, to = type(like).shape;
  std::vector<int64_t> axes;
  bool known = true;
  for (size_t d = 0; d < many; ++d) {
    const Dim wanted = d < lead ? 1 : to[d - lead];
    const bool same = d >= lead && (wanted == from[d] || (is_known(wanted) && wanted != 1));
    known = known && (same || is_known(wanted));
    if (!same) axes.push_back(int64_t(d));
  }
  if (axes.empty()) return t;
  Term which = ints(axes);
  if (!known) {  // an extent of `like` may be 1 or that of `t`
    const Term padded = call("Concat", {ints(std::vector<int64_t>(lead, 1)), shape(like)}, {{"axis", int64_t(0)}});
    const Term differs = call("Not", {call("Equal", {shape(t), padded})});
    which = call("Reshape", {call("NonZero", {differs}), ints({-1})});
  }
  const Term sum = call("ReduceSum", {t, which}, {{"noop_with_empty_axes", int64_t(1)}});
  return lead == 0 && known ? sum : reshaped(sum, shape(like));
}

}  // namespace retort::gradient
