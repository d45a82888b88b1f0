// Part of onnxruntime_cxx_api.h: lists of keys and values, memory locations, allocators, streams.
#pragma once
#include "calls.h"

namespace Ort {

struct Session;

namespace detail {
template <typename T>
struct KeyValuePairsImpl : Ort::detail::Base<T> {
  using B = Ort::detail::Base<T>;
  using B::B;

  // The value of a key, or null.
  const char* GetValue(const char* key) const { return GetApi().GetKeyValue(this->p_, key); }

  std::unordered_map<std::string, std::string> GetKeyValuePairs() const {
    std::vector<const char*> keys, values;
    GetKeyValuePairs(keys, values);
    std::unordered_map<std::string, std::string> map;
    for (size_t i = 0; i < keys.size(); ++i) map.emplace(keys[i], values[i]);
    return map;
  }

  // The texts belong to this object.
  void GetKeyValuePairs(std::vector<const char*>& keys, std::vector<const char*>& values) const {
    const char* const* all_keys = nullptr;
    const char* const* all_values = nullptr;
    size_t count = 0;
    GetApi().GetKeyValuePairs(this->p_, &all_keys, &all_values, &count);
    keys.assign(all_keys, all_keys + count);
    values.assign(all_values, all_values + count);
  }
};
}  // namespace detail

using ConstKeyValuePairs = detail::KeyValuePairsImpl<Ort::detail::Unowned<const OrtKeyValuePairs>>;

struct KeyValuePairs : detail::KeyValuePairsImpl<OrtKeyValuePairs> {
  explicit KeyValuePairs(std::nullptr_t) {}
  explicit KeyValuePairs(OrtKeyValuePairs* p) : KeyValuePairsImpl<OrtKeyValuePairs>(p) {}
  explicit KeyValuePairs() { GetApi().CreateKeyValuePairs(&p_); }
  explicit KeyValuePairs(const std::unordered_map<std::string, std::string>& kv_pairs) : KeyValuePairs() {
    for (const auto& [key, value] : kv_pairs) Add(key.c_str(), value.c_str());
  }

  // Copies both. A key that is there already gets the new value.
  void Add(const char* key, const char* value) { GetApi().AddKeyValuePair(p_, key, value); }
  void Remove(const char* key) { GetApi().RemoveKeyValuePair(p_, key); }

  ConstKeyValuePairs GetConst() const { return ConstKeyValuePairs{this->p_}; }
};

namespace detail {
template <typename T>
struct MemoryInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  std::string GetAllocatorName() const { return FetchView(GetApi().MemoryInfoGetName, this->p_); }
  OrtAllocatorType GetAllocatorType() const { return Fetch<OrtAllocatorType>(GetApi().MemoryInfoGetType, this->p_); }
  int GetDeviceId() const { return Fetch<int>(GetApi().MemoryInfoGetId, this->p_); }
  OrtMemoryInfoDeviceType GetDeviceType() const {
    OrtMemoryInfoDeviceType type{};
    GetApi().MemoryInfoGetDeviceType(this->p_, &type);
    return type;
  }
  OrtMemType GetMemoryType() const { return Fetch<OrtMemType>(GetApi().MemoryInfoGetMemType, this->p_); }
  OrtDeviceMemoryType GetDeviceMemoryType() const { return GetApi().MemoryInfoGetDeviceMemType(this->p_); }
  uint32_t GetVendorId() const { return GetApi().MemoryInfoGetVendorId(this->p_); }

  template <typename U>
  bool operator==(const MemoryInfoImpl<U>& o) const {
    const OrtMemoryInfo* other = o;
    return Fetch<int>(GetApi().CompareMemoryInfo, this->p_, other) == 0;
  }
};
}  // namespace detail

using ConstMemoryInfo = detail::MemoryInfoImpl<detail::Unowned<const OrtMemoryInfo>>;

struct MemoryInfo : detail::MemoryInfoImpl<OrtMemoryInfo> {
  static MemoryInfo CreateCpu(OrtAllocatorType type, OrtMemType mem_type1) {
    return MemoryInfo(detail::Fetch<OrtMemoryInfo*>(GetApi().CreateCpuMemoryInfo, type, mem_type1));
  }

  explicit MemoryInfo(std::nullptr_t) {}
  explicit MemoryInfo(OrtMemoryInfo* p) : MemoryInfoImpl<OrtMemoryInfo>(p) {}
  MemoryInfo(const char* name, OrtAllocatorType type, int id, OrtMemType mem_type) {
    ThrowOnError(GetApi().CreateMemoryInfo(name, type, id, mem_type, &p_));
  }
  // A location by the kind, vendor and number of its device; the name is free. Alignment 0: that of the device.
  MemoryInfo(const char* name, OrtMemoryInfoDeviceType device_type, uint32_t vendor_id, uint32_t device_id,
             OrtDeviceMemoryType mem_type, size_t alignment, OrtAllocatorType allocator_type) {
    ThrowOnError(GetApi().CreateMemoryInfo_V2(name, device_type, vendor_id, static_cast<int32_t>(device_id), mem_type,
                                              alignment, allocator_type, &p_));
  }

  ConstMemoryInfo GetConst() const { return ConstMemoryInfo{this->p_}; }
};

