#include "allocator.h"

#include <atomic>

#include "memory.h"
#include "stream.h"

namespace providers::cuda {
namespace {

/// The struct that the host knows comes first, so that both have the same address. Statistics of sizes and counts of
/// blocks are those of the whole device, as sessions share its memory.
class Allocator : public OrtAllocator {
 public:
  Allocator(const OrtMemoryInfo* info, std::shared_ptr<Captures> captures)
      : OrtAllocator{},
        info_(info),
        place_(place_of(ep_api().MemoryInfo_GetMemoryDevice(info))),
        captures_(std::move(captures)) {
    version = ORT_API_VERSION;
    OrtAllocator::Alloc = [](OrtAllocator* a, size_t size) { return own(a).allocate(size, nullptr); };
    OrtAllocator::Free = [](OrtAllocator* a, void* p) { own(a).release(p); };
    OrtAllocator::Info = [](const OrtAllocator* a) { return static_cast<const Allocator*>(a)->info_; };
    OrtAllocator::Reserve = [](OrtAllocator* a, size_t size) {
      ++own(a).reserves_;
      return own(a).allocate(size, nullptr);
    };
    OrtAllocator::AllocOnStream = [](OrtAllocator* a, size_t size, OrtSyncStream* stream) {
      return own(a).allocate(size, stream);
    };
    OrtAllocator::GetStats = [](const OrtAllocator* a, OrtKeyValuePairs** out) noexcept {
      *out = nullptr;
      return entry([&] { *out = static_cast<const Allocator*>(a)->statistics(); });
    };
    OrtAllocator::Shrink = [](OrtAllocator* a) noexcept {
      return entry([&] {
        ++own(a).shrinks_;
        own(a).memory().trim();
      });
    };
  }

 private:
  static Allocator& own(OrtAllocator* a) { return *static_cast<Allocator*>(a); }
  Memory& memory() const { return Device::get(place_.device).memory(); }

  // The interface has no status here: null means that there is no room.
  void* allocate(size_t size, OrtSyncStream* stream) noexcept {
    try {
      for (size_t most = largest_; size > most && !largest_.compare_exchange_weak(most, size);) {
      }
      if (!place_.on_device()) return memory().allocate_pinned(size);
      const Stream* const order = Stream::of(stream);
      const Address address = memory().allocate(size, order ? order->handle() : nullptr);
      if (address && captures_) captures_->took(address);
      return reinterpret_cast<void*>(address);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  // At the exit of the process the driver may be gone before the host's last release.
  void release(void* p) noexcept {
    const Address address = reinterpret_cast<Address>(p);
    try {
      if (!place_.on_device()) return memory().release_pinned(p);
      if (!captures_ || !captures_->keeps_released(address)) memory().release(address);
    } catch (const std::exception&) {
    }
  }

  OrtKeyValuePairs* statistics() const {
    const MemoryStatistics now = place_.on_device() ? memory().statistics() : memory().pinned_statistics();
    const auto number = [](auto n) { return std::to_string(n); };
    OrtKeyValuePairs* pairs = nullptr;
    api().CreateKeyValuePairs(&pairs);
    const std::pair<const char*, std::string> all[] = {
        {"Limit", now.limit ? number(now.limit) : "-1"}, {"InUse", number(now.in_use)},
        {"TotalAllocated", number(now.reserved)},        {"MaxInUse", number(now.most_in_use)},
        {"NumAllocs", number(now.allocations)},          {"NumReserves", number(reserves_.load())},
        {"NumArenaExtensions", number(now.from_driver)}, {"NumArenaShrinkages", number(shrinks_.load())},
        {"MaxAllocSize", number(largest_.load())}};
    for (const auto& [key, value] : all) api().AddKeyValuePair(pairs, key, value.c_str());
    return pairs;
  }

  const OrtMemoryInfo* const info_;
  const Place place_;
  const std::shared_ptr<Captures> captures_;
  std::atomic<size_t> largest_{0};
  std::atomic<int64_t> reserves_{0}, shrinks_{0};
};

}  // namespace

OrtAllocator* make_allocator(const OrtMemoryInfo* info, std::shared_ptr<Captures> captures) {
  return new Allocator(info, std::move(captures));
}

void release_allocator(OrtAllocator* allocator) { delete static_cast<Allocator*>(allocator); }

}  // namespace providers::cuda
