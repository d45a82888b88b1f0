// OrtMemoryInfo: a memory space with a name and the old ways of naming it.
#pragma once
#include <cstddef>
#include <string>

#include "abi/handle.h"
#include "tensor/memory_space.h"

/// A view of the space inside an OrtMemoryInfo.
struct OrtMemoryDevice : retort::MemorySpace {};

/// Begins like the struct of ONNX Runtime 1.31: plug-ins that were built from its sources, WebGPU's for one, copy the info of
/// an allocator (OrtAllocator::Info) as an object of their own, and do not ask for it.
struct OrtMemoryInfo {
  static constexpr uint32_t kTag = retort::abi::tag_of("memi");
  struct Device {
    int8_t type = 0, kind = 0;
    int16_t id = 0;
    uint32_t vendor = 0;
    uint64_t alignment = 0;
  };

  std::string name;
  OrtMemType mem_type = OrtMemTypeDefault;
  OrtAllocatorType allocator_type = OrtDeviceAllocator;
  Device device;  ///< the space, to be read by plug-ins; from here on fields are our own
  uint32_t tag = kTag;
  OrtMemoryDevice space;

  void lie_in(const retort::MemorySpace& where) {
    static_cast<retort::MemorySpace&>(space) = where;
    device = {int8_t(where.device), int8_t(where.kind), int16_t(where.device_id), where.vendor_id, where.alignment};
  }

  /// Names count: two infos of one space with different labels differ.
  bool operator==(const OrtMemoryInfo& o) const {
    return name == o.name && static_cast<const retort::MemorySpace&>(space) == o.space && mem_type == o.mem_type &&
           allocator_type == o.allocator_type;
  }
};

static_assert(offsetof(OrtMemoryInfo, mem_type) == 32 && offsetof(OrtMemoryInfo, device) == 40);

namespace retort::abi {

/// Plain host memory.
const OrtMemoryInfo& cpu_memory_info();
/// An equal info that lives as long as the library, so that values need not copy names.
const OrtMemoryInfo& interned(const OrtMemoryInfo& info);
/// What info_of() calls a space from now on: its provider's own name. The first name stays.
void name_space(const MemorySpace& space, const std::string& name);
/// An info for memory that came without one: its provider's name for it, else the conventional one.
const OrtMemoryInfo& info_of(const MemorySpace& space);

}  // namespace retort::abi
