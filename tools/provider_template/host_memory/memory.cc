// Tensors lie in ordinary memory, as those of the CPU do: nothing has to be copied.
#include "memory.h"

namespace sample_provider {

Memory::Memory(const Host& host) : host_(host) {}
Memory::~Memory() = default;
void Memory::describe(OrtEpDevice*) const {}
OrtAllocator* Memory::make_allocator() const { return nullptr; }
void Memory::release(OrtAllocator*) {}
OrtDataTransferImpl* Memory::make_transfer() const { return nullptr; }

std::shared_ptr<float> scratch(size_t elements) { return {new float[elements], std::default_delete<float[]>()}; }

void add_copies(const Host&, OrtKernelRegistry*) {}

}  // namespace sample_provider
