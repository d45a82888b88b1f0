#include "ir/graph.h"

#include <algorithm>

#include "base/error.h"
#include "ir/describe.h"

namespace retort {

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>(dims_);
  copy->name = name;
  copy->doc = doc;
  copy->inputs = inputs;
  copy->outputs = outputs;
  copy->captures = captures;
  copy->defaults = defaults;
  copy->values_ = values_;
  copy->nodes_ = nodes_;
  copy->next_name_ = next_name_;
  for (Node& n : copy->nodes_) {
    for (Body& b : n.bodies) b.graph = b.graph->clone();
  }
  return copy;
}

ValueId Graph::add_value(std::string value_name, ValueType type) {
  values_.push_back({.name = std::move(value_name), .type = std::move(type)});
  return ValueId(values_.size() - 1);
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  const ValueId id = add_value(std::move(value_name), ValueType::tensor(tensor.dtype(), tensor.shape()));
  values_.back().constant = std::move(tensor);
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id = NodeId(nodes_.size());
  node.id = id;
  if (node.position == 0) node.position = uint32_t(id) + 1;
  for (uint32_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ValueId::none) continue;
    GraphValue& v = value(node.outputs[i]);
    if (v.producer != NodeId::none || v.is_constant()) {
      fail(ErrorCode::invalid_graph, "value '{}' has two producers; the second is {}", v.name, describe(*this, node));
    }
    v.producer = id;
    v.producer_slot = i;
  }
  for (uint32_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != ValueId::none) value(node.inputs[i]).uses.push_back({id, i});
  }
  nodes_.push_back(std::move(node));
  order_stale_ = true;
  return id;
}

NodeId Graph::add(NodeSpec spec) {
  Node n;
  n.type = std::move(spec.type);
  n.domain = std::move(spec.domain);
  n.version = spec.version;
  n.attributes = std::move(spec.attributes);
  n.inputs = std::move(spec.inputs);
  n.name = std::move(spec.name);
  n.position = spec.position;
  const std::string hint = n.name.empty() ? n.type : n.name;
  for (size_t i = 0; i < spec.outputs; ++i) n.outputs.push_back(add_value(unique_name(hint)));
  return add_node(std::move(n));
}

void Graph::set_input(NodeId id, size_t slot, ValueId to) {
  Node& n = node(id);
  if (n.inputs[slot] != ValueId::none) std::erase(value(n.inputs[slot]).uses, Use{id, uint32_t(slot)});
  n.inputs[slot] = to;
  if (to != ValueId::none) value(to).uses.push_back({id, uint32_t(slot)});
  order_stale_ = true;
}

void Graph::resize_inputs(NodeId id, size_t count) {
  for (size_t i = count; i < node(id).inputs.size(); ++i) set_input(id, i, ValueId::none);
  node(id).inputs.resize(count, ValueId::none);
}

void Graph::replace_uses(ValueId before, ValueId after) {
  if (before == after) return;
  const std::vector<Use> uses = value(before).uses;
  for (const Use& u : uses) set_input(u.node, u.slot, after);
  if (is_output(before)) replace_output(before, after);
  order_stale_ = true;
}

void Graph::replace_output(ValueId before, ValueId after) {
  if (value(after).producer == NodeId::none || is_output(after)) {
    const ValueType type = value(after).type;
    const NodeId copy = add({.type = "Identity", .inputs = {after}});
    after = node(copy).outputs[0];
    value(after).type = type;
  }
  std::replace(outputs.begin(), outputs.end(), before, after);
  std::swap(value(before).name, value(after).name);
}

void Graph::detach(NodeId id) {
  Node& n = node(id);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] != ValueId::none) std::erase(value(n.inputs[i]).uses, Use{id, uint32_t(i)});
  }
  for (ValueId out : n.outputs) {
    if (out != ValueId::none) value(out).producer = NodeId::none;
  }
}

void Graph::remove(NodeId id) {
  detach(id);
  Node& n = node(id);
  n.inputs.clear();
  n.outputs.clear();
  n.bodies.clear();
  n.dead = true;
  order_stale_ = true;
}

