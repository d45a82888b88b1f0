#include "ep/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/function_ref.h"
#include "ep/channels_last.h"
#include "ep/cpu.h"
#include "ep/part_op.h"
#include "ir/describe.h"
#include "lift/infer_types.h"
#include "passes/optimize.h"

namespace retort {
namespace {

/// Cuts one claim out of a graph.
class Cut {
 public:
  Cut(Graph& graph, const Provider& provider, const Claim& claim)
      : graph_(graph), provider_(provider), single_(claim.single) {
    for (const NodeId id : claim.nodes) {
      require(size_t(id) < graph.node_count() && !graph.node(id).dead && !graph.node(id).op, ErrorCode::ep_fail,
              "provider '{}' claimed node {}, which does not exist or was claimed before", provider.name(), size_t(id));
      require(claimed_.insert(id).second, ErrorCode::ep_fail, "provider '{}' claimed {} twice", provider.name(),
              retort::describe(graph, graph.node(id)));
    }
    require(!claimed_.empty(), ErrorCode::ep_fail, "provider '{}' claimed a part without nodes", provider.name());
    require(!single_ || claimed_.size() == 1, ErrorCode::ep_fail, "provider '{}' claimed {} nodes for one kernel",
            provider.name(), claimed_.size());
    check_closed();
    collect();
  }

  std::shared_ptr<Graph> body() const { return body_; }
  /// In order: every producer before its consumers.
  const std::vector<NodeId>& nodes() const { return order_; }

  /// Replaces the claimed nodes by one node, which gets its operator later and keeps the bodies of a single claimed
  /// node.
  NodeId replace(const std::string& domain, const std::string& type, const std::string& name) {
    Node node;
    node.domain = domain;
    node.type = type;
    node.name = name;
    node.inputs = inputs_;
    if (single_) {
      Node& claimed = graph_.node(order_.back());
      node.inputs.insert(node.inputs.end(), captures_.begin(), captures_.end());
      node.captures = uint32_t(captures_.size());
      node.bodies = claimed.bodies;
    }
    for (const NodeId id : order_) node.origins.push_back(label(graph_, graph_.node(id)));
    node.position = graph_.node(order_.back()).position;
    std::vector<std::string> names;
    for (const ValueId old : outputs_) {
      names.push_back(graph_.value(old).name);
      node.outputs.push_back(graph_.add_value(graph_.unique_name(names.back()), graph_.value(old).type));
    }
    const std::vector<ValueId> made = node.outputs;
    const NodeId id = graph_.add_node(std::move(node));
    for (size_t i = 0; i < made.size(); ++i) {
      graph_.replace_uses(outputs_[i], made[i]);
      if (graph_.value(made[i]).name != names[i]) std::swap(graph_.value(outputs_[i]).name, graph_.value(made[i]).name);
    }
    for (auto gone = order_.rbegin(); gone != order_.rend(); ++gone) graph_.remove(*gone);
    return id;
  }

  std::vector<ValueType> input_types() const { return types_of(inputs_); }
  std::vector<ValueType> output_types() const { return types_of(outputs_); }

  /// Inputs that only one node reads, and that only one output depends on, element by element: a provider that stores
  /// intermediate results in that output's memory overwrites nothing that it still needs.
  Replacements replacements() const {
    Replacements all;
    for (size_t i = 0; i < body_->inputs.size(); ++i) {
      std::set<NodeId> after;
      for (const Use& use : body_->value(body_->inputs[i]).uses) after.insert(use.node);
      if (after.size() != 1) continue;
      std::vector<size_t> results;
      if (follow_elements(*after.begin(), after, results) && results.size() == 1) all.emplace_back(results[0], i);
    }
    return all;
  }

  std::vector<std::string> constants() const {
    std::vector<std::string> names;
    for (const auto& [outside, inner] : inside_) {
      if (graph_.value(outside).is_constant()) names.push_back(graph_.value(outside).name);
    }
    return names;
  }