// Owns memory of an allocator, which must outlive it.
struct MemoryAllocation {
  MemoryAllocation(OrtAllocator* allocator, void* p, size_t size) : allocator_(allocator), p_(p), size_(size) {}
  ~MemoryAllocation() { Free(); }
  MemoryAllocation(const MemoryAllocation&) = delete;
  MemoryAllocation& operator=(const MemoryAllocation&) = delete;
  MemoryAllocation(MemoryAllocation&& other) noexcept
      : allocator_(other.allocator_), p_(std::exchange(other.p_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MemoryAllocation& operator=(MemoryAllocation&& other) noexcept {
    if (this == &other) return *this;
    Free();
    allocator_ = other.allocator_;
    p_ = std::exchange(other.p_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  void* get() { return p_; }
  size_t size() const { return size_; }

 private:
  void Free() noexcept {
    if (p_) Status ignored(GetApi().AllocatorFree(allocator_, p_));
  }

  OrtAllocator* allocator_;
  void* p_;
  size_t size_;
};

namespace detail {
template <typename T>
struct AllocatorImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // Sizes are in bytes.
  void* Alloc(size_t size) { return Fetch<void*>(GetApi().AllocatorAlloc, this->p_, size); }
  // Memory outside the arena, for what stays as long as the allocator; Alloc where an allocator does not tell the two
  // apart. Null if there is none. Free gives it back.
  void* Reserve(size_t size) {
    constexpr uint32_t kHasReserve = 18;
    OrtAllocator* allocator = this->p_;
    return allocator->version >= kHasReserve && allocator->Reserve ? allocator->Reserve(allocator, size) : Alloc(size);
  }
  MemoryAllocation GetAllocation(size_t size) { return MemoryAllocation(this->p_, Alloc(size), size); }
  void Free(void* p) { ThrowOnError(GetApi().AllocatorFree(this->p_, p)); }
  ConstMemoryInfo GetInfo() const {
    return ConstMemoryInfo{Fetch<const OrtMemoryInfo*>(GetApi().AllocatorGetInfo, this->p_)};
  }
  KeyValuePairs GetStats() const {
    return KeyValuePairs{Fetch<OrtKeyValuePairs*>(GetApi().AllocatorGetStats, this->p_)};
  }
  // Gives memory that the allocator holds unused back to the system. Does nothing if the allocator cannot.
  void Shrink() {
    constexpr uint32_t kHasShrink = 25;
    OrtAllocator* allocator = this->p_;
    if (allocator->version >= kHasShrink && allocator->Shrink) ThrowOnError(allocator->Shrink(allocator));
  }
};
}  // namespace detail

// The allocator of the library for the processor's memory. Every object refers to the same one.
struct AllocatorWithDefaultOptions : detail::AllocatorImpl<detail::Unowned<OrtAllocator>> {
  explicit AllocatorWithDefaultOptions(std::nullptr_t) {}
  AllocatorWithDefaultOptions() { ThrowOnError(GetApi().GetAllocatorWithDefaultOptions(&p_)); }
};

// The allocator of a session for a memory location, or one that the C interface gave to be released. The session must
// outlive it and what it allocated.
struct Allocator : detail::AllocatorImpl<OrtAllocator> {
  explicit Allocator(std::nullptr_t) {}
  explicit Allocator(OrtAllocator* p) : AllocatorImpl<OrtAllocator>(p) {}
  Allocator(const Session& session, const OrtMemoryInfo* mem_info);
};

using UnownedAllocator = detail::AllocatorImpl<detail::Unowned<OrtAllocator>>;

struct ArenaCfg : detail::Base<OrtArenaCfg> {
  explicit ArenaCfg(std::nullptr_t) {}
  // 0 and -1 stand for the library's defaults, as in OrtApi::CreateArenaCfg.
  ArenaCfg(size_t max_mem, int arena_extend_strategy, int initial_chunk_size_bytes, int max_dead_bytes_per_chunk) {
    ThrowOnError(GetApi().CreateArenaCfg(max_mem, arena_extend_strategy, initial_chunk_size_bytes,
                                         max_dead_bytes_per_chunk, &p_));
  }
  explicit ArenaCfg(const std::unordered_map<std::string, size_t>& arena_config) {
    std::vector<const char*> keys;
    std::vector<size_t> values;
    for (const auto& [key, value] : arena_config) {
      keys.push_back(key.c_str());
      values.push_back(value);
    }
    ThrowOnError(GetApi().CreateArenaCfgV2(keys.data(), values.data(), keys.size(), &p_));
  }
};

namespace detail {
template <typename T>
struct SyncStreamImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // What the device's own interface calls a stream, such as a cudaStream_t.
  void* GetHandle() { return GetApi().SyncStream_GetHandle(this->p_); }
};
}  // namespace detail

// A stream of a device, in whose order copies and runs happen.
struct SyncStream : detail::SyncStreamImpl<OrtSyncStream> {
  explicit SyncStream(std::nullptr_t) {}
  explicit SyncStream(OrtSyncStream* p) : SyncStreamImpl<OrtSyncStream>(p) {}
};

using UnownedSyncStream = detail::SyncStreamImpl<detail::Unowned<OrtSyncStream>>;

}  // namespace Ort
