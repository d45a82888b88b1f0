#include <vector>

#include "base/error.h"
#include "ir/describe.h"
#include "ir/graph.h"

namespace retort {
namespace {

template <typename... A>
void check(bool ok, const Graph& g, fmt::format_string<A...> text, const A&... args) {
  if (!ok) fail(ErrorCode::invalid_graph, "graph '{}': {}", g.name, cat(text, args...));
}

void verify_node(const Graph& g, const Node& n, const std::vector<bool>& listed) {
  for (uint32_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId in = n.inputs[i];
    if (in == ValueId::none) continue;
    check(size_t(in) < g.value_count(), g, "{} input {} is not a value", describe(g, n), i);
    check(listed[i], g, "{} input {} is not among the uses of '{}'", describe(g, n), i, g.value(in).name);
  }
  for (uint32_t i = 0; i < n.outputs.size(); ++i) {
    const ValueId out = n.outputs[i];
    if (out == ValueId::none) continue;
    const GraphValue& v = g.value(out);
    check(v.producer == n.id && v.producer_slot == i, g, "{} output {} has another producer", describe(g, n), i);
    check(!v.is_constant(), g, "{} produces the constant '{}'", describe(g, n), v.name);
  }
  check(n.captures <= n.inputs.size(), g, "{} has more captures than inputs", describe(g, n));
  for (const Body& b : n.bodies) {
    check(b.graph != nullptr, g, "{} has an empty body", describe(g, n));
    check(b.graph->captures == n.captures, g, "{} and its body '{}' have different captures", describe(g, n),
          b.attribute);
    verify(*b.graph);
  }
}

// For each node: which of its inputs are listed, exactly once, among the uses of their value.
std::vector<std::vector<bool>> listed_uses(const Graph& g) {
  std::vector<std::vector<bool>> listed(g.node_count());
  for (size_t i = 0; i < listed.size(); ++i) listed[i].resize(g.node(NodeId(i)).inputs.size());
  for (size_t i = 0; i < g.value_count(); ++i) {
    const GraphValue& v = g.value(ValueId(i));
    for (const Use& u : v.uses) {
      const Node& n = g.node(u.node);
      check(!n.dead && u.slot < n.inputs.size() && n.inputs[u.slot] == ValueId(i), g,
            "'{}' lists a use that does not exist", v.name);
      check(!listed[size_t(u.node)][u.slot], g, "'{}' lists a use twice", v.name);
      listed[size_t(u.node)][u.slot] = true;
    }
  }
  return listed;
}

}  // namespace

void verify(const Graph& g) {
  const std::vector<std::vector<bool>> listed = listed_uses(g);
  for (NodeId id : g.order()) verify_node(g, g.node(id), listed[size_t(id)]);  // order() detects cycles
  for (ValueId out : g.outputs) {
    const GraphValue& v = g.value(out);
    check(v.producer != NodeId::none || v.is_constant() || g.is_input(out), g, "output '{}' has no producer", v.name);
  }
}

}  // namespace retort
