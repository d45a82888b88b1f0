// What libcuda's stand-in offers to those of cuBLASLt and cuDNN.
#pragma once
#include <functional>

extern "C" {
/// The place of the bytes of a device address; host addresses stay.
unsigned long long SoftwareCudaBehind(unsigned long long address);
/// Of the devices: 90 for compute capability 9.0.
int SoftwareCudaArchitecture();
/// Adds work to a stream of the current context, or to its capture. `drop` destroys `data` when the work cannot come
/// any more. Returns a code of the driver.
int SoftwareCudaSubmit(void* stream, void (*work)(void*), void* data, void (*drop)(void*));
}

namespace software_cuda {

inline int submit(void* stream, std::function<void()> work) {
  using Work = std::function<void()>;
  return SoftwareCudaSubmit(
      stream, [](void* w) { (*static_cast<Work*>(w))(); }, new Work(std::move(work)),
      [](void* w) { delete static_cast<Work*>(w); });
}

/// Where the bytes of device memory are.
template <typename T>
T* behind(T* address) {
  return reinterpret_cast<T*>(SoftwareCudaBehind(reinterpret_cast<unsigned long long>(address)));
}

}  // namespace software_cuda
