#include <algorithm>

#include "base/error.h"
#include "base/loading.h"
#include "ir/describe.h"
#include "onnx/operator_facts.h"
#include "onnx/schema.h"
#include "onnx/write_context.h"
#include "ort_format/fill.h"

namespace retort::ort_format {
namespace {

using onnx::AttributeKind;
using Names = onnx::Names;

constexpr uint32_t kNowhere = ~0u;

std::vector<std::string> names_of(const Names& names, std::span<const ValueId> ids) {
  std::vector<std::string> all;
  for (const ValueId id : ids) all.push_back(names.of(id));
  return all;
}

/// Calls f(type name, side, index) for each port of a text like "T:i0,v1,o0;B:o1".
template <typename F>
void each_port(std::string_view types, F&& f) {
  std::string_view name;
  for (size_t at = 0; at < types.size();) {
    const size_t end = std::min(types.find_first_of(":,;", at), types.size());
    const std::string_view word = types.substr(at, end - at);
    if (end < types.size() && types[end] == ':')
      name = word;
    else
      f(name, word.at(0), uint32_t(std::stoul(std::string(word.substr(1)))));
    at = end + 1;
  }
}

/// The number of inputs per formal input: a variadic last one takes all that remain.
std::vector<int32_t> input_counts(std::string_view types, size_t inputs) {
  size_t formal = 0, variadic = kNowhere;
  each_port(types, [&](std::string_view, char side, uint32_t index) {
    if (side == 'o') return;
    formal = std::max<size_t>(formal, index + 1);
    if (side == 'v') variadic = index;
  });
  std::vector<int32_t> counts(std::max(formal, variadic == kNowhere ? inputs : formal));
  for (size_t i = 0; i < inputs; ++i) ++counts[std::min(i, variadic)];
  return counts;
}

/// The types of a caller's custom operator: ONNX Runtime names them by their ports.
std::string port_types(size_t inputs, size_t outputs) {
  std::string types;
  for (size_t i = 0; i < inputs; ++i) types += cat("Input{0}:i{0};", i);
  for (size_t i = 0; i < outputs; ++i) types += cat("Output{0}:o{0};", i);
  return types;
}

struct AttributeWriter {
  Fill& fill;
  const Node& node;
  const Graph& graph;
  At<flatbuffers::String> name;

