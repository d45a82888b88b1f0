#include "memory.h"

#include <cstring>
#include <memory>
#include <vector>

#include "device.h"
#include "stream.h"

namespace loopback {
namespace {

/// The struct that the host knows comes first, so that both have the same address.
struct Allocator : OrtAllocator {
  const OrtMemoryInfo* info;
  Device& device;
  const bool pinned;

  Allocator(const OrtMemoryInfo* info, Device& device, bool pinned)
      : OrtAllocator{}, info(info), device(device), pinned(pinned) {
    version = ORT_API_VERSION;
    Alloc = [](OrtAllocator* a, size_t size) -> void* { return static_cast<Allocator*>(a)->allocate(size); };
    Reserve = Alloc;
    Free = [](OrtAllocator* a, void* p) { static_cast<Allocator*>(a)->release(p); };
    Info = [](const OrtAllocator* a) -> const OrtMemoryInfo* { return static_cast<const Allocator*>(a)->info; };
    // AllocOnStream, GetStats and Shrink may stay null.
  }

  // An allocator returns no status: null means that memory is exhausted.
  void* allocate(size_t size) noexcept {
    Control& control = Control::get();
    if (control.should_fail("Alloc")) return nullptr;
    void* const p = pinned ? device.allocate_pinned(size) : device.allocate(size);
    if (!p) return nullptr;
    control.count(kAllocations);
    control.count(kAlive);
    return p;
  }
  void release(void* p) noexcept {
    if (!p) return;
    Control::get().count(kAlive, -1);
    // Hosts free memory as soon as they have submitted the last work that uses it.
    Stream::after_all(
        [&device = device, pinned = pinned, p] { pinned ? device.release_pinned(p) : device.release(p); });
  }
};

struct Transfer : OrtDataTransferImpl {
  const Host host;

  explicit Transfer(const Host& host) : OrtDataTransferImpl{}, host(host) {
    ort_version_supported = ORT_API_VERSION;
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* t) noexcept { delete static_cast<Transfer*>(t); };
    OrtDataTransferImpl::CanCopy = [](const OrtDataTransferImpl* t, const OrtMemoryDevice* from,
                                      const OrtMemoryDevice* to) noexcept {
      const Host& host = static_cast<const Transfer*>(t)->host;
      const auto known = [&](const OrtMemoryDevice* d) {
        return device_of(host, d) >= 0 || host.ep->MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_CPU ||
               host.ep->MemoryDevice_GetMemoryType(d) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
      };
      // Copies within the host are not supported.
      const bool any = device_of(host, from) >= 0 || device_of(host, to) >= 0;
      return any && known(from) && known(to);
    };
    OrtDataTransferImpl::CopyTensors = [](OrtDataTransferImpl* t, const OrtValue** from, OrtValue** to,
                                          OrtSyncStream** streams, size_t count) noexcept {
      const Host& host = static_cast<Transfer*>(t)->host;
      return entry(host, "CopyTensors", [&] {
        for (size_t i = 0; i < count; ++i)
          copy_tensor(host, from[i], to[i], streams ? Stream::of(host, streams[i]) : nullptr);
      });
    };
  }
};

}  // namespace

OrtAllocator* make_allocator(const OrtMemoryInfo* info, int device, bool pinned) {
  return new Allocator(info, Device::get(device), pinned);
}
void release_allocator(OrtAllocator* allocator) { delete static_cast<Allocator*>(allocator); }

OrtDataTransferImpl* make_transfer(const Host& host) { return new Transfer(host); }

void copy_tensor(const Host& host, const OrtValue* from, OrtValue* to, Stream* stream) {
  Control::get().fail_if_told("Copy");  // for copies of the transfer and of kernels
  const auto place = [&](const OrtValue* value) {
    const int device = device_of(host, value);
    return Place{device < 0 ? nullptr : &Device::get(device), tensor_of(host, value).data};
  };
  const Place source = place(from), target = place(to);
  const size_t bytes = bytes_of(host, from);
  if (bytes_of(host, to) < bytes) throw Error(ORT_INVALID_ARGUMENT, "a tensor is copied to a smaller one");
  count_copy(source, target, bytes);
  const int number = stream ? stream->number() : 0;
  const bool ordinary = !source.device && !is_pinned(host, from);
  // Ordinary host memory may change or be freed as soon as this returns. Small tensors are buffered; for larger ones,
  // the host waits until they have been read.
  constexpr size_t kLittle = 64 << 10;
  if (stream && ordinary && bytes <= kLittle) {
    const auto aside = std::make_shared<std::vector<char>>(bytes);
    if (bytes) std::memcpy(aside->data(), source.address, bytes);
    stream->later([=] { copy({nullptr, aside->data()}, target, bytes, number); });
  } else {
    // Device memory and pinned memory stay until the stream has passed this point, and so does the target.
    perform(stream, [=] { copy(source, target, bytes, number); });
    if (stream && ordinary) stream->pass();
  }
}

}  // namespace loopback
