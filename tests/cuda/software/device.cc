#include "device.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "counts.h"

namespace software_cuda {

static int64_t number_from(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text && *text ? std::atoll(text) : otherwise;
}

int device_count() {
  static const int count = int(std::clamp<int64_t>(number_from("SOFTWARE_CUDA_DEVICES", 1), 0, 2));
  return count;
}

int architecture() {
  static const int value = int(number_from("SOFTWARE_CUDA_ARCHITECTURE", 90));
  return value;
}

static std::vector<std::unique_ptr<DeviceMemory>>& memories() {
  static auto& all = *[] {
    auto* const made = new std::vector<std::unique_ptr<DeviceMemory>>;
    const auto bytes = size_t(number_from("SOFTWARE_CUDA_MEMORY", int64_t(8) << 30));
    for (int d = 0; d < device_count(); ++d) made->push_back(std::make_unique<DeviceMemory>(bytes));
    return made;
  }();
  return all;
}

DeviceMemory& memory(int device) { return *memories()[size_t(device)]; }

DeviceMemory* memory_of(Address address) {
  for (const auto& m : memories())
    if (m->in_range(address)) return m.get();
  return nullptr;
}

static char contexts[2];
CUcontext context(int device) { return reinterpret_cast<CUcontext>(&contexts[device]); }

int device_of(CUcontext c) {
  for (int d = 0; d < device_count(); ++d)
    if (context(d) == c) return d;
  return -1;
}

CUcontext& current() {
  thread_local CUcontext c = nullptr;
  return c;
}

int current_device() { return current() ? device_of(current()) : -1; }

Counts& counts() {
  static auto& all = *new Counts;
  return all;
}

}  // namespace software_cuda