  At<fbs::Attribute> operator()(int64_t v) const {
    return fbs::CreateAttribute(fill.builder, name, int(AttributeKind::i), 0, v);
  }
  At<fbs::Attribute> operator()(float v) const {
    return fbs::CreateAttribute(fill.builder, name, int(AttributeKind::f), v);
  }
  At<fbs::Attribute> operator()(const std::string& v) const {
    const auto text = fill.text(v);
    return made(AttributeKind::s, [&](auto& a) { a.add_s(text); });
  }
  At<fbs::Attribute> operator()(const std::vector<int64_t>& v) const {
    const auto list = fill.list(v);
    return made(AttributeKind::ints, [&](auto& a) { a.add_ints(list); });
  }
  At<fbs::Attribute> operator()(const std::vector<float>& v) const {
    const auto list = fill.list(v);
    return made(AttributeKind::floats, [&](auto& a) { a.add_floats(list); });
  }
  At<fbs::Attribute> operator()(const std::vector<std::string>& v) const {
    const auto list = fill.texts(v);
    return made(AttributeKind::strings, [&](auto& a) { a.add_strings(list); });
  }
  At<fbs::Attribute> operator()(const Tensor& v) const {
    const auto tensor = fill.tensor(v, "");
    return made(AttributeKind::tensor, [&](auto& a) { a.add_t(tensor); });
  }
  At<fbs::Attribute> operator()(const std::vector<Tensor>& v) const {
    std::vector<At<fbs::Tensor>> all;
    for (const Tensor& t : v) all.push_back(fill.tensor(t, ""));
    const auto list = fill.list(all);
    return made(AttributeKind::tensors, [&](auto& a) { a.add_tensors(list); });
  }
  template <typename T>
  At<fbs::Attribute> operator()(const T& v) const {
    fail(ErrorCode::not_implemented, "{}: ORT format has no attributes of kind {}; save the model as ONNX",
         describe(graph, node), attribute_kind(v));
  }
  template <typename F>
  At<fbs::Attribute> made(AttributeKind kind, F&& value) const {
    fbs::AttributeBuilder a(fill.builder);
    a.add_name(name);
    a.add_type(int(kind));
    value(a);
    return a.Finish();
  }
};

/// Whether anything makes, reads or returns the value; a body has entries for its captures.
bool is_met(const GraphValue& v) { return v.producer != NodeId::none || !v.uses.empty(); }

/// Whether an output of a node is written as an omitted one: no type was inferred because no node reads it.
bool is_left_out(const Graph& graph, ValueId id) {
  if (id == ValueId::none) return false;
  const GraphValue& v = graph.value(id);
  return v.type.kind == ValueType::Kind::unknown && !v.is_constant() && v.producer != NodeId::none && v.uses.empty() &&
         !graph.is_output(id);
}

}  // namespace

TablesAt<fbs::Tensor> GraphWriter::constants(const Graph& graph, const Names& names) {
  std::vector<At<fbs::Tensor>> all;
  onnx::for_each_constant(graph, [&](ValueId id, const Tensor& t) { all.push_back(fill_.tensor(t, names.of(id))); });
  return fill_.list(all);
}

TablesAt<fbs::ValueInfo> GraphWriter::values(const Graph& graph, const Names& names) {
  std::vector<bool> port(graph.value_count());
  for (const auto* ports : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *ports) port[size_t(id)] = true;
  }
  bool omits = false;
  for (const NodeId id : graph.order()) {
    const auto none = [](const auto& ids) { return std::find(ids.begin(), ids.end(), ValueId::none) != ids.end(); };
    const auto& outputs = graph.node(id).outputs;
    omits |= none(graph.node(id).inputs) || none(outputs) ||
             std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return is_left_out(graph, v); });
  }
  std::vector<At<fbs::ValueInfo>> all;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const GraphValue& v = graph.value(ValueId(i));
    ValueType type = v.type;
    if (type.kind == ValueType::Kind::unknown && v.is_constant())
      type = ValueType::tensor(v.constant.dtype(), v.constant.shape());
    if (!(port[i] || is_met(v)) || is_left_out(graph, ValueId(i))) continue;
    check_loading();
    const std::string& name = names.of(ValueId(i));
    require(type.kind != ValueType::Kind::unknown, ErrorCode::not_implemented,
            "the type of value '{}' is not known, but ORT format needs all types; add it to the model's value_info",
            name);
    try {
      const auto told = fill_.type(graph.dims(), type);
      all.push_back(fbs::CreateValueInfo(fill_.builder, fill_.text(name), told));
    } catch (Error& error) {
      error.add_context(cat("value '{}' {}", name, type_text(graph, type)));
      throw;
    }
  }
  // An omitted input or output refers to this value, which ONNX Runtime treats as a value without a type.
  if (omits) all.push_back(fbs::CreateValueInfo(fill_.builder, fill_.text("")));
  return fill_.list(all);
}

TablesAt<fbs::Attribute> GraphWriter::attributes(const Graph& graph, const Names& names, const Node& n) {
  std::vector<At<fbs::Attribute>> all;
  for (const auto& [name, value] : n.attributes)
    all.push_back(std::visit(AttributeWriter{fill_, n, graph, fill_.text(name)}, value));
  const auto captured = names_of(names, std::span(n.inputs).last(n.captures));
  for (const Body& b : n.bodies) {
    const AttributeWriter write{fill_, n, graph, fill_.text(b.attribute)};
    const auto body = this->graph(*b.graph, Names(*b.graph, &names, captured));
    all.push_back(write.made(AttributeKind::graph, [&](auto& a) { a.add_g(body); }));
  }
  return fill_.list(all);
}

