// What plug-ins write their claims into.
#pragma once
#include <string>
#include <vector>

#include "abi/graph.h"
#include "ep/provider.h"

/// The claims of one call of GetCapability.
struct OrtEpGraphSupportInfo : retort::abi::Handle<retort::abi::tag_of("gsup")> {
  const OrtGraph* graph = nullptr;  ///< whose nodes may be claimed
  std::vector<retort::Claim> claims;
};

/// What a compiled part is called.
struct OrtNodeComputeContext : retort::abi::Handle<retort::abi::tag_of("ncmp")> {
  std::string name;
};
