// OrtMemoryInfo: a memory space with a name and the old ways of naming it.
#pragma once
#include <string>

#include "abi/handle.h"
#include "tensor/memory_space.h"

/// A view of the space inside an OrtMemoryInfo.
struct OrtMemoryDevice : retort::MemorySpace {};

struct OrtMemoryInfo : retort::abi::Handle<retort::abi::tag_of("memi")> {
  std::string name;
  OrtMemoryDevice space;
  OrtMemType mem_type = OrtMemTypeDefault;
  OrtAllocatorType allocator_type = OrtDeviceAllocator;

  /// Names count: two infos of one space with different labels differ.
  bool operator==(const OrtMemoryInfo& o) const {
    return name == o.name && static_cast<const retort::MemorySpace&>(space) == o.space && mem_type == o.mem_type &&
           allocator_type == o.allocator_type;
  }
};

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
