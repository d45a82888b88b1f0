#include "session/invocation.h"

#include "base/error.h"
#include "ep/cpu.h"
#include "ops/evaluate.h"

namespace retort {
namespace {

// The type of `value` without its extents, which may differ from call to call.
ValueType general_type(const Value& value, DimTable& dims) {
  if (const Tensor* t = value.tensor()) {
    Shape shape;
    for (size_t i = 0; i < t->shape().rank(); ++i) shape.push_back(dims.fresh_extent());
    return ValueType::tensor(t->dtype(), shape);
  }
  if (const Sequence* s = value.get<Sequence>()) return ValueType::sequence_of(ValueType::tensor(s->dtype));
  return {};
}

std::string key_of(std::span<const Value* const> inputs) {
  std::string key;
  for (const Value* v : inputs) {
    const Tensor* t = v ? v->tensor() : nullptr;
    key += t ? cat("{}:{},", dtype_name(t->dtype()), t->shape().rank()) : v ? "value," : "none,";
  }
  return key;
}

}  // namespace

Invocation::Invocation(std::string domain, std::string type, int version, Attributes attributes, size_t inputs,
                       size_t outputs)
    : domain_(domain == "ai.onnx" ? "" : std::move(domain)),
      type_(std::move(type)),
      version_(version),
      attributes_(std::move(attributes)),
      inputs_(inputs),
      outputs_(outputs) {
  require(has_operator(domain_, type_), ErrorCode::fail, "there is no operator {} to invoke", name());
}

std::shared_ptr<const Graph> Invocation::make_graph(std::span<const Value* const> inputs) const {
  Model model;
  Graph& g = *model.graph;
  std::vector<ValueId> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(inputs[i] ? g.add_value(cat("input{}", i), general_type(*inputs[i], g.dims())) : ValueId::none);
    g.inputs.push_back(given.back());
  }
  std::erase(g.inputs, ValueId::none);
  const NodeId id = g.add({.type = type_,
                           .inputs = given,
                           .attributes = attributes_,
                           .domain = domain_,
                           .outputs = outputs_,
                           .version = version_});
  g.outputs = g.node(id).outputs;
  lower_for_cpu(model, {.level = 0});
  (void)g.order();  // computes the order now, before several threads read it
  return model.graph;
}

std::shared_ptr<const Graph> Invocation::graph_for(std::span<const Value* const> inputs) const {
  const std::string key = key_of(inputs);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Graph>& graph = graphs_[key];
  if (!graph) graph = make_graph(inputs);
  return graph;
}

std::vector<Value> Invocation::run(std::span<const Value* const> inputs, const Parallel& parallel) const {
  require(inputs.size() == inputs_, ErrorCode::invalid_argument, "{} inputs are given to {}, which was made for {}",
          inputs.size(), name(), inputs_);
  const std::shared_ptr<const Graph> graph = graph_for(inputs);
  std::vector<Value> values(graph->value_count());
  for (size_t i = 0; i < values.size(); ++i) {
    if (const Tensor* t = graph->constant(ValueId(i))) values[i] = *t;
  }
  size_t next = 0;
  for (const Value* v : inputs) {
    if (v) values[size_t(graph->inputs[next++])] = *v;
  }
  for (const NodeId id : graph->order()) {
    const Node& node = graph->node(id);
    std::vector<const Value*> in;
    for (const ValueId v : node.inputs) in.push_back(v == ValueId::none ? nullptr : &values[size_t(v)]);
    std::vector<Value> out = evaluate(node, in, parallel);
    for (size_t i = 0; i < out.size(); ++i) {
      if (node.outputs[i] != ValueId::none) values[size_t(node.outputs[i])] = std::move(out[i]);
    }
  }
  std::vector<Value> results;
  for (const ValueId v : graph->outputs) results.push_back(values[size_t(v)]);
  return results;
}

}  // namespace retort
