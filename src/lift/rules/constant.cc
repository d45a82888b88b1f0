// Constant nodes become constants of the graph, in all the forms that the attribute may take.
#include "base/error.h"
#include "lift/lift.h"

namespace retort {
namespace {

constexpr int kAlways = 1 << 20;

template <typename T>
Tensor vector_of(const std::vector<T>& v) {
  return Tensor::of<T>({int64_t(v.size())}, v);
}

Tensor value_of(const Node& node) {
  const Attributes& a = node.attributes;
  if (const auto* v = a.get<Tensor>("value")) return *v;
  if (const auto* v = a.get<float>("value_float")) return Tensor::of<float>({}, {*v});
  if (const auto* v = a.get<int64_t>("value_int")) return Tensor::of<int64_t>({}, {*v});
  if (const auto* v = a.get<std::string>("value_string")) return Tensor::of<std::string>({}, {*v});
  if (const auto* v = a.get<std::vector<float>>("value_floats")) return vector_of(*v);
  if (const auto* v = a.get<std::vector<int64_t>>("value_ints")) return vector_of(*v);
  if (const auto* v = a.get<std::vector<std::string>>("value_strings")) return vector_of(*v);
  fail(ErrorCode::invalid_graph, "a Constant needs one of value, value_float(s), value_int(s), value_string(s)");
}

void apply(Graph& g, NodeId n) {
  if (g.node(n).attributes.get<SparseTensor>("sparse_value")) return;  // an operator of its own
  Tensor value = value_of(g.node(n));
  const ValueId out = g.node(n).outputs[0];
  g.make_constant(out, std::move(value));
  g.remove(n);
}
constexpr LiftRule kRules[] = {{"Constant", kAlways, apply}};

}  // namespace

extern const LiftRules lift_constant;
constinit const LiftRules lift_constant{kRules, std::size(kRules)};

}  // namespace retort
