// Graphs of one node for tests of the lift, and what became of them as text.
#pragma once
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "lift/lift.h"
#include "ops/op.h"

namespace retort::lift_testing {

inline std::string value_text(const Tensor& t) {
  std::string text;
  for (size_t i = 0; i < t.count(); ++i) {
    text += i ? "," : "";
    if (t.dtype() == DType::i64) text += std::to_string(t.data<int64_t>()[i]);
    if (t.dtype() == DType::f32) text += cat("{}", t.data<float>()[i]);
    if (t.dtype() == DType::f64) text += cat("{}", t.data<double>()[i]);
    if (t.dtype() == DType::boolean) text += t.data<bool>()[i] ? "true" : "false";
    if (t.dtype() == DType::string) text += "'" + t.data<std::string>()[i] + "'";
  }
  const char* suffix = t.dtype() == DType::i64   ? ""
                       : t.dtype() == DType::f32 ? "f"
                       : t.dtype() == DType::f64 ? "d"
                                                 : "";
  return (t.shape().empty() ? text : "[" + text + "]") + suffix;
}

inline std::string attribute_text(const Attribute& a) {
  if (const auto* v = std::get_if<int64_t>(&a)) return std::to_string(*v);
  if (const auto* v = std::get_if<float>(&a)) return cat("{}", *v);
  if (const auto* v = std::get_if<std::string>(&a)) return *v;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&a)) return to_string(*v);
  if (const auto* v = std::get_if<std::vector<std::string>>(&a)) return cat("{} strings", v->size());
  if (const auto* v = std::get_if<Tensor>(&a)) return value_text(*v);
  return "?";
}

// One line a node, constants by value, inner values numbered: "y = Squeeze(x, [0])".
inline std::string text(const Graph& g) {
  std::map<ValueId, std::string> names;
  std::string lines;
  const auto name = [&](ValueId id) -> std::string {
    if (id == ValueId::none) return "_";
    if (const Tensor* t = g.constant(id)) return value_text(*t);
    if (g.is_input(id) || g.is_output(id)) return g.value(id).name;
    return names.emplace(id, "%" + std::to_string(names.size())).first->second;
  };
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    for (size_t i = 0; i < n.outputs.size(); ++i) lines += (i ? ", " : "") + name(n.outputs[i]);
    lines += " = " + n.type + "(";
    for (size_t i = 0; i < n.inputs.size(); ++i) lines += (i ? ", " : "") + name(n.inputs[i]);
    lines += ")";
    for (const auto& [key, value] : n.attributes) lines += " " + key + "=" + attribute_text(value);
    lines += "\n";
  }
  for (ValueId out : g.outputs) {
    if (const Tensor* t = g.constant(out)) lines += g.value(out).name + " = " + value_text(*t) + "\n";
  }
  return lines;
}

struct Input {
  Input(ValueType t) : type(std::move(t)) {}   // NOLINT: implicit by design
  Input(Tensor t) : constant(std::move(t)) {}  // NOLINT: implicit by design
  ValueType type;
  Tensor constant;
  bool missing = false;
};
inline const Input kMissing = [] {
  Input none{ValueType{}};
  none.missing = true;
  return none;
}();
inline Input f32(Shape shape) { return ValueType::tensor(DType::f32, std::move(shape)); }
inline Input i64(Shape shape, const std::vector<int64_t>& v) { return Tensor::of<int64_t>(std::move(shape), v); }
inline Input floats(const std::vector<float>& v) { return Tensor::of<float>({int64_t(v.size())}, v); }

// A graph of one node: inputs x0, x1, … outputs y, y1, …
inline std::shared_ptr<Graph> graph_of(int opset, const char* type, const std::vector<Input>& inputs,
                                       Attributes attributes = {}, size_t outputs = 1, const char* domain = "") {
  auto g = std::make_shared<Graph>(std::make_shared<DimTable>());
  NodeSpec spec{.type = type,
                .attributes = std::move(attributes),
                .domain = domain,
                .name = "n",
                .outputs = outputs,
                .version = opset};
  for (const Input& in : inputs) {
    const std::string name = "x" + std::to_string(spec.inputs.size());
    if (in.missing) {
      spec.inputs.push_back(ValueId::none);
    } else if (in.constant) {
      spec.inputs.push_back(g->add_constant(name, in.constant));
    } else {
      spec.inputs.push_back(g->add_value(name, in.type));
      g->inputs.push_back(spec.inputs.back());
    }
  }
  const NodeId id = g->add(std::move(spec));
  for (size_t i = 0; i < outputs; ++i) {
    g->outputs.push_back(g->node(id).outputs[i]);
    g->value(g->outputs.back()).name = i ? "y" + std::to_string(i) : "y";
  }
  return g;
}

inline std::string lifted(int opset, const char* type, std::vector<Input> inputs, Attributes attributes = {},
                          size_t outputs = 1, const char* domain = "") {
  const auto g = graph_of(opset, type, std::move(inputs), std::move(attributes), outputs, domain);
  lift(*g);
  verify(*g);
  for (NodeId id : g->order()) EXPECT_TRUE(g->node(id).op) << g->node(id).type;
  return text(*g);
}

}  // namespace retort::lift_testing
