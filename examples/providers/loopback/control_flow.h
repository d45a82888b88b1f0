// If, Loop and Scan in the style of kernels: the host has kernels for them, which run the nodes of their bodies.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kernels.h"

namespace loopback {

/// One that the host has a kernel for.
struct ControlFlow {
  int since;
  std::vector<size_t> host_inputs;  ///< read by the host: trip counts and conditions
  std::vector<std::string> types;   ///< type parameters that take all types of tensors
  OrtKernelCreateFunc create;       ///< with a KernelState
};
const std::map<std::string, ControlFlow>& control_flow();

}  // namespace loopback