 private:
  // Whether only elementwise nodes depend on `id`; `results` collects the outputs of the part among them.
  bool follow_elements(NodeId id, std::set<NodeId>& seen, std::vector<size_t>& results) const {
    const Node& node = body_->node(id);
    const OpDef* op = find_op(node.domain, node.type);
    if (!op || !op->has(kElementwise)) return false;
    for (const ValueId out : node.outputs) {
      if (out == ValueId::none) continue;
      const auto result = std::ranges::find(body_->outputs, out);
      if (result != body_->outputs.end()) results.push_back(size_t(result - body_->outputs.begin()));
      for (const Use& use : body_->value(out).uses) {
        if (seen.insert(use.node).second && !follow_elements(use.node, seen, results)) return false;
      }
    }
    return true;
  }

  bool is_claimed(NodeId id) const { return claimed_.contains(id); }

  std::vector<ValueType> types_of(const std::vector<ValueId>& values) const {
    std::vector<ValueType> types;
    for (const ValueId id : values) types.push_back(graph_.value(id).type);
    return types;
  }

  // PartitionRun supports only tensors.
  void check_tensor(const Node& node, std::string_view what, const GraphValue& v) const {
    require(v.type.is_tensor() || v.type.kind == ValueType::Kind::unknown, ErrorCode::ep_fail,
            "provider '{}' claimed {}, whose {} '{}' is not a tensor; it must not claim the node, or must claim all "
            "nodes that use "
            "the value",
            provider_.name(), retort::describe(graph_, node), what, v.name);
  }

  void check_closed() {
    const std::vector<NodeId> claimed(claimed_.begin(), claimed_.end());
    const std::string why = why_not_closed(graph_, claimed);
    require(why.empty(), ErrorCode::ep_fail, "provider '{}' claimed {}", provider_.name(), why);
    std::ranges::copy_if(graph_.order(), std::back_inserter(order_), [&](NodeId id) { return is_claimed(id); });
  }

  void collect() {
    body_ = std::make_shared<Graph>(graph_.shared_dims());
    body_->name = graph_.name;
    if (single_) sink_constants(graph_, graph_.node(order_.back()));
    for (const NodeId id : order_) take(graph_.node(id));
    for (const NodeId id : order_) {
      for (const ValueId out : graph_.node(id).outputs) {
        if (out == ValueId::none || !is_wanted(out)) continue;
        check_tensor(graph_.node(id), "output", graph_.value(out));
        outputs_.push_back(out);
        body_->outputs.push_back(inside_.at(out));
      }
    }
  }

  bool is_wanted(ValueId out) const {
    const std::vector<Use>& uses = graph_.value(out).uses;
    return graph_.is_output(out) || std::ranges::any_of(uses, [&](const Use& u) { return !is_claimed(u.node); });
  }

  void take(const Node& node) {
    Node copy = node;
    copy.id = NodeId::none;
    if (single_) {
      captures_.assign(copy.inputs.end() - copy.captures, copy.inputs.end());
      copy.inputs.resize(copy.inputs.size() - copy.captures);
      copy.captures = 0;
    }
    for (Body& b : copy.bodies) b.graph = b.graph->clone();
    for (ValueId& in : copy.inputs) in = in == ValueId::none ? in : inside(in, node);
    for (ValueId& out : copy.outputs) {
      if (out != ValueId::none) out = inside_[out] = body_->add_value(graph_.value(out).name, graph_.value(out).type);
    }
    body_->add_node(std::move(copy));
  }

  ValueId inside(ValueId outside, const Node& reader) {
    const auto found = inside_.find(outside);
    const GraphValue& v = graph_.value(outside);
    if (found != inside_.end() && (!single_ || v.is_constant())) return found->second;
    ValueId made = ValueId::none;
    if (v.is_constant()) {
      made = body_->add_constant(v.name, v.constant);
    } else {
      check_tensor(reader, "input", v);
      made = body_->add_value(v.name, v.type);
      body_->inputs.push_back(made);
      inputs_.push_back(outside);
    }
    return inside_[outside] = made;
  }

