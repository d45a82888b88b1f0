// Constant nodes become constants of the graph.
#include "base/error.h"
#include "lift/dense.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

template <typename T>
Tensor vector_of(const std::vector<T>& v) {
  return Tensor::of<T>({int64_t(v.size())}, v);
}

Tensor value_of(const Attributes& a) {
  if (const auto* v = a.get<Tensor>("value")) return *v;
  if (const auto* v = a.get<SparseTensor>("sparse_value")) return dense(*v);
  if (const auto* v = a.get<float>("value_float")) return Tensor::of<float>({}, {*v});
  if (const auto* v = a.get<int64_t>("value_int")) return Tensor::of<int64_t>({}, {*v});
  if (const auto* v = a.get<std::string>("value_string")) return Tensor::of<std::string>({}, {*v});
  if (const auto* v = a.get<std::vector<float>>("value_floats")) return vector_of(*v);
  if (const auto* v = a.get<std::vector<int64_t>>("value_ints")) return vector_of(*v);
  if (const auto* v = a.get<std::vector<std::string>>("value_strings")) return vector_of(*v);
  fail(ErrorCode::invalid_graph, "one of value, sparse_value, value_float(s), value_int(s), value_string(s) is needed");
}

void apply_constant(Rewriter& r) {
  Tensor value = value_of(r.attributes());
  require(r.node().outputs.size() == 1, ErrorCode::invalid_graph, "has {} outputs, expected 1",
          r.node().outputs.size());
  const ValueId out = r.node().outputs[0];
  if (out != ValueId::none) r.graph().make_constant(out, std::move(value));
  r.remove();
}

constexpr LiftRule kConstantRules[] = {{"Constant", kAlways, apply_constant}};

}  // namespace

extern const LiftRules lift_constant;
constinit const LiftRules lift_constant{kConstantRules};

}  // namespace retort
