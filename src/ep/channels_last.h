// Images with their channels last, for providers whose kernels want them so.
#pragma once
#include <vector>

#include "ep/provider.h"

namespace retort {

/// The domain of operators whose first input and output have their channels last; all else is as in ai.onnx. Known to
/// plug-ins by that name.
constexpr const char* kChannelsLastDomain = "com.ms.internal.nhwc";

/// Moves the nodes of `claims`, of `graph` (the model's, or a body), that `provider` wants with channels last to that domain, with transposes around them, which
/// are left out between nodes that agree and moved behind nodes that work on each element, whoever runs them. Gives the nodes that
/// changed their domain; none: the graph is as it was.
std::vector<NodeId> to_channels_last(Model& model, Graph& graph, const Provider& provider,
                                     const std::vector<Claim>& claims);

/// Throws ep_fail naming provider and node where one of `changed` is in no claim: nobody else can run it.
void check_claimed(const Graph& graph, const Provider& provider, const std::vector<NodeId>& changed,
                   const std::vector<Claim>& claims);

}  // namespace retort
