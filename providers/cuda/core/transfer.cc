#include "transfer.h"

#include <cstring>

#include "memory.h"

namespace providers::cuda {
namespace {

// Ordinary host memory up to this size is copied to pinned memory first: then the call need not wait for the stream. For
// larger memory the driver does the same in pieces.
constexpr size_t kLittle = 64 << 10;
// CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: the device may read ordinary host memory itself, after the call.
constexpr int kReadsPageable = 88;

struct Side {
  Place place;
  const void* data;
  size_t bytes;
  Address address() const { return reinterpret_cast<Address>(data); }
};

Side side_of(const OrtValue* value) {
  Side side{place_of(ep_api().Value_GetMemoryDevice(value)), nullptr, 0};
  check(api().GetTensorSizeInBytes(value, &side.bytes));
  check(api().GetTensorData(value, &side.data));
  return side;
}

bool reads_pageable(const Device& device) {
  CUdevice handle = 0;
  int value = 1;
  return driver().device(&handle, device.number()) != 0 ||
         driver().device_attribute(&value, kReadsPageable, handle) != 0 || value != 0;
}

void copy(const Side& from, const Side& to, size_t bytes, Device& device, CUstream stream) {
  if (from.place.on_device() && to.place.on_device()) {
    const bool same = from.place.device == to.place.device;
    check((same ? driver().copy_on_device : driver().copy_async)(to.address(), from.address(), bytes, stream),
          "copying between CUDA devices");
  } else if (to.place.on_device()) {
    if (from.place.kind == MemoryKind::host) return upload(to.address(), from.data, bytes, device, stream);
    check(driver().copy_to_device(to.address(), from.data, bytes, stream), "copying from the host to a CUDA device");
  } else if (from.place.on_device()) {
    check(driver().copy_to_host(const_cast<void*>(to.data), from.address(), bytes, stream),
          "copying from a CUDA device to the host");
  } else {
    check(driver().stream_synchronize(stream), "waiting for a CUDA stream");
    std::memmove(const_cast<void*>(to.data), from.data, bytes);
  }
}

struct Transfer : OrtDataTransferImpl {
  Transfer() : OrtDataTransferImpl{} {
    ort_version_supported = ORT_API_VERSION;
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* t) noexcept { delete static_cast<Transfer*>(t); };
    OrtDataTransferImpl::CanCopy = [](const OrtDataTransferImpl*, const OrtMemoryDevice* from,
                                      const OrtMemoryDevice* to) noexcept {
      if (!is_known(from) || !is_known(to)) return false;
      const auto ours = [](const OrtMemoryDevice* d) {
        return ep_api().MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_GPU;
      };
      return ours(from) || ours(to);
    };
    OrtDataTransferImpl::CopyTensors = [](OrtDataTransferImpl*, const OrtValue** from, OrtValue** to,
                                          OrtSyncStream** streams, size_t count) noexcept {
      return entry([&] {
        for (size_t i = 0; i < count; ++i) copy_one(from[i], to[i], streams ? Stream::of(streams[i]) : nullptr);
      });
    };
  }

  static void copy_one(const OrtValue* from, OrtValue* to, const Stream* stream) {
    if (!stream) return copy_tensor(from, to, {});
    const bool between_devices = place_of(ep_api().Value_GetMemoryDevice(from)).on_device() &&
                                 place_of(ep_api().Value_GetMemoryDevice(to)).on_device();
    if (!between_devices && stream->captures())
      stream->captures()->refuse_copy(
          "a run that is captured as a CUDA graph copies between host and device, which repeated runs would not do; "
          "bind all inputs and outputs to memory of the device (IoBinding), or turn enable_cuda_graph off");
    copy_tensor(from, to, {&stream->device(), stream->handle()});
  }
};

}  // namespace

CUstream copy_stream(Device& device) {
  static std::mutex& mutex = *new std::mutex;
  static std::map<int, CUstream>& made = *new std::map<int, CUstream>;
  const std::lock_guard lock(mutex);
  CUstream& stream = made[device.number()];
  if (!stream) stream = begin_stream(device);
  return stream;
}

void upload(Address to, const void* from, size_t bytes, Device& device, CUstream stream) {
  constexpr const char* what = "copying from the host to a CUDA device";
  if (bytes <= kLittle) {
    if (void* const aside = device.memory().allocate_pinned(bytes)) {
      std::memcpy(aside, from, bytes);
      const CUresult result = driver().copy_to_device(to, aside, bytes, stream);
      device.memory().release_pinned(aside);  // used again after the stream has read it
      return check(result, what);
    }
  }
  check(driver().copy_to_device(to, from, bytes, stream), what);
  if (reads_pageable(device)) check(driver().stream_synchronize(stream), what);
}

OrtDataTransferImpl* make_transfer() { return new Transfer; }

void copy_tensor(const OrtValue* from, OrtValue* to, const CopyOrder& order) {
  const Side source = side_of(from), target = side_of(to);
  if (target.bytes < source.bytes)
    throw Error(text("a tensor of ", source.bytes, " bytes is copied to one of ", target.bytes, " bytes"),
                ORT_INVALID_ARGUMENT);
  if (!source.bytes) return;
  const int number = source.place.device >= 0 && !target.place.on_device() ? source.place.device : target.place.device;
  if (!order.device && number < 0) {
    std::memmove(const_cast<void*>(target.data), source.data, source.bytes);
    return;
  }
  Device& device = order.device ? *order.device : Device::get(number);
  device.enter();
  const CUstream stream = order.stream ? order.stream : copy_stream(device);
  copy(source, target, source.bytes, device, stream);
  if (!order.stream) check(driver().stream_synchronize(stream), "waiting for a copy");
}

}  // namespace providers::cuda