  Graph& graph_;
  const Provider& provider_;
  const bool single_;
  std::set<NodeId> claimed_;
  std::vector<NodeId> order_;
  std::shared_ptr<Graph> body_;
  std::map<ValueId, ValueId> inside_;  // values of the graph, and those of the body
  std::vector<ValueId> inputs_, outputs_, captures_;
};

void each_graph(Graph& graph, FunctionRef<void(Graph&)> f) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    for (const Body& b : graph.node(id).bodies) each_graph(*b.graph, f);
  }
  f(graph);
}

/// Gives one provider its parts of a model.
class Partitioner {
 public:
  Partitioner(Model& model, const SessionDevices& session, std::shared_ptr<Provider> provider,
              const ExternalOps* external, std::vector<Assignment>& all)
      : model_(model), session_(session), provider_(std::move(provider)), external_(external), all_(all) {}

  /// All parts of the graph are cut out before the first is compiled, because the provider compiles them together.
  void take(Graph& graph) {
    std::vector<Placed> placed;
    std::vector<Partition> parts;
    for (const Claim& claim : claims(graph)) {
      const Placed& last = placed.emplace_back(place(graph, claim));
      parts.push_back({last.name, last.cut.body(), &model_, claim.drops_constants, claim.single, claim.ticket,
                       session_.uploads.get()});
    }
    if (parts.empty()) return;
    const std::vector<std::shared_ptr<const Compiled>> compiled = provider_->compile_all(parts);
    require(compiled.size() == parts.size(), ErrorCode::ep_fail, "provider '{}' compiled {} of {} parts",
            provider_->name(), compiled.size(), parts.size());
    for (size_t i = 0; i < placed.size(); ++i) finish(graph, placed[i], parts[i], compiled[i]);
  }

 private:
  /// A part that was cut out, and the node in its place.
  struct Placed {
    Cut cut;
    std::string name, type;
    std::vector<ValueType> inputs, outputs;
    std::vector<std::string> constants;
    NodeId node = NodeId::none;
  };

  std::vector<Claim> claims(Graph& graph) {
    std::vector<Claim> claims = claims_of_free_nodes(graph);
    if (!provider_->prefers_channels_last()) return claims;
    const std::vector<NodeId> changed = to_channels_last(model_, graph, *provider_, claims);
    if (changed.empty()) return claims;
    claims = claims_of_free_nodes(graph);
    check_claimed(graph, *provider_, changed, claims);
    return claims;
  }

  std::vector<Claim> claims_of_free_nodes(const Graph& graph) {
    std::vector<Claim> claims = provider_->claim(model_, graph);
    if (!provider_->comes_after_cpu()) return claims;
    const auto runs_on_cpu = [&](NodeId id) {
      if (size_t(id) >= graph.node_count()) return false;  // an error that Cut tells
      const Node& node = graph.node(id);
      return has_operator(node.domain, node.type) ||
             (external_ && external_->find(node.domain, node.type, node.version));
    };
    std::erase_if(claims, [&](const Claim& claim) { return std::ranges::any_of(claim.nodes, runs_on_cpu); });
    return claims;
  }

  Placed place(Graph& graph, const Claim& claim) {
    Placed placed{.cut = Cut(graph, *provider_, claim), .name = claim.name, .type = {}};
    if (placed.name.empty()) placed.name = cat("{}_{}", provider_->name(), number_);
    placed.type = claim.single ? graph.node(claim.nodes[0]).type : placed.name;
    ++number_;
    placed.inputs = placed.cut.input_types();
    placed.outputs = placed.cut.output_types();
    placed.constants = placed.cut.constants();
    placed.node = placed.cut.replace(provider_->name(), placed.type, placed.name);
    return placed;
  }

