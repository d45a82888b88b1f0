// Memory of devices for callers: shared allocators, copies and streams.
#include "abi/devices/devices.h"
#include "abi/sessions/environment.h"
#include "abi/slots.h"
#include "abi/values/value.h"

namespace retort::abi {
namespace {

/// The allocator of a device's own memory, or of the host memory that the device can access.
const std::shared_ptr<Allocator>& memory_of(const OrtEpDevice& device, OrtDeviceMemoryType kind) {
  for (const auto& allocator : device.memory) {
    if (int(allocator->space().kind) == int(kind)) return allocator;
  }
  if (device.memory.empty()) {
    fail(ErrorCode::invalid_argument,
         "device '{}' has no memory of its own; use the default allocator, which is that of the host", device.name);
  }
  fail(ErrorCode::invalid_argument, "device '{}' has no memory of kind {}; ask the device which it has", device.name,
       int(kind));
}

void check_device(const OrtSyncStream& stream, const Tensor& from, const Tensor& to) {
  const MemorySpace& own = stream.stream->space();
  require(from.space().serves(own) || to.space().serves(own), ErrorCode::invalid_argument,
          "the stream is of {}, the tensors go from {} to {}; make a stream of either device", to_string(own),
          to_string(from.space()), to_string(to.space()));
}

}  // namespace

// The environment has one allocator for each memory from the start; this call returns it again.
OrtStatusPtr ORT_API_CALL CreateSharedAllocator(OrtEnv* env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type,
                                                OrtAllocatorType, const OrtKeyValuePairs* allocator_options,
                                                OrtAllocator** allocator) noexcept {
  return guard([&] {
    OrtEnv& e = handle(env, "env");
    if (allocator_options) handle(allocator_options, "allocator_options");
    const auto& memory = memory_of(handle(ep_device, "ep_device"), mem_type);
    OrtAllocator* shared = e.allocators.find(memory->space());
    if (!shared) shared = &e.allocators.set_device(memory);
    if (allocator) *allocator = shared;
  });
}

OrtStatusPtr ORT_API_CALL ReleaseSharedAllocator(OrtEnv* env, const OrtEpDevice* ep_device,
                                                 OrtDeviceMemoryType mem_type) noexcept {
  return guard([&] {
    OrtEnv& e = handle(env, "env");
    const auto& memory = memory_of(handle(ep_device, "ep_device"), mem_type);
    require(e.allocators.remove(memory->space()), ErrorCode::invalid_argument,
            "no allocator is shared for this memory of device '{}'", ep_device->name);
  });
}

OrtStatusPtr ORT_API_CALL CreateSyncStreamForEpDevice(const OrtEpDevice* ep_device,
                                                      const OrtKeyValuePairs* stream_options,
                                                      OrtSyncStream** stream) noexcept {
  return guard([&] {
    const OrtEpDevice& device = handle(ep_device, "ep_device");
    need(stream, "stream");
    std::map<std::string, std::string> options;
    if (stream_options) options = handle(stream_options, "stream_options").entries();
    auto made = std::make_unique<OrtSyncStream>();
    if (device.factory) made->own = device.factory->make_stream(device.index, options);
    made->stream = made->own.get();
    // The same error codes as ONNX Runtime.
    require(made->stream != nullptr, device.factory ? ErrorCode::not_implemented : ErrorCode::invalid_argument,
            "device '{}' works on the threads of the caller and has no streams", device.name);
    made->factory = device.factory;
    give(stream, "stream", std::move(made));
  });
}

void* ORT_API_CALL SyncStream_GetHandle(OrtSyncStream* stream) noexcept {
  try {
    return stream && stream->tag == OrtSyncStream::kTag ? stream->stream->handle() : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void ORT_API_CALL ReleaseSyncStream(OrtSyncStream* input) noexcept { release(input); }

// Copies between devices, or between a device and the host; a caller copies host memory with its own code.
OrtStatusPtr ORT_API_CALL CopyTensors(const OrtEnv* env, const OrtValue* const* src_tensors,
                                      OrtValue* const* dst_tensors, OrtSyncStream* stream,
                                      size_t num_tensors) noexcept {
  return guard([&] {
    const OrtEnv& e = handle(env, "env");
    need(src_tensors, "src_tensors");
    need(dst_tensors, "dst_tensors");
    require(num_tensors > 0, ErrorCode::invalid_argument, "no tensors were given");
    std::vector<Transfer> transfers;
    for (size_t i = 0; i < num_tensors; ++i) {
      const Tensor& from = tensor_of(src_tensors[i]);
      Tensor& to = tensor_of(dst_tensors[i]);
      require(from.space() == tensor_of(src_tensors[0]).space() && to.space() == tensor_of(dst_tensors[0]).space(),
              ErrorCode::invalid_argument,
              "tensors {} and 0 lie in different memories; copy the tensors of each memory by a separate call", i);
      transfers.push_back({&from, &to});
    }
    const Tensor &from = *transfers[0].from, &to = *transfers[0].to;
    require(!from.space().host_readable() || !to.space().host_readable(), ErrorCode::not_implemented,
            "both memories are the host's, and no provider copies between them; copy the elements themselves");
    if (stream) check_device(handle(stream, "stream"), from, to);
    e.environment->devices()->copy(transfers, stream ? stream->stream : nullptr);
  });
}

}  // namespace retort::abi
