// If, Loop and Scan as kernels: the host has kernels for them, which run the nodes of their bodies.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kernels.h"

namespace loopback {

/// An operator that the host has a kernel for.
struct ControlFlow {
  int since;
  std::vector<size_t> host_inputs;  ///< read by the host: trip counts and conditions
  std::vector<std::string> types;   ///< type parameters that allow all types of tensors
  OrtKernelCreateFunc create;       ///< takes a KernelState
};
const std::map<std::string, ControlFlow>& control_flow();

}  // namespace loopback
