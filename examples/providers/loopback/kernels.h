// The other style: kernels for single nodes, registered with the host.
#pragma once
#include "host.h"

namespace loopback {

/// Kernels that copy between host and device, and those of all operators where `operators` says so. Where a node that runs
/// elsewhere reads or makes what a device makes or reads, the official library puts a node MemcpyToHost or
/// MemcpyFromHost there, and asks the provider of the device for its kernel, whatever style the provider has.
/// `device` is kept by address: it is the state of all kernels, and must live as long as the registry.
OrtKernelRegistry* make_registry(const Host& host, const char* provider, const struct KernelState* state,
                                 bool operators);

/// What kernels are made with.
struct KernelState {
  Host host;
  int device;
};

}  // namespace loopback
