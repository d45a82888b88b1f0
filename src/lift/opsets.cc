#include <algorithm>

#include "lift/lift.h"
#include "lift/rewriter.h"
#include "lift/schema_types.h"
#include "ops/op.h"

namespace retort {
namespace {

/// The first version with the newest form of an operator: that of the last lift step, or the one that introduced the
/// operator.
int form_version(const OpDef& op) {
  int version = std::max<int>(op.info.since[0], 1);
  for (const LiftRules* file : lift_rule_table()) {
    for (const LiftRule& rule : *file) {
      const bool steps = rule.type == op.info.name && rule.domain == op.info.domain && rule.to != kAlways;
      if (steps) version = std::max(version, rule.to);
    }
  }
  return version;
}

void raise_opsets(const Graph& graph, std::map<std::string, int>& opsets) {
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    int& version = opsets.try_emplace(n.domain, 1).first->second;
    if (n.op) version = version_for_types(graph, n, std::max(version, form_version(*n.op)));
    if (n.attributes.find("allowzero")) version = std::max(version, 14);  // of Reshape; the lift itself sets it
    for (const Body& b : n.bodies) raise_opsets(*b.graph, opsets);
  }
}

}  // namespace

std::map<std::string, int> lifted_opsets(const Graph& graph, std::map<std::string, int> opsets) {
  raise_opsets(graph, opsets);
  return opsets;
}

}  // namespace retort