void Graph::make_constant(ValueId id, Tensor tensor) {
  GraphValue& v = value(id);
  if (v.producer != NodeId::none) {
    node(v.producer).outputs[v.producer_slot] = ValueId::none;
    v.producer = NodeId::none;
  }
  v.type = ValueType::tensor(tensor.dtype(), tensor.shape());
  v.constant = std::move(tensor);
  order_stale_ = true;
}

bool Graph::is_output(ValueId id) const { return std::find(outputs.begin(), outputs.end(), id) != outputs.end(); }
bool Graph::is_input(ValueId id) const { return std::find(inputs.begin(), inputs.end(), id) != inputs.end(); }

size_t Graph::use_count(ValueId id) const {
  return value(id).uses.size() + size_t(std::count(outputs.begin(), outputs.end(), id));
}

const Node* Graph::producer(ValueId id) const {
  if (id == ValueId::none || value(id).producer == NodeId::none) return nullptr;
  return &node(value(id).producer);
}

std::string Graph::unique_name(const std::string& hint) { return hint + "#" + std::to_string(next_name_++); }

namespace {

// `waiting`: per node, the number of inputs that never became available. Following such inputs backwards ends in a
// cycle.
[[noreturn]] void fail_cycle(const Graph& graph, const std::vector<uint32_t>& waiting) {
  constexpr size_t kMostShown = 6;
  const auto blocked = [&](ValueId in) {
    const Node* from = graph.producer(in);
    return from && waiting[size_t(from->id)] > 0;
  };
  std::vector<size_t> seen(waiting.size(), 0);  // per node: the step at which it was visited, from 1
  std::vector<const Node*> way;
  size_t at = size_t(std::find_if(waiting.begin(), waiting.end(), [](uint32_t w) { return w > 0; }) - waiting.begin());
  while (!seen[at]) {
    const Node& n = graph.node(NodeId(at));
    way.push_back(&n);
    seen[at] = way.size();
    const auto back = std::find_if(n.inputs.begin(), n.inputs.end(), blocked);
    if (back == n.inputs.end()) break;  // it waits for a removed node
    at = size_t(graph.producer(*back)->id);
  }
  way.erase(way.begin(), way.begin() + ptrdiff_t(seen[at] - 1));
  std::string names;
  for (size_t i = 0; i < std::min(way.size(), kMostShown); ++i)
    names += cat("{}'{}' ({})", i ? ", " : "", label(graph, *way[i]), way[i]->type);
  fail(ErrorCode::invalid_graph, "graph '{}' has a cycle through {} nodes: {}{}; remove one of these edges", graph.name,
       way.size(), names, way.size() > kMostShown ? ", …" : "");
}

}  // namespace

// Kahn's algorithm with the node's position as priority, so that the order is stable and follows the model where
// possible.
std::span<const NodeId> Graph::order() const {
  if (!order_stale_) return order_;
  order_.clear();
  std::vector<uint32_t> waiting(nodes_.size(), 0);
  std::vector<NodeId> ready;  // a heap, smallest id first
  const auto later = [&](NodeId a, NodeId b) {
    return std::pair(node(a).position, a) > std::pair(node(b).position, b);
  };
  size_t live = 0;
  for (const Node& n : nodes_) {
    if (n.dead) continue;
    ++live;
    for (ValueId in : n.inputs) waiting[size_t(n.id)] += in != ValueId::none && value(in).producer != NodeId::none;
    if (waiting[size_t(n.id)] == 0) ready.push_back(n.id);
  }
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const NodeId id = ready.back();
    ready.pop_back();
    order_.push_back(id);
    for (ValueId out : node(id).outputs) {
      if (out == ValueId::none) continue;
      for (const Use& u : value(out).uses) {
        if (--waiting[size_t(u.node)] == 0) {
          ready.push_back(u.node);
          std::push_heap(ready.begin(), ready.end(), later);
        }
      }
    }
  }
  if (order_.size() != live) fail_cycle(*this, waiting);
  order_stale_ = false;
  return order_;
}

}  // namespace retort
