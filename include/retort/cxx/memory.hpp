// Descriptions of memory, allocators and what they allocate; part of retort.hpp.
#pragma once
#include <cstddef>
#include <map>
#include <string>

#include "library.hpp"

namespace retort::api {

/// Describes where memory is. A view that lives as long as the object that it comes from. May be empty.
class MemoryView {
 public:
  MemoryView() = default;
  explicit MemoryView(const OrtMemoryInfo* info) noexcept : info_(info) {}
  operator const OrtMemoryInfo*() const noexcept { return info_; }  // NOLINT: implicit, for calls in C style
  explicit operator bool() const noexcept { return info_ != nullptr; }

  std::string name() const {
    const char* text = nullptr;
    check(api().MemoryInfoGetName(info_, &text));
    return text;
  }
  int device_id() const {
    int id = 0;
    check(api().MemoryInfoGetId(info_, &id));
    return id;
  }
  OrtMemoryInfoDeviceType device() const {
    OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
    api().MemoryInfoGetDeviceType(info_, &type);
    return type;
  }
  /// The PCI vendor of the device, 0 for the processor; since 1.23.
  uint32_t vendor_id() const {
    Library::need(23, "the vendor of memory");
    return api().MemoryInfoGetVendorId(info_);
  }
  /// Memory of the device alone, or memory that both the device and the host can read; since 1.23.
  OrtDeviceMemoryType kind() const {
    Library::need(23, "the kind of memory");
    return api().MemoryInfoGetDeviceMemType(info_);
  }
  OrtAllocatorType allocator_type() const {
    OrtAllocatorType type = OrtInvalidAllocator;
    check(api().MemoryInfoGetType(info_, &type));
    return type;
  }
  /// Whether the program may read the memory through a pointer.
  bool host_can_read() const {
    if (device() == OrtMemoryInfoDeviceType_CPU) return true;
    if (Library::version() >= 23) return kind() == OrtDeviceMemoryType_HOST_ACCESSIBLE;
    OrtMemType type = OrtMemTypeDefault;
    check(api().MemoryInfoGetMemType(info_, &type));
    return type != OrtMemTypeDefault;
  }

 private:
  const OrtMemoryInfo* info_ = nullptr;
};

inline bool operator==(MemoryView a, MemoryView b) {
  int differ = 0;
  check(api().CompareMemoryInfo(a, b, &differ));
  return differ == 0;
}

/// A description of memory that the program makes.
class MemoryInfo : public Owner<OrtMemoryInfo, &OrtApi::ReleaseMemoryInfo> {
 public:
  static MemoryInfo cpu() {
    MemoryInfo info;
    check(api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, info.out()));
    return info;
  }
  /// A well-known name: "Cuda", "CudaPinned", …
  MemoryInfo(const char* name, int device_id) {
    check(api().CreateMemoryInfo(name, OrtDeviceAllocator, device_id, OrtMemTypeDefault, out()));
  }
  /// Any device, under a name of the program's choice: vendor, number, kind and alignment (0: the device's default)
  /// identify the memory; since 1.23.
  MemoryInfo(const char* name, OrtMemoryInfoDeviceType device, uint32_t vendor_id, int32_t device_id,
             OrtDeviceMemoryType kind = OrtDeviceMemoryType_DEFAULT, size_t alignment = 0,
             OrtAllocatorType allocator_type = OrtDeviceAllocator) {
    Library::need(23, "a memory info of any device");
    check(api().CreateMemoryInfo_V2(name, device, vendor_id, device_id, kind, alignment, allocator_type, out()));
  }
  MemoryView view() const noexcept { return MemoryView(get()); }

 private:
  MemoryInfo() = default;
};

/// The library's allocator for host memory; never released. Thread-safe.
inline OrtAllocator* default_allocator() {
  OrtAllocator* allocator = nullptr;
  check(api().GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

/// Text or an array that the library allocated; freed at the end of the scope.
template <typename T>
using Allocated = std::unique_ptr<T, decltype([](void* p) {
                                    OrtAllocator* allocator = default_allocator();
                                    allocator->Free(allocator, p);
                                  })>;

/// Bytes from an allocator, freed at the end of the scope; the allocator must outlive them.
class Block {
 public:
  Block(OrtAllocator* allocator, size_t bytes) : allocator_(allocator), bytes_(bytes) {
    check(api().AllocatorAlloc(allocator_, bytes, &data_));
  }
  Block(Block&& other) noexcept
      : allocator_(other.allocator_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Block() {
    if (data_) allocator_->Free(allocator_, data_);
  }
  /// The address, which may be one of a device.
  void* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }

 private:
  OrtAllocator* allocator_;
  void* data_ = nullptr;
  size_t bytes_;
};

/// The memory that an allocator allocates; the view lives as long as the allocator.
inline MemoryView memory_of(const OrtAllocator* allocator) {
  const OrtMemoryInfo* info = nullptr;
  check(api().AllocatorGetInfo(allocator, &info));
  return MemoryView(info);
}

/// An allocator's statistics ("InUse", "MaxInUse", …); empty if it has none; since 1.23.
inline std::map<std::string, std::string> statistics_of(const OrtAllocator* allocator) {
  Library::need(23, "the statistics of an allocator");
  OrtKeyValuePairs* list = nullptr;
  check(api().AllocatorGetStats(allocator, &list));
  return KeyValues(list).entries();
}

}  // namespace retort::api
