// Gives providers their parts of a model: each becomes one node.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ep/device_run.h"
#include "ir/graph.h"
#include "ops/external.h"

namespace retort {

/// One provider's part, for those who ask who runs what.
struct Assignment {
  std::string provider, name;
  const Graph* graph = nullptr;  ///< the model's, or a body in it
  std::vector<NodeId> nodes;     ///< of the graph as it was before
  bool single = false;           ///< one node, whose bodies are left
};

/// Asks the providers in order for nodes of `model`, bodies first, whose functions are expanded, cuts out what they claim, has it
/// compiled, and puts one node in its place, which lift() leaves alone. Types of values are inferred before, as far as
/// `external` and the engine's operators allow. Throws ep_fail naming provider and node where a claim cannot be kept: nodes
/// that are not there, were claimed before, or need each other's results through nodes that were not claimed.
std::vector<Assignment> partition(Model& model, const SessionDevices& session, const ExternalOps* external);

}  // namespace retort