At<fbs::Node> GraphWriter::node(const Graph& graph, const Names& names, const Node& n, uint32_t index,
                                const std::string& called) {
  require(!n.is("Constant"), ErrorCode::invalid_argument, "{} is not a constant of its graph yet", describe(graph, n));
  const auto imported = opsets_.find(n.domain);
  const int opset = imported != opsets_.end() && (n.op || n.version == 0) ? imported->second : n.version;
  const onnx::OperatorForm* form = onnx::operator_form(n.domain, n.type, opset);
  const int since = form ? form->since : std::max(n.version, 1);
  const size_t own = n.inputs.size() - n.captures;
  const std::string types = form ? std::string(form->types) : port_types(own, n.outputs.size());
  std::string& known = used_[cat("{}:{}:{}", n.domain, n.type, since)];
  if (known.size() < types.size()) known = types;
  const std::span all(n.inputs);
  const auto inputs = fill_.texts(names_of(names, all.first(own)));
  const auto implicit = fill_.texts(names_of(names, all.last(n.captures)));
  std::vector<std::string> made = names_of(names, n.outputs);
  for (size_t i = 0; i < made.size(); ++i) {
    if (is_left_out(graph, n.outputs[i])) made[i].clear();
  }
  const auto outputs = fill_.texts(made);
  const auto attributes = this->attributes(graph, names, n);
  const auto counts = fill_.list(input_counts(types, own));
  const auto name = fill_.text(called), domain = fill_.text(n.domain), type = fill_.text(n.type);
  return fbs::CreateNode(fill_.builder, name, domain, since, index, type, 0, inputs, outputs, attributes, counts,
                         implicit);
}

At<fbs::NodeEdges> GraphWriter::edges(const Graph& graph, const Node& n, const std::vector<uint32_t>& places) {
  std::vector<fbs::EdgeEnd> from, to;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == ValueId::none) continue;
    const GraphValue& v = graph.value(n.inputs[i]);
    if (v.producer != NodeId::none) from.emplace_back(places[size_t(v.producer)], int(v.producer_slot), int(i));
  }
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == ValueId::none) continue;
    for (const Use& use : graph.value(n.outputs[i]).uses)
      to.emplace_back(places[size_t(use.node)], int(i), int(use.slot));
  }
  fill_.room((from.size() + to.size()) * sizeof(fbs::EdgeEnd));
  const auto ends = [&](const std::vector<fbs::EdgeEnd>& all) { return fill_.builder.CreateVectorOfStructs(all); };
  const auto first = ends(from), second = ends(to);
  return fbs::CreateNodeEdges(fill_.builder, places[size_t(n.id)], first, second);
}

At<fbs::Graph> GraphWriter::graph(const Graph& graph, const Names& names) {
  std::vector<uint32_t> places(graph.node_count(), kNowhere);
  uint32_t count = 0;
  for (const NodeId id : graph.order()) places[size_t(id)] = count++;
  std::vector<At<fbs::Node>> nodes;
  std::vector<At<fbs::NodeEdges>> edges;
  // Fused nodes inherit the same name, but names in a file must be unique.
  const LoadingScratch taken(std::make_shared<std::set<std::string>>());
  for (const NodeId id : graph.order()) {
    check_loading();
    const std::string& called = graph.node(id).name;
    std::string name = called;
    for (size_t i = 1; !name.empty() && !taken->insert(name).second; ++i) name = cat("{}#{}", called, i);
    nodes.push_back(node(graph, names, graph.node(id), places[size_t(id)], name));
    edges.push_back(this->edges(graph, graph.node(id), places));
  }
  const auto constants = this->constants(graph, names);
  const auto values = this->values(graph, names);
  const auto inputs = fill_.texts(names_of(names, std::span(graph.inputs).first(graph.inputs.size() - graph.captures)));
  const auto outputs = fill_.texts(names_of(names, graph.outputs));
  const auto all_nodes = fill_.list(nodes);
  const auto all_edges = fill_.unread(edges);
  const auto sparse = fill_.list(std::vector<At<fbs::SparseTensor>>());
  return fbs::CreateGraph(fill_.builder, constants, values, all_nodes, count, all_edges, inputs, outputs, sparse);
}

At<fbs::KernelTypes> GraphWriter::kernel_types() {
  std::vector<At<fbs::OperatorTypes>> operators;
  for (const auto& [name, types] : used_) {
    std::map<std::string_view, std::vector<At<fbs::Port>>> by_type;
    each_port(types, [&](std::string_view type, char side, uint32_t index) {
      by_type[type].push_back(fbs::CreatePort(fill_.builder, side == 'o', index));
    });
    std::vector<At<fbs::PortType>> all;
    for (const auto& [type, ports] : by_type) {
      const auto text = fill_.text(type);
      all.push_back(fbs::CreatePortType(fill_.builder, text, fill_.list(ports)));
    }
    const auto text = fill_.text(name);
    operators.push_back(fbs::CreateOperatorTypes(fill_.builder, text, fill_.list(all)));
  }
  return fbs::CreateKernelTypes(fill_.builder, fill_.unread(operators));
}

}  // namespace retort::ort_format
