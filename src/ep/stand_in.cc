#include "ep/stand_in.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ep/cpu.h"
#include "ep/partition.h"
#include "ops/external.h"

namespace retort {
namespace {

/// An operator that only its provider can run; it exists to be saved.
class StandInOp : public ExternalOp {
 public:
  StandInOp(std::string domain, std::string type, std::vector<ValueType> outputs)
      : domain_(std::move(domain)), type_(std::move(type)), outputs_(std::move(outputs)) {}
  std::string domain() const override { return domain_; }
  std::string type() const override { return type_; }
  bool covers(int) const override { return true; }
  void infer(const ExternalNode&, InferContext& context) const override {
    for (size_t i = 0; i < outputs_.size(); ++i) context.set(i, outputs_[i]);
  }
  std::unique_ptr<State> prepare(const ExternalNode&, PrepareContext&) const override { return nullptr; }
  void run(const ExternalNode& node, RunContext&) const override {
    fail(ErrorCode::ep_fail, "node '{}' ({}) can be saved, but not run", node.name, node.type);
  }

 private:
  const std::string domain_, type_;
  const std::vector<ValueType> outputs_;
};

/// Works on one graph: the model's, or a body.
class Putter {
 public:
  explicit Putter(Graph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.value_count(); ++i) {
      const GraphValue& v = graph.value(ValueId(i));
      if (v.producer != NodeId::none || v.is_constant() || graph.is_input(ValueId(i))) values_[v.name] = ValueId(i);
    }
  }

  /// Replaces the part's node by its stand-in.
  void put(const Assignment& part) {
    const StandIn& made = *part.stand_in;
    const Part p(part, graph_.node(part.node));
    Node node;
    node.domain = made.domain;
    node.type = made.type;
    node.name = made.name;
    node.version = 1;
    node.attributes = made.attributes;
    node.position = graph_.node(part.node).position;
    for (const std::string& name : made.inputs) node.inputs.push_back(input(p, name));
    std::vector<ValueType> types;
    std::vector<std::pair<ValueId, ValueId>> now;
    for (size_t i = 0; i < made.outputs.size(); ++i) {
      types.push_back(type_made(p, made.outputs, i));
      node.outputs.push_back(made.outputs[i].empty() ? ValueId::none : add(made.outputs[i], types.back()));
      if (p.outputs.contains(made.outputs[i])) now.emplace_back(p.outputs.at(made.outputs[i]), node.outputs.back());
    }
    const NodeId id = graph_.add_node(std::move(node));
    replace(p, now);
    resolve_external(graph_, graph_.node(id), std::make_shared<StandInOp>(made.domain, made.type, std::move(types)));
  }

  /// Replaces the part's node, which has the bodies of a single node, by the nodes of the part.
  void restore(const Assignment& part) {
    const Graph& inside = *part.inside;
    const Node was = graph_.node(part.node);
    const Part p(part, was);
    std::map<ValueId, ValueId> outside;
    const auto find = [&](ValueId id) {
      const auto [at, added] = outside.try_emplace(id, id);
      if (!added || id == ValueId::none) return at->second;
      const GraphValue& v = inside.value(id);
      return at->second = v.is_constant() ? constant(v) : add(v.name, v.type);
    };
    for (size_t i = 0; i < inside.inputs.size(); ++i) outside[inside.inputs[i]] = was.inputs[i];
    for (const NodeId id : inside.order()) {
      Node node = inside.node(id);
      node.id = NodeId::none;
      std::ranges::transform(node.inputs, node.inputs.begin(), find);
      std::ranges::transform(node.outputs, node.outputs.begin(), find);
      if (part.single) {
        node.inputs.insert(node.inputs.end(), was.inputs.end() - was.captures, was.inputs.end());
        node.captures = was.captures;
        node.bodies = was.bodies;
      }
      leave_alone(graph_.add_node(std::move(node)));
    }
    std::vector<std::pair<ValueId, ValueId>> now;
    for (size_t i = 0; i < was.outputs.size(); ++i) now.emplace_back(was.outputs[i], find(inside.outputs[i]));
    replace(p, now);
  }

