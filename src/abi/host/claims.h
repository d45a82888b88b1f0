// What plug-ins write their claims into.
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
  const OrtKernelRegistry* kernels = nullptr;  ///< of the provider
  std::string provider;
  std::vector<retort::Claim> claims;
  std::vector<const OrtNode*> singles;            ///< by claim: the node, where a kernel is to run it alone
  std::map<retort::NodeId, std::string> refused;  ///< why no kernel of its runs a node, as it was told
};

/// What a compiled part is called.
struct OrtNodeComputeContext : retort::abi::Handle<retort::abi::tag_of("ncmp")> {
  std::string name;
};
