#include "onnx/read_graph.h"

#include <algorithm>

#include "base/advice.h"
#include "base/checked.h"
#include "base/loading.h"
#include "ir/defaults.h"
#include "ir/describe.h"

namespace retort::onnx {
namespace {

struct Info {
  std::string_view name;
  std::optional<Message> type;
};

Info read_info(ReadContext& c, Message m) {
  Info info;
  while (m.next()) {
    if (m.field() == tag::value_info::name) info.name = c.text(m);
    if (m.field() == tag::value_info::type) info.type = m.child("TypeProto");
  }
  return info;
}

/// Whether a tensor may have the declared type `type`.
bool fits(const ValueType& type, const Tensor& tensor) {
  if (type.kind == ValueType::Kind::unknown) return true;
  if (!type.is_tensor() || type.dtype != tensor.dtype()) return false;
  if (!type.ranked) return true;
  return std::equal(type.shape.begin(), type.shape.end(), tensor.shape().begin(), tensor.shape().end(),
                    [](Dim declared, int64_t extent) { return is_symbolic(declared) || declared == extent; });
}

}  // namespace

/// The fields of a GraphProto in the order in which they are needed.
struct Scope::Parts {
  std::vector<Message> nodes, initializers, sparse, inputs, outputs, infos;
};

Scope::Parts Scope::collect(Message m) {
  Parts p;
  const auto entry = [&](std::vector<Message>& to, const char* what) {
    c_.count_entry();
    to.push_back(m.child(what));
  };
  while (m.next()) {
    switch (m.field()) {
      case tag::graph::node:
        c_.count_node();
        p.nodes.push_back(m.child("NodeProto"));
        break;
      case tag::graph::name:
        graph_.name = c_.text(m);
        break;
      case tag::graph::initializer:
        entry(p.initializers, "TensorProto");
        break;
      case tag::graph::sparse_initializer:
        entry(p.sparse, "SparseTensorProto");
        break;
      case tag::graph::doc:
        graph_.doc = c_.text(m);
        break;
      case tag::graph::input:
        entry(p.inputs, "ValueInfoProto");
        break;
      case tag::graph::output:
        entry(p.outputs, "ValueInfoProto");
        break;
      case tag::graph::value_info:
        entry(p.infos, "ValueInfoProto");
        break;
    }
  }
  return p;
}

void Scope::read_graph(Message m) {
  const Parts p = collect(m);
  names_.reserve(p.nodes.size() + p.initializers.size() + p.inputs.size());
  for (const Message& input : p.inputs) read_input(input);
  read_initializers(p);
  demote_inputs();
  first_output_ = graph_.value_count();
  for (const Message& node : p.nodes) declare_outputs(node);
  for (const Message& info : p.infos) read_value_type(info);
  for (const Message& output : p.outputs) read_value_type(output);
  read_nodes(p.nodes);
  for (const Message& output : p.outputs) add_output(read_info(c_, output).name);
}

void Scope::read_function(Message m) {
  std::vector<Message> nodes, infos;
  std::vector<std::string_view> outputs;
  while (m.next()) {
    switch (m.field()) {
      case tag::function::input:
        graph_.inputs.push_back(declare(c_.text(m), "function input"));
        break;
      case tag::function::output:
        outputs.push_back(c_.text(m));
        break;
      case tag::function::node:
        c_.count_node();
        nodes.push_back(m.child("NodeProto"));
        break;
      case tag::function::value_info:
        c_.count_entry();
        infos.push_back(m.child("ValueInfoProto"));
        break;
    }
  }
  for (const Message& node : nodes) declare_outputs(node);
  for (const Message& info : infos) read_value_type(info);
  read_nodes(nodes);
  for (std::string_view name : outputs) add_output(name);
}

ValueId Scope::add_value(std::string_view name, ValueType type) {
  c_.count_entry(name.size());
  return graph_.add_value(std::string(name), std::move(type));
}

ValueId Scope::declare(std::string_view name, const char* role) {
  require(!name.empty(), ErrorCode::invalid_graph, "a {} has no name", role);
  const auto [at, added] = names_.try_emplace(name, ValueId::none);
  require(added, ErrorCode::invalid_graph,
          "the name '{}' of a {} is already in use: there are two definitions of it; rename one", name, role);
  return at->second = add_value(name);
}

void Scope::read_input(Message m) {
  const Info info = read_info(c_, m);
  const ValueId id = declare(info.name, "graph input");
  in_context([&] { return cat("graph input '{}'", info.name); },
             [&] {
               if (info.type) graph_.value(id).type = read_type(c_, *info.type);
               require(kind_ != Kind::main || graph_.value(id).type.kind != ValueType::Kind::unknown,
                       ErrorCode::invalid_graph, "it has no type; declare one");
             });
  graph_.inputs.push_back(id);
}

void Scope::read_initializers(const Parts& p) {
  std::string_view name;
  for (const Message& m : p.initializers) {
    check_loading();
    Tensor tensor = read_tensor(c_, m, &name);
    add_initializer(name, std::move(tensor));
  }
  for (const Message& m : p.sparse) {
    const SparseTensor sparse = read_sparse(c_, m, &name);
    in_context([&] { return cat("sparse tensor '{}'", name); }, [&] { add_initializer(name, densify(c_, sparse)); });
  }
}

// Of several initializers with one name, the last one counts, as for ONNX Runtime.
void Scope::add_initializer(std::string_view name, Tensor tensor) {
  if (name.empty()) return c_.note("an initializer has no name, so no node reads it; remove it");
  const auto [at, added] = names_.try_emplace(name, ValueId::none);
  if (added) at->second = add_value(name);
  GraphValue& v = graph_.value(at->second);
  if (size_t(at->second) >= graph_.inputs.size()) {
    v.type = ValueType::tensor(tensor.dtype(), tensor.shape());
    v.constant = std::move(tensor);
    return;
  }
  if (!fits(v.type, tensor))
    fail(ErrorCode::invalid_graph, "initializer '{}' is {}{}, but the input of that name {}; make the types equal",
         name, dtype_name(tensor.dtype()), to_string(tensor.shape()), type_text(graph_, v.type));
  graph_.defaults[at->second] = std::move(tensor);
}

// From IR version 4, an initializer that is also an input is a default that the caller may override; before, this was
// the only way to write a constant. Inputs of bodies cannot be overridden.
void Scope::demote_inputs() {
  if (kind_ == Kind::main && c_.model.ir_version >= 4) return;
  if (kind_ == Kind::main && !graph_.defaults.empty()) {
    for (const ValueId id : graph_.inputs) c_.model.declared_inputs.push_back(graph_.value(id).name);
  }
  make_defaults_constant(graph_);
}

void Scope::declare_outputs(Message node) {
  check_loading();
  while (node.next()) {
    if (node.field() == tag::node::output && !node.bytes().empty()) declare(c_.text(node), "node output");
  }
}

/// Reads the type that the file gives for the output of a node; inputs and constants already have types.
void Scope::read_value_type(Message m) {
  check_loading();
  const Info info = read_info(c_, m);
  const auto found = names_.find(info.name);
  if (found == names_.end() || !info.type || size_t(found->second) < first_output_) return;
  in_context([&] { return cat("value '{}'", info.name); },
             [&] { graph_.value(found->second).type = read_type(c_, *info.type); });
}

void Scope::add_output(std::string_view name) {
  const ValueId id = name.empty() ? ValueId::none : find(name);
  if (id == ValueId::none)
    fail(ErrorCode::invalid_graph, "graph output '{}' is neither the output of a node nor an input or initializer; {}",
         name, correction(name));
  graph_.outputs.push_back(id);
}

ValueId Scope::resolve(std::string_view name, const char* role) {
  if (name.empty()) return ValueId::none;
  const ValueId id = find(name);
  if (id == ValueId::none)
    fail(ErrorCode::invalid_graph, "{} '{}' is not a graph input, an initializer or the output of a node; {}", role,
         name, correction(name));
  return id;
}

std::string Scope::correction(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& [known, id] : names_) names.push_back(known);
  const std::string_view near = nearest(name, names);
  return near.empty() ? "add the node that produces it, or correct the name"
                      : cat("use '{}', or add the node that produces it", near);
}

ValueId Scope::find(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  const ValueId outer = outer_ ? outer_->find(name) : ValueId::none;
  return outer == ValueId::none ? ValueId::none : capture(name, outer);
}

ValueId Scope::capture(std::string_view name, ValueId outer) {
  const uint32_t index = captures_->index_of(outer);
  if (captured_.size() <= index) captured_.resize(index + 1, ValueId::none);
  captured_[index] = add_value(name, outer_->graph_.value(outer).type);
  names_.emplace(name, captured_[index]);
  return captured_[index];
}

void Scope::add_capture_inputs() {
  const std::vector<ValueId>& all = captures_->outer();
  captured_.resize(all.size(), ValueId::none);
  for (size_t i = 0; i < all.size(); ++i) {
    const GraphValue& v = outer_->graph_.value(all[i]);
    if (captured_[i] == ValueId::none) captured_[i] = add_value(v.name, v.type);
    graph_.inputs.push_back(captured_[i]);
  }
  graph_.captures = uint32_t(all.size());
}

}  // namespace retort::onnx
