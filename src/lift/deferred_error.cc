#include "lift/deferred_error.h"

#include <algorithm>

#include "ops/external.h"

namespace retort {
namespace {

class FailingOp : public ExternalOp {
 public:
  FailingOp(const Node& node, std::vector<DType> outputs, const Error& error)
      : domain_(node.domain), type_(node.type), version_(node.version), outputs_(std::move(outputs)), error_(error) {}
  std::string domain() const override { return domain_; }
  std::string type() const override { return type_; }
  bool covers(int) const override { return true; }
  int first_version() const override { return version_; }
  void infer(const ExternalNode&, InferContext& context) const override {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] != DType::undefined) context.set(i, outputs_[i]);
    }
  }
  std::unique_ptr<State> prepare(const ExternalNode&, PrepareContext&) const override { return nullptr; }
  void run(const ExternalNode&, RunContext&) const override { throw Error(error_.code(), error_.message()); }

 private:
  const std::string domain_, type_;
  const int version_;
  const std::vector<DType> outputs_;
  const Error error_;
};

/// "T" of the formal parameter `i`, which reads "name: T", "name: T?" or, for all that follow, "name: T...".
std::string_view constraint(std::span<const Formal> list, size_t i) {
  const auto formals = given(list);
  if (formals.empty()) return "";
  const std::string_view formal = formals[std::min(i, formals.size() - 1)].text();
  const size_t colon = formal.find(": ");
  if (colon == formal.npos) return "";
  const std::string_view name = formal.substr(colon + 2);
  return name.substr(0, name.find_first_of("?."));
}

/// The element type of output `i`: declared, or that of an input of the same constraint.
DType output_type(const Graph& graph, const Node& node, size_t i) {
  const ValueId out = node.outputs[i];
  if (out == ValueId::none) return DType::undefined;
  const ValueType& declared = graph.value(out).type;
  if (declared.is_tensor() && declared.dtype != DType::undefined) return declared.dtype;
  const std::string_view wanted = constraint(node.op->info.outputs, i);
  for (size_t k = 0; k < node.inputs.size() - node.captures; ++k) {
    const bool same = !wanted.empty() && constraint(node.op->info.inputs, k) == wanted;
    if (!same || node.inputs[k] == ValueId::none) continue;
    const ValueType& type = graph.value(node.inputs[k]).type;
    if (type.is_tensor()) return type.dtype;
  }
  return DType::undefined;
}

}  // namespace

void defer_error(Graph& graph, Node& node, const Error& error) {
  std::vector<DType> types;
  for (size_t i = 0; i < node.outputs.size(); ++i) types.push_back(output_type(graph, node, i));
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != DType::undefined) graph.value(node.outputs[i]).type = ValueType::tensor(types[i]);
  }
  resolve_external(graph, node, std::make_shared<FailingOp>(node, std::move(types), error));
}

}  // namespace retort
