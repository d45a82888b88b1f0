// OrtInteropApi: checks what callers pass, and hands it to the importer of a provider.
#include "abi/devices/interop.h"

#include <algorithm>

#include "abi/host/plugin.h"
#include "abi/slots.h"
#include "abi/values/type_info.h"
#include "abi/values/value.h"
#include "base/checked.h"

namespace retort::abi {

namespace {

// Fields of factories that came later.
constexpr uint32_t kImporterSince = 24, kGraphicsSince = 25;

bool plugin_since(const OrtEpDevice& device, uint32_t version) {
  return device.plugin && device.plugin->ort_version_supported >= version;
}

/// Who gave an imported handle, for the log.
template <typename H>
Callee maker_of(const H& handle) {
  return {"provider", handle.ep_device ? std::string_view(handle.ep_device->name) : "?"};
}

}  // namespace

OrtExternalResourceImporterImpl* find_importer(const OrtEpDevice& device) {
  OrtExternalResourceImporterImpl* made = nullptr;
  if (!plugin_since(device, kImporterSince) || !device.plugin->CreateExternalResourceImporterForDevice) return nullptr;
  call_plugin({"provider", device.name}, "CreateExternalResourceImporterForDevice",
              device.plugin->CreateExternalResourceImporterForDevice, device.plugin, &device, &made);
  return made;
}

namespace interop_api {
namespace {

using Impl = OrtExternalResourceImporterImpl;

/// A function that importers may lack.
template <typename F>
F need_function(F function, const char* name) {
  require(function != nullptr, ErrorCode::not_implemented, "the importer of this device has no {}", name);
  return function;
}

void check_version(uint32_t version, const char* what) {
  require(version > 0, ErrorCode::invalid_argument, "{}.version is 0, not ORT_API_VERSION", what);
}

/// The tensor lies wholly in the memory that was imported.
void check_extent(const OrtExternalMemoryDescriptor& memory, const OrtExternalTensorDescriptor& tensor) {
  check_version(tensor.version, "tensor_desc");
  if (tensor.rank) need(tensor.shape, "tensor_desc.shape");
  const DType type = from_onnx(tensor.element_type);
  require(type != DType::string && dtype_bits(type) > 0, ErrorCode::invalid_argument,
          "tensor_desc.element_type {} has no elements of a fixed size", int(tensor.element_type));
  size_t count = 1;
  for (size_t i = 0; i < tensor.rank; ++i) {
    require(tensor.shape[i] >= 0, ErrorCode::invalid_argument, "tensor_desc.shape[{}] is {}; extents are 0 or more", i,
            tensor.shape[i]);
    count = checked_mul(count, size_t(tensor.shape[i]), "size of tensor_desc");
  }
  const size_t bytes = dtype_bytes(type, count);
  const size_t end = checked_add(bytes, tensor.offset_bytes, "end of tensor_desc");
  const size_t room = memory.size_bytes - std::min(memory.offset_bytes, memory.size_bytes);
  require(end <= room, ErrorCode::invalid_argument,
          "the tensor needs {} bytes from offset {}, but the imported memory has {} from its offset {}", bytes,
          tensor.offset_bytes, room, memory.offset_bytes);
}

/// Waits or signals.
OrtStatusPtr use_semaphore(OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* semaphore,
                           OrtSyncStream* stream, uint64_t value, decltype(Impl::WaitSemaphore) Impl::*function,
                           const char* name) noexcept {
  return guard([&] {
    Impl& impl = handle(importer, "importer").impl;
    need(semaphore, "semaphore_handle");
    need(stream, "stream");
    return need_function(impl.*function, name)(&impl, semaphore, stream, value);
  });
}

}  // namespace

// A device whose provider imports nothing is no error: the answer is no importer.
OrtStatusPtr ORT_API_CALL CreateExternalResourceImporterForDevice(const OrtEpDevice* ep_device,
                                                                  OrtExternalResourceImporter** out_importer) noexcept {
  return guard([&] {
    const OrtEpDevice& device = handle(ep_device, "ep_device");
    OrtExternalResourceImporter*& out = need(out_importer, "out_importer");
    Impl* found = find_importer(device);
    out = found ? std::make_unique<OrtExternalResourceImporter>(*found).release() : nullptr;
  });
}

void ORT_API_CALL ReleaseExternalResourceImporter(OrtExternalResourceImporter* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL CanImportMemory(const OrtExternalResourceImporter* importer,
                                          OrtExternalMemoryHandleType handle_type, bool* out_supported) noexcept {
  return guard([&] {
    const Impl& impl = handle(importer, "importer").impl;
    need(out_supported, "out_supported") = impl.CanImportMemory && impl.CanImportMemory(&impl, handle_type);
  });
}

OrtStatusPtr ORT_API_CALL ImportMemory(OrtExternalResourceImporter* importer, const OrtExternalMemoryDescriptor* desc,
                                       OrtExternalMemoryHandle** out_handle) noexcept {
  return guard([&] {
    Impl& impl = handle(importer, "importer").impl;
    const OrtExternalMemoryDescriptor& memory = need(desc, "desc");
    need(out_handle, "out_handle");
    check_version(memory.version, "desc");
    require(memory.offset_bytes <= memory.size_bytes, ErrorCode::invalid_argument,
            "desc.offset_bytes is {}, but the memory has {} bytes", memory.offset_bytes, memory.size_bytes);
    return need_function(impl.ImportMemory, "ImportMemory")(&impl, desc, out_handle);
  });
}

// These handles are structs of whoever imported, and carry their own release.
void ORT_API_CALL ReleaseExternalMemoryHandle(OrtExternalMemoryHandle* input) noexcept {
  if (input) give_back(unheard(), maker_of(*input), "Release of imported memory", input->Release, input);
}

OrtStatusPtr ORT_API_CALL CreateTensorFromMemory(OrtExternalResourceImporter* importer,
                                                 const OrtExternalMemoryHandle* mem_handle,
                                                 const OrtExternalTensorDescriptor* tensor_desc,
                                                 OrtValue** out_tensor) noexcept {
  return guard([&] {
    Impl& impl = handle(importer, "importer").impl;
    const OrtExternalMemoryHandle& memory = need(mem_handle, "mem_handle");
    need(tensor_desc, "tensor_desc");
    need(out_tensor, "out_tensor");
    check_extent(memory.descriptor, *tensor_desc);
    const auto create = need_function(impl.CreateTensorFromMemory, "CreateTensorFromMemory");
    return create(&impl, mem_handle, tensor_desc, out_tensor);
  });
}

OrtStatusPtr ORT_API_CALL CanImportSemaphore(const OrtExternalResourceImporter* importer, OrtExternalSemaphoreType type,
                                             bool* out_supported) noexcept {
  return guard([&] {
    const Impl& impl = handle(importer, "importer").impl;
    need(out_supported, "out_supported") = impl.CanImportSemaphore && impl.CanImportSemaphore(&impl, type);
  });
}

OrtStatusPtr ORT_API_CALL ImportSemaphore(OrtExternalResourceImporter* importer,
                                          const OrtExternalSemaphoreDescriptor* desc,
                                          OrtExternalSemaphoreHandle** out_handle) noexcept {
  return guard([&] {
    Impl& impl = handle(importer, "importer").impl;
    check_version(need(desc, "desc").version, "desc");
    need(out_handle, "out_handle");
    return need_function(impl.ImportSemaphore, "ImportSemaphore")(&impl, desc, out_handle);
  });
}

void ORT_API_CALL ReleaseExternalSemaphoreHandle(OrtExternalSemaphoreHandle* input) noexcept {
  if (input) give_back(unheard(), maker_of(*input), "Release of an imported semaphore", input->Release, input);
}

OrtStatusPtr ORT_API_CALL WaitSemaphore(OrtExternalResourceImporter* importer,
                                        OrtExternalSemaphoreHandle* semaphore_handle, OrtSyncStream* stream,
                                        uint64_t value) noexcept {
  return use_semaphore(importer, semaphore_handle, stream, value, &Impl::WaitSemaphore, "WaitSemaphore");
}

OrtStatusPtr ORT_API_CALL SignalSemaphore(OrtExternalResourceImporter* importer,
                                          OrtExternalSemaphoreHandle* semaphore_handle, OrtSyncStream* stream,
                                          uint64_t value) noexcept {
  return use_semaphore(importer, semaphore_handle, stream, value, &Impl::SignalSemaphore, "SignalSemaphore");
}

OrtStatusPtr ORT_API_CALL InitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device,
                                                         const OrtGraphicsInteropConfig* config) noexcept {
  return guard([&] {
    const OrtEpDevice& device = handle(ep_device, "ep_device");
    need(config, "config");
    if (plugin_since(device, kGraphicsSince) && device.plugin->InitGraphicsInterop)
      return call_plugin({"provider", device.name}, "InitGraphicsInterop", device.plugin->InitGraphicsInterop,
                         device.plugin, &device, config);
    fail(ErrorCode::not_implemented, "{} shares no queue with a graphics interface; leave InitGraphicsInterop out",
         device.name);
  });
}

OrtStatusPtr ORT_API_CALL DeinitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device) noexcept {
  return guard([&] {
    const OrtEpDevice& device = handle(ep_device, "ep_device");
    if (plugin_since(device, kGraphicsSince) && device.plugin->DeinitGraphicsInterop)
      return call_plugin({"provider", device.name}, "DeinitGraphicsInterop", device.plugin->DeinitGraphicsInterop,
                         device.plugin, &device);
    fail(ErrorCode::not_implemented, "{} shares no queue with a graphics interface; there is nothing to end",
         device.name);
  });
}

}  // namespace interop_api
}  // namespace retort::abi

OrtExternalResourceImporter::~OrtExternalResourceImporter() {
  using namespace retort::abi;
  give_back(unheard(), {"an importer", "of a device"}, "Release", impl.Release, &impl);
}
