#include "abi/values/allocators.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "abi/key_values.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

constexpr size_t kAlignment = 64;
/// A caller's OrtAllocator has GetStats only from this version on.
constexpr uint32_t kStatsSince = 23;

void* ORT_API_CALL host_alloc(OrtAllocator*, size_t size) {
  void* p = nullptr;
  return size > 0 && posix_memalign(&p, kAlignment, size) == 0 ? p : nullptr;
}

void ORT_API_CALL host_free(OrtAllocator*, void* p) { std::free(p); }

const OrtMemoryInfo* ORT_API_CALL host_info(const OrtAllocator*) { return &cpu_memory_info(); }

OrtStatusPtr ORT_API_CALL host_stats(const OrtAllocator*, OrtKeyValuePairs** out) noexcept {
  // The default allocator keeps no statistics.
  return guard([&] { give(out, "out", std::make_unique<OrtKeyValuePairs>()); });
}

DeviceAllocator& device_of(OrtAllocator* a) { return *static_cast<DeviceAllocator*>(a); }
const DeviceAllocator& device_of(const OrtAllocator* a) { return *static_cast<const DeviceAllocator*>(a); }

// These return null if memory is exhausted, as the interface has no status here.
void* ORT_API_CALL device_alloc(OrtAllocator* a, size_t size) {
  try {
    return device_of(a).memory->allocate(size);
  } catch (const std::exception&) {
    return nullptr;
  }
}
void* ORT_API_CALL device_reserve(OrtAllocator* a, size_t size) {
  try {
    return device_of(a).memory->reserve(size);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void ORT_API_CALL device_free(OrtAllocator* a, void* p) {
  if (p) device_of(a).memory->release(p);
}

const OrtMemoryInfo* ORT_API_CALL device_info(const OrtAllocator* a) { return &device_of(a).info; }

OrtStatusPtr ORT_API_CALL device_stats(const OrtAllocator* a, OrtKeyValuePairs** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtKeyValuePairs>(device_of(a).memory->statistics())); });
}

class CallersMemory : public Allocator {
 public:
  explicit CallersMemory(OrtAllocator& callers) : callers_(callers) {}
  const MemorySpace& space() const override { return space_; }
  void* allocate(size_t bytes) override { return abi::allocate(callers_, bytes); }
  void release(void* memory) noexcept override { callers_.Free(&callers_, memory); }

 private:
  OrtAllocator& callers_;
  const MemorySpace space_;
};

}  // namespace

std::shared_ptr<Allocator> callers_memory(OrtAllocator& callers) {
  need(callers.Alloc, "allocator.Alloc");
  need(callers.Free, "allocator.Free");
  return std::make_shared<CallersMemory>(callers);
}

DeviceAllocator::DeviceAllocator(std::shared_ptr<Allocator> m)
    : OrtAllocator{}, memory(std::move(m)), info(info_of(memory->space())) {
  version = ORT_API_VERSION;
  Alloc = device_alloc;
  Reserve = device_reserve;
  Free = device_free;
  Info = device_info;
  GetStats = device_stats;
}

HostAllocator::HostAllocator() : OrtAllocator{} {
  version = ORT_API_VERSION;
  Alloc = host_alloc;
  Reserve = host_alloc;
  Free = host_free;
  Info = host_info;
  GetStats = host_stats;
}

std::shared_ptr<Allocator> memory_behind(const OrtAllocator& allocator) {
  return allocator.Alloc == device_alloc ? device_of(&allocator).memory : nullptr;
}

OrtAllocator& default_allocator() {
  static HostAllocator& allocator = *new HostAllocator;
  return allocator;
}

void* allocate(OrtAllocator& allocator, size_t size) {
  const auto memory = memory_behind(allocator);
  if (memory && memory->space() == MemorySpace{}) return memory->allocate(size);  // its error gives the reason
  void* p = need(allocator.Alloc, "allocator.Alloc")(&allocator, size);
  require(p || size == 0, ErrorCode::runtime_exception, "the allocator has no {} bytes", size);
  return p;
}

char* allocate_text(OrtAllocator& allocator, const std::string& text) {
  char* copy = static_cast<char*>(allocate(allocator, text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

SharedAllocators::SharedAllocators() : host_(std::make_unique<HostAllocator>()) {}

OrtAllocator* SharedAllocators::find(const MemorySpace& space) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.space == space && entry.allocator) return entry.allocator;
  }
  return space == MemorySpace{} ? host_.get() : nullptr;
}

void SharedAllocators::put(Entry entry) {
  const std::lock_guard lock(mutex_);
  for (Entry& there : entries_) {
    if (there.space == entry.space) {
      if (there.own) replaced_.push_back(std::move(there.own));
      there = std::move(entry);
      return;
    }
  }
  entries_.push_back(std::move(entry));
}

void SharedAllocators::set(const MemorySpace& space, OrtAllocator* callers) { put({space, callers, nullptr}); }

