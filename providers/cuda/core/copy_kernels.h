// Kernels for the copies that the official library inserts between a device and nodes that run elsewhere. It asks for
// them even if the provider compiles parts.
#pragma once
#include "capture.h"
#include "place.h"

namespace providers::cuda {

/// What the kernels work with. It must outlive the registry.
struct CopyState {
  Device* device = nullptr;
  std::shared_ptr<Captures> captures;  ///< null without capturing
};
/// A registry with MemcpyToHost and MemcpyFromHost.
OrtKernelRegistry* make_copy_kernels(const CopyState* state);

}  // namespace providers::cuda
