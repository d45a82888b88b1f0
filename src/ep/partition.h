// Divides a model into parts for providers: each part becomes one node.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ep/device_run.h"
#include "ep/stand_in.h"
#include "ir/graph.h"
#include "ops/external.h"

namespace retort {

/// A provider's part, to report which provider runs which nodes.
struct Assignment {
  std::string provider, name;
  const Graph* graph = nullptr;         ///< the model's, or a body in it
  std::vector<NodeId> nodes;            ///< of the graph before it was cut, every producer before its consumers
  bool single = false;                  ///< one node, whose bodies stay
  MemorySpace space;                    ///< the provider's
  std::vector<std::string> constants;   ///< names of the constants inside the part
  bool drops_constants = false;         ///< the provider keeps their bytes, if it needs them
  std::shared_ptr<const Graph> inside;  ///< the nodes as the provider received them; of a single node without bodies
  NodeId node = NodeId::none;           ///< in the graph as it is now: the node that the part became
  const StandIn* stand_in = nullptr;    ///< null: the provider made none; lives as long as that node
};

/// Converts a model whose functions are expanded to the form that providers see: Constant nodes become constants, and
/// types of values are inferred as far as `external` and the engine's operators allow.
void show_to_providers(Model& model, const ExternalOps* external);

/// Why these nodes of the graph cannot be one part: a result leaves it and comes back, so neither side could run first.
/// Empty if they can.
std::string why_not_closed(const Graph& graph, std::span<const NodeId> nodes);

/// Asks the providers in order to claim nodes of such a model, bodies first. Cuts out each claim, has it compiled, and
/// replaces it by one node, which lift() does not change. Claims of a provider that comes after the CPU are dropped if
/// the CPU can run one of their nodes, where `external` has operators of the caller. Throws ep_fail naming provider and
/// node if a claim is invalid: its nodes do not exist, were claimed before, or need each other's results through nodes
/// outside the claim.
std::vector<Assignment> partition(Model& model, const SessionDevices& session, const ExternalOps* external = nullptr);

/// The providers at the borders of a graph, by input and by output. An input that several nodes read counts for the
/// first in the order of the file; compiled parts come after single nodes, as in the official library. Nothing: no node
/// reads the input or makes the output.
struct PortOwners {
  std::vector<std::optional<std::string>> readers, makers;
};
/// `parts`: those that partition() cut out of the graph.
PortOwners owners_of_ports(const Graph& graph, const std::vector<Assignment>& parts);

}  // namespace retort