OrtAllocator& SharedAllocators::set_device(const std::shared_ptr<Allocator>& memory) {
  auto own = std::make_shared<DeviceAllocator>(memory);
  put({memory->space(), own.get(), own});
  return *own;
}

void SharedAllocators::set_arena(const MemorySpace& space) { put({space, nullptr, nullptr}); }

bool SharedAllocators::remove(const MemorySpace& space) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.space == space; }) > 0;
}

OrtStatusPtr ORT_API_CALL GetAllocatorWithDefaultOptions(OrtAllocator** out) noexcept {
  return guard([&] { need(out, "out") = &default_allocator(); });
}

void ORT_API_CALL ReleaseAllocator(OrtAllocator* input) noexcept {
  // Only allocators that CreateAllocator made are released.
  if (!input || input == &default_allocator()) return;
  if (input->Alloc == host_alloc)
    delete static_cast<HostAllocator*>(input);
  else if (input->Alloc == device_alloc)
    delete static_cast<DeviceAllocator*>(input);
}

OrtStatusPtr ORT_API_CALL AllocatorAlloc(OrtAllocator* ort_allocator, size_t size, void** out) noexcept {
  return guard([&] {
    need(out, "out");
    *out = allocate(need(ort_allocator, "ort_allocator"), size);
  });
}

OrtStatusPtr ORT_API_CALL AllocatorFree(OrtAllocator* ort_allocator, void* p) noexcept {
  return guard([&] { need(need(ort_allocator, "ort_allocator").Free, "ort_allocator.Free")(ort_allocator, p); });
}

OrtStatusPtr ORT_API_CALL AllocatorGetInfo(const OrtAllocator* ort_allocator, const OrtMemoryInfo** out) noexcept {
  return guard(
      [&] { need(out, "out") = need(need(ort_allocator, "ort_allocator").Info, "ort_allocator.Info")(ort_allocator); });
}

OrtStatusPtr ORT_API_CALL AllocatorGetStats(const OrtAllocator* ort_allocator, OrtKeyValuePairs** out) noexcept {
  return guard([&]() -> OrtStatusPtr {
    const OrtAllocator& a = need(ort_allocator, "ort_allocator");
    need(out, "out");
    if (a.version >= kStatsSince && a.GetStats) return a.GetStats(&a, out);
    fail(ErrorCode::not_implemented, "this allocator keeps no statistics");
  });
}

OrtStatusPtr ORT_API_CALL CreateArenaCfg(size_t max_mem, int arena_extend_strategy, int initial_chunk_size_bytes,
                                         int max_dead_bytes_per_chunk, OrtArenaCfg** out) noexcept {
  return guard([&] {
    require(arena_extend_strategy >= -1 && arena_extend_strategy <= 1, ErrorCode::invalid_argument,
            "arena_extend_strategy {} is not -1, 0 or 1", arena_extend_strategy);
    auto cfg = std::make_unique<OrtArenaCfg>();
    cfg->max_mem = max_mem;
    cfg->extend_strategy = arena_extend_strategy;
    cfg->initial_chunk_bytes = initial_chunk_size_bytes;
    cfg->max_dead_bytes_per_chunk = max_dead_bytes_per_chunk;
    give(out, "out", std::move(cfg));
  });
}

OrtStatusPtr ORT_API_CALL CreateArenaCfgV2(const char* const* arena_config_keys, const size_t* arena_config_values,
                                           size_t num_keys, OrtArenaCfg** out) noexcept {
  return guard([&] {
    auto cfg = std::make_unique<OrtArenaCfg>();
    const std::pair<std::string_view, int64_t*> numbers[] = {
        {"arena_extend_strategy", &cfg->extend_strategy},
        {"initial_chunk_size_bytes", &cfg->initial_chunk_bytes},
        {"max_dead_bytes_per_chunk", &cfg->max_dead_bytes_per_chunk},
        {"initial_growth_chunk_size_bytes", &cfg->initial_growth_chunk_bytes},
        {"max_power_of_two_extend_bytes", &cfg->max_power_of_two_extend_bytes}};
    for (size_t i = 0; i < num_keys; ++i) {
      const std::string_view key = need_text((&need(arena_config_keys, "arena_config_keys"))[i], "arena_config_keys");
      const size_t value = (&need(arena_config_values, "arena_config_values"))[i];
      const auto number = std::find_if(std::begin(numbers), std::end(numbers), [&](auto& n) { return n.first == key; });
      if (number != std::end(numbers)) {
        *number->second = int64_t(value);
      } else if (key == "max_mem") {
        cfg->max_mem = value;
      } else if (key == "use_cuda_mempool") {
        cfg->use_cuda_mempool = value != 0;
      } else {
        fail(ErrorCode::invalid_argument, "'{}' is not a setting of arenas", key);
      }
    }
    give(out, "out", std::move(cfg));
  });
}

void ORT_API_CALL ReleaseArenaCfg(OrtArenaCfg* input) noexcept { release(input); }

}  // namespace retort::abi
