#include "plan/model_nodes.h"

#include <algorithm>

#include "base/loading.h"
#include "ir/describe.h"

namespace retort {

void ModelNodes::add(const Graph& graph) {
  uint32_t index = 0;
  by_label_.reserve(std::max(by_label_.size(), graph.order().size()));
  for (const NodeId id : graph.order()) {
    check_loading();
    const Node& node = graph.node(id);
    const Known one{node.domain, node.type, index++, !node.name.empty()};
    const auto [at, added] = by_label_.try_emplace(label(graph, node), one);
    at->second.ambiguous |= at->second.type != node.type || at->second.domain != node.domain;
    for (const Body& b : node.bodies) add(*b.graph);
  }
}

const ModelNodes::Known* ModelNodes::find(const std::string& label) const {
  const auto found = by_label_.find(label);
  return found == by_label_.end() ? nullptr : &found->second;
}

}  // namespace retort
