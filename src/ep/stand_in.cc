#include "ep/stand_in.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ep/partition.h"
#include "ir/describe.h"
#include "ops/external.h"

namespace retort {
namespace {

/// What it computes only its provider knows; here it is written down and no more.
class StandInOp : public ExternalOp {
 public:
  StandInOp(const StandIn& node, std::vector<ValueType> outputs)
      : domain_(node.domain), type_(node.type), outputs_(std::move(outputs)) {}
  std::string domain() const override { return domain_; }
  std::string type() const override { return type_; }
  bool covers(int) const override { return true; }
  void infer(const ExternalNode&, InferContext& context) const override {
    for (size_t i = 0; i < outputs_.size(); ++i) context.set(i, outputs_[i]);
  }
  std::unique_ptr<State> prepare(const ExternalNode&, PrepareContext&) const override { return nullptr; }
  void run(const ExternalNode& node, RunContext&) const override {
    fail(ErrorCode::ep_fail, "node '{}' ({}) was made to be saved", node.name, node.type);
  }

 private:
  const std::string domain_, type_;
  const std::vector<ValueType> outputs_;
};

class Putter {
 public:
  explicit Putter(Graph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.value_count(); ++i) values_[graph.value(ValueId(i)).name] = ValueId(i);
  }

  void put(const Assignment& part, const StandIn& made) {
    const std::string who =
        cat("provider '{}' made node '{}' ({}) of part '{}'", part.provider, made.name, made.type, part.name);
    Node node;
    node.domain = made.domain;
    node.type = made.type;
    node.name = made.name;
    node.version = 1;
    node.attributes = made.attributes;
    node.position = graph_.node(part.nodes.back()).position;
    for (const std::string& name : made.inputs) node.inputs.push_back(find(part, name, false, who));
    std::vector<ValueId> before;
    std::vector<ValueType> types;
    for (const std::string& name : made.outputs) {
      before.push_back(find(part, name, true, who));
      types.push_back(name.empty() ? ValueType() : graph_.value(before.back()).type);
      node.outputs.push_back(name.empty() ? ValueId::none : graph_.add_value(graph_.unique_name(name), types.back()));
    }
    replace(part, std::move(node), before, made.outputs, who);
    resolve_external(graph_, graph_.node(NodeId(graph_.node_count() - 1)),
                     std::make_shared<StandInOp>(made, std::move(types)));
  }

 private:
  // Outputs are made by nodes of the part, inputs elsewhere.
  ValueId find(const Assignment& part, const std::string& name, bool made, const std::string& who) const {
    if (name.empty()) return ValueId::none;
    const auto found = values_.find(name);
    require(found != values_.end(), ErrorCode::ep_fail, "{}, with '{}', which is no value of the model", who, name);
    const Node* producer = graph_.producer(found->second);
    require(made == (producer && std::ranges::count(part.nodes, producer->id)), ErrorCode::ep_fail,
            "{}, with '{}' as an {}, which {}", who, name, made ? "output" : "input",
            made ? "no node of the part makes" : "a node of the part makes");
    return found->second;
  }

  void replace(const Assignment& part, Node node, const std::vector<ValueId>& before,
               const std::vector<std::string>& names, const std::string& who) {
    const std::vector<ValueId> made = node.outputs;
    graph_.add_node(std::move(node));
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i] == ValueId::none) continue;
      graph_.replace_uses(before[i], made[i]);
      if (graph_.value(made[i]).name != names[i]) std::swap(graph_.value(before[i]).name, graph_.value(made[i]).name);
      values_[names[i]] = made[i];
    }
    for (auto gone = part.nodes.rbegin(); gone != part.nodes.rend(); ++gone) remove(*gone, who);
  }

  void remove(NodeId id, const std::string& who) {
    for (const ValueId out : graph_.node(id).outputs) {
      require(out == ValueId::none || graph_.use_count(out) == 0, ErrorCode::ep_fail,
              "{}, without output '{}', which the rest of the model reads", who,
              out == ValueId::none ? "" : graph_.value(out).name);
    }
    graph_.remove(id);
  }

  Graph& graph_;
  std::map<std::string, ValueId> values_;
};

}  // namespace

void put_stand_ins(Model& model, std::span<const Assignment> parts, const Graph& graph) {
  Putter putter(*model.graph);
  for (const Assignment& part : parts) {
    if (!part.stand_in || part.graph != &graph) continue;
    putter.put(part, *part.stand_in);
    model.opsets.try_emplace(part.stand_in->domain, 1);
  }
}

}  // namespace retort
