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
  std::vector<NodeId> nodes;           ///< of the graph as it was before
  MemorySpace space;                   ///< the provider's own
  std::vector<std::string> constants;  ///< that the part has inside
};

/// Asks the providers in order for nodes of `model`, whose functions are expanded, cuts out what they claim, has it
/// compiled, and puts one node in its place, which lift() leaves alone. Types of values are inferred before, as far as
/// `external` and the engine's operators allow. Throws ep_fail naming provider and node where a claim cannot be kept: nodes
/// that are not there, were claimed before, or need each other's results through nodes that were not claimed.
std::vector<Assignment> partition(Model& model, const SessionDevices& session, const ExternalOps* external);

}  // namespace retort
