// Converts images to channels-last layout for providers whose kernels need it.
#pragma once
#include <vector>

#include "ep/provider.h"

namespace retort {

/// The domain of operators whose first input and output have channels last; otherwise they are as in ai.onnx. Plug-ins
/// know the domain by this name.
constexpr const char* kChannelsLastDomain = "com.ms.internal.nhwc";

/// Moves those nodes of `claims` that `provider` wants with channels last to that domain, and inserts transposes around
/// them. `graph` is the model's, or a body. Transposes between nodes that agree are left out, and transposes move
/// past elementwise nodes of any provider. Returns the nodes that changed their domain; if there are
/// none, the graph is unchanged.
std::vector<NodeId> to_channels_last(Model& model, Graph& graph, const Provider& provider,
                                     const std::vector<Claim>& claims);

/// Throws ep_fail naming provider and node if one of `changed` is in no claim: only this provider can run it.
void check_claimed(const Graph& graph, const Provider& provider, const std::vector<NodeId>& changed,
                   const std::vector<Claim>& claims);

}  // namespace retort
