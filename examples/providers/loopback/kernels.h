// Registers kernels for single nodes with the host, instead of compiling parts.
#pragma once
#include "host.h"

namespace loopback {

/// Makes a registry with kernels that copy between host and device and, if `operators` is set, with those of all
/// operators. If a value passes between a device and a node that runs elsewhere, the official library inserts a node
/// MemcpyToHost or MemcpyFromHost and asks the device's provider for its kernel, even if the provider compiles parts.
/// `state` is kept by address: all kernels use it, so it must live as long as the registry.
OrtKernelRegistry* make_registry(const Host& host, const char* provider, const struct KernelState* state,
                                 bool operators);

/// The state that kernels are made with.
struct KernelState {
  Host host;
  int device;
};

}  // namespace loopback
