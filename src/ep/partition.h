// Gives providers their parts of a model: each becomes one node.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ep/device_run.h"
#include "ep/stand_in.h"
#include "ir/graph.h"
#include "ops/external.h"

namespace retort {

/// One provider's part, for those who ask who runs what.
struct Assignment {
  std::string provider, name;
  const Graph* graph = nullptr;         ///< the model's, or a body in it
  std::vector<NodeId> nodes;            ///< of the graph as it was before, every producer before its consumers
  bool single = false;                  ///< one node, whose bodies are left
  MemorySpace space;                    ///< the provider's own
  std::vector<std::string> constants;   ///< that the part has inside
  std::shared_ptr<const Graph> inside;  ///< the nodes as the provider had them, without the bodies of a single one
  NodeId node = NodeId::none;           ///< of the graph as it is now: what the part became
  const StandIn* stand_in = nullptr;  ///< null: the provider made none; else it goes with the node that the part became
};

/// Brings a model whose functions are expanded to the form in which providers see it: Constant nodes are constants, types
/// of values are inferred as far as `external` and the engine's operators allow.
void show_to_providers(Model& model, const ExternalOps* external);

/// Asks the providers in order for nodes of such a model, bodies first, cuts out what they claim, has it compiled, and puts
/// one node in its place, which lift() leaves alone. Throws ep_fail naming provider and node where a claim cannot be kept: nodes
/// that are not there, were claimed before, or need each other's results through nodes that were not claimed.
std::vector<Assignment> partition(Model& model, const SessionDevices& session);

}  // namespace retort
