#include "session/assigned.h"

#include <algorithm>
#include <map>

#include "ops/external.h"
namespace retort {
namespace {

// Constant nodes are left out, as in ONNX Runtime, where they are initializers.
void add_nodes(const Graph& graph, const AssignedNode::Path& around, std::vector<AssignedPart>& all) {
  const auto path_to = [&](NodeId id) {
    AssignedNode::Path path{{&graph, id}};
    path.insert(path.end(), around.begin(), around.end());
    return path;
  };
  for (const NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies) add_nodes(*b.graph, path_to(id), all);
  }
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (!n.is("Constant")) all.push_back({kCpuProvider, {{n.name, n.domain, n.type, path_to(id)}}});
  }
}

}  // namespace

std::vector<AssignedPart> parts_of_cpu(const Graph& graph) {
  std::vector<AssignedPart> all;
  add_nodes(graph, {}, all);
  return all;
}

std::vector<AssignedPart> with_parts(std::vector<AssignedPart> of_cpu, std::span<const Assignment> parts) {
  std::vector<AssignedPart> all;
  std::map<std::pair<const Graph*, NodeId>, size_t> part_of;
  for (const Assignment& part : parts) {
    for (const NodeId id : part.nodes) part_of[{part.graph, id}] = all.size();
    all.push_back({part.provider, {}});
  }
  for (AssignedPart& one : of_cpu) {
    AssignedNode& node = one.nodes[0];
    // A part contains the bodies of its nodes, unless it is a single node, whose bodies stay with the engine.
    const auto in_part = [&](const auto& step) {
      const auto part = part_of.find(step);
      return part != part_of.end() && (step == node.path[0] || !parts[part->second].single);
    };
    const auto step = std::ranges::find_if(node.path, in_part);
    if (step == node.path.end())
      all.push_back(std::move(one));
    else
      all[part_of.at(*step)].nodes.push_back(std::move(node));
  }
  // A part may consist of Transpose nodes that a change of layout has added, which are not nodes of the model.
  std::erase_if(all, [](const AssignedPart& part) { return part.nodes.empty(); });
  return all;
}

}  // namespace retort
