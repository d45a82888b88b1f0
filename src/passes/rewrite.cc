#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/loading.h"
#include "memory/mapping.h"
#include "passes/pass.h"

namespace retort {
namespace {

bool is_unused(const Graph& graph, const Node& n) {
  return std::all_of(n.outputs.begin(), n.outputs.end(),
                     [&](ValueId out) { return out == ValueId::none || graph.use_count(out) == 0; });
}

class Rewriter {
 public:
  Rewriter(Graph& graph, std::span<const Rule* const> rules, PassContext& context)
      : graph_(graph), rules_(rules), context_(context) {}

  void run() {
    for (NodeId id : graph_.order()) queue_.push_back(id);
    // Rules shrink the graph or move towards a normal form, so this limit only protects against two rules that undo
    // each other.
    size_t budget = 20 * queue_.size() + 1000;
    while (!queue_.empty() && budget-- > 0) {
      const NodeId id = queue_.front();
      queue_.pop_front();
      check_loading(context_.options().parallel);
      visit(id);
    }
  }

 private:
  void visit(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.dead || !n.op) return;
    for (const Rule* rule : rules_) {
      if (!n.is(rule->root, rule->domain) || !context_.enabled(rule->name)) continue;
      std::optional<Patch> patch = rule->match(graph_, n);
      if (!patch) continue;
      context_.count(rule->name);
      apply(id, std::move(*patch));
      return;
    }
  }

  void apply(NodeId root, Patch patch) {
    const std::vector<ValueId> inputs = graph_.node(root).inputs;
    std::vector<NodeId> users;  // a patch may also replace their results
    for (ValueId out : graph_.node(root).outputs) {
      if (out == ValueId::none) continue;
      for (const Use& u : graph_.value(out).uses) users.push_back(u.node);
    }
    std::vector<NodeId> replaced;
    for (const auto& [value, with] : patch.replacements()) {
      if (const Node* n = graph_.producer(value)) replaced.push_back(n->id);
    }
    const size_t before = graph_.node_count();
    const std::vector<NodeId> added = std::move(patch).apply(graph_);
    resolve_new_nodes(graph_, before);
    for (NodeId id : users) remove_dead(graph_, id);
    for (NodeId id : replaced) remove_dead(graph_, id);
    remove_dead(graph_, root);
    queue_.insert(queue_.end(), users.begin(), users.end());
    for (NodeId id : added) {
      queue_.push_back(id);
      for (ValueId in : graph_.node(id).inputs) enqueue_producer(in);
      for (ValueId out : graph_.node(id).outputs) enqueue_users(out);
    }
    if (!graph_.node(root).dead) queue_.push_back(root);
    for (ValueId in : inputs) enqueue_producer(in);
  }

  void enqueue_producer(ValueId v) {
    if (const Node* n = graph_.producer(v)) queue_.push_back(n->id);
  }
  void enqueue_users(ValueId v) {
    if (v == ValueId::none) return;
    for (const Use& u : graph_.value(v).uses) queue_.push_back(u.node);
  }

  Graph& graph_;
  std::span<const Rule* const> rules_;
  PassContext& context_;
  std::deque<NodeId> queue_;
};

}  // namespace

bool PassContext::enabled(std::string_view name) const {
  const auto& off = options_.disabled;
  return std::find(off.begin(), off.end(), name) == off.end();
}

namespace {

/// Drops a constant that nothing uses any more, and the pages of the file that were read for it.
void forget_unused(Graph& graph, ValueId id) {
  if (!graph.constant(id) || graph.use_count(id) != 0 || graph.is_input(id)) return;
  release_pages(graph.value(id).constant);
  graph.value(id).constant = {};
}

}  // namespace

void remove_dead(Graph& graph, NodeId node) {
  std::vector<NodeId> candidates{node};
  while (!candidates.empty()) {
    const Node& n = graph.node(candidates.back());
    candidates.pop_back();
    if (n.dead || !is_unused(graph, n)) continue;
    for (ValueId in : n.inputs) {
      if (const Node* producer = graph.producer(in)) candidates.push_back(producer->id);
    }
    const std::vector<ValueId> inputs = n.inputs;
    graph.remove(n.id);
    for (ValueId in : inputs) forget_unused(graph, in);
  }
}

void resolve_new_nodes(Graph& graph, size_t first) {
  for (size_t i = first; i < graph.node_count(); ++i) {
    Node& n = graph.node(NodeId(i));
    if (n.dead || n.op) continue;
    resolve(n);
    infer_node(graph, n);
  }
}

void rewrite(Graph& graph, std::span<const Rule* const> rules, PassContext& context) {
  Rewriter(graph, rules, context).run();
}

}  // namespace retort
