// The memory that the provider's tensors lie in.
#pragma once
#include <memory>

#include "host.h"

namespace sample_provider {

/// One per factory. If the provider uses memory of the host, it does nothing and the pointers that it gives are null.
class Memory {
 public:
  explicit Memory(const Host& host);
  ~Memory();
  Memory(const Memory&) = delete;

  /// Says which memory a device has, before it is offered to the host.
  void describe(OrtEpDevice* device) const;
  /// For the host's tensors; release() ends it.
  OrtAllocator* make_allocator() const;
  static void release(OrtAllocator* allocator);
  /// Copies tensors between the host and the device.
  OrtDataTransferImpl* make_transfer() const;

 private:
  const Host host_;
  OrtMemoryInfo* info_ = nullptr;
};

/// Memory for a result that does not leave a part.
std::shared_ptr<float> scratch(size_t elements);

/// The kernels that copy between the host and the device, where the memory is not the host's. Retort copies by the
/// transfer; ONNX Runtime inserts nodes that these run, even for providers that compile.
void add_copies(const Host& host, OrtKernelRegistry* registry);

}  // namespace sample_provider