  void finish(Graph& graph, const Placed& placed, const Partition& part,
              const std::shared_ptr<const Compiled>& compiled) {
    require(compiled != nullptr, ErrorCode::ep_fail, "provider '{}' compiling part '{}': it returned null",
            provider_->name(), placed.name);
    const Cut& cut = placed.cut;
    all_.push_back({.provider = provider_->name(),
                    .name = placed.name,
                    .graph = &graph,
                    .nodes = cut.nodes(),
                    .single = part.single,
                    .space = provider_->space(),
                    .constants = placed.constants,
                    .drops_constants = part.drops_constants,
                    .inside = cut.body(),
                    .node = placed.node,
                    .stand_in = compiled->stand_in()});
    resolve_external(graph, graph.node(placed.node),
                     part_op({.provider = provider_,
                              .uploads = session_.uploads,
                              .type = placed.type,
                              .compiled = compiled,
                              .inputs = placed.inputs,
                              .outputs = placed.outputs,
                              .replacements = cut.replacements()}));
  }

  Model& model_;
  const SessionDevices& session_;
  const std::shared_ptr<Provider> provider_;
  const ExternalOps* external_;
  std::vector<Assignment>& all_;
  size_t number_ = 0;
};

}  // namespace

std::string why_not_closed(const Graph& graph, std::span<const NodeId> nodes) {
  const std::set<NodeId> claimed(nodes.begin(), nodes.end());
  std::set<NodeId> after;  // nodes outside that depend on a result of the part
  for (const NodeId id : graph.order()) {
    const bool is_inside = claimed.contains(id);
    for (const ValueId in : graph.node(id).inputs) {
      const Node* producer = in == ValueId::none ? nullptr : graph.producer(in);
      if (!producer) continue;
      const bool needs_after = after.contains(producer->id);
      if (needs_after && is_inside) {
        return cat(
            "{}, which needs a result of {}, which needs one of the same part; it must put both into one claim, or "
            "into "
            "different ones",
            describe(graph, graph.node(id)), describe(graph, *producer));
      }
      if (!is_inside && (needs_after || claimed.contains(producer->id))) after.insert(id);
    }
  }
  return {};
}

void show_to_providers(Model& model, const ExternalOps* external) {
  lift_constants(*model.graph);
  infer_types(*model.graph, external);  // stops at a node that only a provider knows; types before it are inferred
}

std::vector<Assignment> partition(Model& model, const SessionDevices& session, const ExternalOps* external) {
  std::vector<Assignment> all;
  Graph& graph = *model.graph;
  for (const auto& provider : session.providers) {
    Partitioner partitioner(model, session, provider, external, all);
    each_graph(graph, [&](Graph& g) { partitioner.take(g); });
  }
  return all;
}

PortOwners owners_of_ports(const Graph& graph, const std::vector<Assignment>& parts) {
  std::map<NodeId, const Assignment*> made;
  for (const Assignment& part : parts) {
    if (part.graph == &graph) made[part.node] = &part;
  }
  const auto owner = [&](NodeId id) {
    const auto part = made.find(id);
    return part == made.end() ? std::string(kCpuProvider) : part->second->provider;
  };
  const auto rank = [&](const Use& use) {
    const auto part = made.find(use.node);
    const bool fused = part != made.end() && !part->second->single;
    return std::pair(fused, fused ? uint32_t(use.node) : graph.node(use.node).position);
  };
  PortOwners all;
  for (const ValueId in : graph.inputs) {
    const std::vector<Use>& uses = graph.value(in).uses;
    const auto first = std::ranges::min_element(uses, {}, rank);
    all.readers.push_back(first == uses.end() ? std::nullopt : std::optional(owner(first->node)));
  }
  for (const ValueId out : graph.outputs) {
    const Node* maker = graph.producer(out);
    all.makers.push_back(maker ? std::optional(owner(maker->id)) : std::nullopt);
  }
  return all;
}

}  // namespace retort