 private:
  /// A part and the node that it became. Values are found by the names that they had when the provider compiled the
  /// part.
  struct Part {
    Part(const Assignment& a, const Node& node) : assignment(a), id(node.id) {
      const Graph& g = *a.inside;
      for (size_t i = 0; i < g.inputs.size(); ++i) inputs[g.value(g.inputs[i]).name] = node.inputs[i];
      for (size_t i = 0; i < g.outputs.size(); ++i) outputs[g.value(g.outputs[i]).name] = node.outputs[i];
      for (const NodeId n : g.order()) {
        for (const ValueId out : g.node(n).outputs) {
          if (out != ValueId::none) made[g.value(out).name] = g.value(out).type;
        }
      }
    }
    /// For a part that has a stand-in.
    std::string who() const {
      return cat("provider '{}' made node '{}' ({}) of part '{}'", assignment.provider, assignment.stand_in->name,
                 assignment.stand_in->type, assignment.name);
    }
    const Assignment& assignment;
    const NodeId id;
    std::map<std::string, ValueId> inputs, outputs;
    std::map<std::string, ValueType> made;  // made by its nodes
  };

  ValueId input(const Part& part, const std::string& name) const {
    if (name.empty()) return ValueId::none;
    require(!part.made.contains(name), ErrorCode::ep_fail, "{}, with '{}' as an input, which a node of the part makes",
            part.who(), name);
    const auto own = part.inputs.find(name);
    if (own != part.inputs.end()) return own->second;
    const auto found = values_.find(name);
    require(found != values_.end(), ErrorCode::ep_fail, "{}, with '{}', which is not a value of the model", part.who(),
            name);
    return found->second;
  }

  static ValueType type_made(const Part& part, const std::vector<std::string>& names, size_t i) {
    if (names[i].empty()) return {};
    const auto found = part.made.find(names[i]);
    require(found != part.made.end(), ErrorCode::ep_fail, "{}, with '{}' as an output, which no node of the part makes",
            part.who(), names[i]);
    require(std::count(names.begin(), names.begin() + ptrdiff_t(i), names[i]) == 0, ErrorCode::ep_fail,
            "{}, with '{}' as an output twice; list it once", part.who(), names[i]);
    return found->second;
  }

  // Nodes that only their provider can run, for example in its own layout, are saved without a change, too.
  void leave_alone(NodeId id) {
    const Node& node = graph_.node(id);
    if (has_operator(node.domain, node.type) || !node.bodies.empty()) return;
    std::vector<ValueType> types;
    for (const ValueId out : node.outputs) types.push_back(out == ValueId::none ? ValueType() : graph_.value(out).type);
    resolve_external(graph_, graph_.node(id), std::make_shared<StandInOp>(node.domain, node.type, std::move(types)));
  }

  ValueId add(const std::string& name, const ValueType& type) {
    const bool taken = values_.contains(name);
    const ValueId id = graph_.add_value(taken ? graph_.unique_name(name) : name, type);
    if (!taken) values_[name] = id;
    return id;
  }

  ValueId constant(const GraphValue& v) {
    const auto found = values_.find(v.name);
    const Tensor* there = found == values_.end() ? nullptr : graph_.constant(found->second);
    if (there && there->data() == v.constant.data()) return found->second;
    return graph_.add_constant(there ? graph_.unique_name(v.name) : v.name, v.constant);
  }

  // Values keep their names for their readers.
  void replace(const Part& part, const std::vector<std::pair<ValueId, ValueId>>& now) {
    for (const auto& [before, after] : now) {
      const std::string name = graph_.value(before).name;
      graph_.replace_uses(before, after);
      if (graph_.value(after).name != name) std::swap(graph_.value(before).name, graph_.value(after).name);
      values_[name] = after;
    }
    for (const ValueId out : graph_.node(part.id).outputs) {
      if (graph_.use_count(out))
        fail(ErrorCode::ep_fail, "{}, without output '{}', which the rest of the model reads", part.who(),
             graph_.value(out).name);
    }
    graph_.remove(part.id);
  }

  Graph& graph_;
  std::map<std::string, ValueId> values_;
};

void put_all(Graph& copy, std::span<const Assignment> parts, const Graph& left, bool stand_ins) {
  for (const NodeId id : left.order()) {
    const std::vector<Body>& bodies = left.node(id).bodies;
    for (size_t i = 0; i < bodies.size(); ++i) put_all(*copy.node(id).bodies[i].graph, parts, *bodies[i].graph, false);
  }
  Putter putter(copy);
  for (const Assignment& part : parts) {
    if (part.graph != &left) continue;
    if (stand_ins && part.stand_in)
      putter.put(part);
    else
      putter.restore(part);
  }
}

}  // namespace

void put_stand_ins(Graph& copy, std::span<const Assignment> parts, const Graph& left) {
  put_all(copy, parts, left, true);
}

}  // namespace retort
