#include "device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "control.h"
#include "host.h"

namespace loopback {

constexpr size_t kMemory = size_t(8) << 30;  // of addresses; pages are allocated when they are written
constexpr size_t kPage = 4096;               // alignment of blocks

Device& Device::get(int number) {
  // Never destroyed: values may outlive everything else.
  static Device* const devices[kDevices] = {new Device, new Device};
  return *devices[number];
}

Device::Device() {
  file_ = memfd_create("loopback", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, off_t(kMemory)) != 0) throw Error("the memory of a device cannot be allocated");
  void* const shown = mmap(nullptr, kMemory, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  void* const own = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (shown == MAP_FAILED || own == MAP_FAILED) throw Error("the memory of a device cannot be mapped");
  shown_ = static_cast<char*>(shown);
  own_ = static_cast<char*>(own);
  free_[0] = kMemory;
}

void* Device::allocate(size_t bytes) {
  if (bytes > kMemory) return nullptr;
  const size_t size = (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  const std::lock_guard lock(mutex_);
  const auto fits = std::find_if(free_.begin(), free_.end(), [&](const auto& f) { return f.second >= size; });
  if (fits == free_.end()) return nullptr;
  const auto [offset, room] = *fits;
  free_.erase(fits);
  if (room > size) free_[offset + size] = room - size;
  used_[offset] = size;
  return shown_ + offset;
}

void Device::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto block = used_.find(size_t(static_cast<char*>(address) - shown_));
  if (block == used_.end()) return;
  auto [offset, size] = *block;
  used_.erase(block);
  const auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == offset) {
    std::prev(after)->second += size;
  } else {
    free_[offset] = size;
  }
}

void* Device::allocate_pinned(size_t bytes) {
  const size_t size = bytes / kPage * kPage + kPage;
  void* const p = std::aligned_alloc(kPage, size);
  const std::lock_guard lock(mutex_);
  if (p) pinned_[static_cast<char*>(p)] = size;
  return p;
}

void Device::release_pinned(void* address) {
  const std::lock_guard lock(mutex_);
  if (pinned_.erase(static_cast<char*>(address))) std::free(address);
}

std::byte* Device::behind(const void* address, size_t bytes) const {
  const auto* const from = static_cast<const char*>(address);
  const size_t offset = size_t(from - shown_);
  const std::lock_guard lock(mutex_);
  const auto pinned = pinned_.upper_bound(from);
  if (pinned != pinned_.begin() && from + bytes <= std::prev(pinned)->first + std::prev(pinned)->second)
    return reinterpret_cast<std::byte*>(const_cast<char*>(from));
  auto block = used_.upper_bound(offset);
  if (offset >= kMemory || block == used_.begin() || (--block)->first + block->second < offset + bytes) {
    throw Error("an address of " + std::to_string(bytes) + " bytes is not in memory that this device has handed out");
  }
  return reinterpret_cast<std::byte*>(own_ + offset);
}

std::shared_ptr<void> scratch(Device& device, size_t bytes) {
  void* const address = device.allocate(bytes);
  if (!address) throw Error("no " + std::to_string(bytes) + " bytes of device memory for an intermediate result");
  return {address, [&device](void* p) { device.release(p); }};
}

void count_copy(const Place& from, const Place& to, size_t bytes) {
  const Count what = !from.device ? kToDevice : !to.device ? kFromDevice : kOnDevice;
  Control::get().count(what);
  Control::get().count(Count(what + 1), int64_t(bytes));
}

void copy(const Place& from, const Place& to, size_t bytes, int stream) {
  const int64_t begin = now();
  Control& control = Control::get();
  const auto seen = [&](const Place& p) { return p.device ? p.device->behind(p.address, bytes) : p.address; };
  if (bytes) std::memmove(seen(to), seen(from), bytes);
  // Copies within a device are not slowed down.
  const bool road = !from.device || !to.device || from.device != to.device;
  if (road) {
    const double rate = control.rate;
    pause_until(begin + control.latency + (rate > 0 ? int64_t(double(bytes) / rate * 1e9) : 0));
  }
  const char* what = !from.device ? "host to device" : !to.device ? "device to host" : "device to device";
  control.happened(what, begin, int64_t(bytes), stream);
}

}  // namespace loopback
