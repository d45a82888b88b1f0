// Kernels that the host looks up when a node of theirs was claimed alone.
#pragma once
#include "host.h"

namespace sample_provider {

/// Inputs and outputs of a kernel that always lie on the host.
enum class Side { none, input, output };

struct KernelSpec {
  std::string type;                                 ///< of operators of ONNX
  int since, until;                                 ///< their versions
  std::vector<ONNXTensorElementDataType> elements;  ///< of the type parameter T
  Side on_host = Side::none;
};

/// Describes the kernel to the registry, which keeps the address of `host`: that has to live as long as the registry.
/// `create` is handed it as its state.
void add_kernel(const Host& host, OrtKernelRegistry* registry, const KernelSpec& spec, OrtKernelCreateFunc create);

/// The function that makes a kernel of class K, from the host and the node.
template <typename K>
OrtStatus* create_kernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel) noexcept {
  const Host& host = *static_cast<const Host*>(state);
  return entry(host, [&] { *kernel = new K(host, info); });
}

}  // namespace sample_provider
