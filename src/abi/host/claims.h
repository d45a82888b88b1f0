// The objects that plug-ins write their claims to.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "abi/graphs/graph.h"
#include "abi/host/kernel_def.h"
#include "ep/provider.h"

/// The claims of one call of GetCapability.
struct OrtEpGraphSupportInfo : retort::abi::Handle<retort::abi::tag_of("gsup")> {
  const OrtGraph* graph = nullptr;             ///< whose nodes may be claimed
  const OrtKernelRegistry* kernels = nullptr;  ///< the provider's
  std::string provider;
  std::vector<retort::Claim> claims;
  std::vector<const OrtNode*> singles;            ///< per claim: the node for a kernel; null: nodes to compile
  std::map<retort::NodeId, std::string> refused;  ///< why no kernel of it runs a node, as reported
};

/// The name of a compiled part.
struct OrtNodeComputeContext : retort::abi::Handle<retort::abi::tag_of("ncmp")> {
  std::string name;
};
