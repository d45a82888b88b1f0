// Keeps only one of several nodes that compute the same from the same inputs, and one of several equal small constants.
// Exporters repeat the masks and shapes of every layer (BERT, GPT-2, Llama).
#include <map>

#include "base/loading.h"
#include "passes/passes.h"

namespace retort {
namespace {

constexpr size_t kMaxCompared = 4096;  // in bytes: larger constants are rarely equal, so comparing them does not pay

using Key = std::tuple<std::string, std::string, std::vector<ValueId>, size_t>;

void merge_constants(Graph& graph, PassContext& context) {
  std::map<std::tuple<DType, std::vector<int64_t>, std::string>, ValueId> seen;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id = ValueId(i);
    const Tensor* t = graph.constant(id);
    if (!t || t->dtype() == DType::string || t->bytes() > kMaxCompared || graph.is_output(id) || graph.is_input(id))
      continue;
    const std::string bytes(static_cast<const char*>(t->data()), t->bytes());
    const auto [first, fresh] =
        seen.emplace(std::tuple(t->dtype(), std::vector<int64_t>(t->shape().begin(), t->shape().end()), bytes), id);
    if (fresh || graph.use_count(id) == 0) continue;
    graph.replace_uses(id, first->second);
    context.count("constant");
  }
}

bool mergeable(const Node& n) { return !n.dead && n.op && !n.op->has(kRandom) && n.bodies.empty(); }

bool same(const Node& a, const Node& b) {
  if (!(a.attributes == b.attributes)) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if ((a.outputs[i] == ValueId::none) != (b.outputs[i] == ValueId::none)) return false;
  }
  return true;
}

void merge_nodes(Graph& graph, PassContext& context) {
  std::map<Key, std::vector<NodeId>> seen;
  const std::span<const NodeId> order = graph.order();
  for (NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
    check_loading();
    const Node& n = graph.node(id);
    if (!mergeable(n)) continue;
    auto& candidates = seen[{n.domain, n.type, n.inputs, n.outputs.size()}];
    const auto twin =
        std::find_if(candidates.begin(), candidates.end(), [&](NodeId other) { return same(graph.node(other), n); });
    if (twin == candidates.end()) {
      candidates.push_back(id);
      continue;
    }
    const std::vector<ValueId> outputs = n.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != ValueId::none) graph.replace_uses(outputs[i], graph.node(*twin).outputs[i]);
    }
    remove_dead(graph, id);
    context.count("node");
  }
}

void merge_common_subexpressions(Graph& graph, PassContext& context) {
  merge_constants(graph, context);
  merge_nodes(graph, context);
}

}  // namespace

constinit const Pass pass_common_subexpressions{"common_subexpressions", 1, merge_common_subexpressions};

}  // namespace retort
