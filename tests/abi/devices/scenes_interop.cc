// Memory and semaphores of other interfaces. Without a provider that imports, there is no importer, which is not an
// error.

#include "scene.h"

using scenes::Scene;

namespace {

const OrtInteropApi& interop(Scene& s) { return *s.api.GetInteropApi(); }

const OrtEpDevice* first_device(Scene& s) {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  CALL(GetEpDevices, s.env(), &devices, &count);
  return count ? devices[0] : nullptr;
}

// A call with a null importer does not use these.
template <typename T>
T* something() {
  static std::byte bytes[sizeof(void*) * 16] = {};
  return reinterpret_cast<T*>(bytes);
}

}  // namespace

SCENE(interop, no_importer_for_the_cpu) {
  OrtExternalResourceImporter* importer = something<OrtExternalResourceImporter>();
  s.call("create", interop(s).CreateExternalResourceImporterForDevice(first_device(s), &importer));
  s.note("importer", static_cast<const void*>(importer));
  interop(s).ReleaseExternalResourceImporter(importer);
}

SCENE(interop, importer_without_device) {
  OrtExternalResourceImporter* importer = nullptr;
  s.call("no device", interop(s).CreateExternalResourceImporterForDevice(nullptr, &importer));
  s.call("no out", interop(s).CreateExternalResourceImporterForDevice(first_device(s), nullptr));
  s.call("neither", interop(s).CreateExternalResourceImporterForDevice(nullptr, nullptr));
  s.note("importer", static_cast<const void*>(importer));
}

SCENE(interop, release_of_nothing) {
  interop(s).ReleaseExternalResourceImporter(nullptr);
  interop(s).ReleaseExternalMemoryHandle(nullptr);
  interop(s).ReleaseExternalSemaphoreHandle(nullptr);
  s.note("survived", 1);
}

SCENE(interop, memory_without_importer) {
  bool supported = true;
  OrtExternalMemoryHandle* memory = nullptr;
  OrtExternalMemoryDescriptor description = {};
  description.version = ORT_API_VERSION;
  for (int type = -1; type <= 5; ++type)
    s.call("can import", interop(s).CanImportMemory(nullptr, OrtExternalMemoryHandleType(type), &supported));
  s.call("no out", interop(s).CanImportMemory(nullptr, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_MEMORY_OPAQUE_FD, nullptr));
  s.note("supported", supported);
  s.call("import", interop(s).ImportMemory(nullptr, &description, &memory));
  s.call("import without description", interop(s).ImportMemory(nullptr, nullptr, &memory));
  s.call("import to nowhere", interop(s).ImportMemory(nullptr, &description, nullptr));
  s.note("memory", static_cast<const void*>(memory));
}

SCENE(interop, tensor_without_importer) {
  OrtValue* tensor = nullptr;
  OrtExternalMemoryHandle memory = {};
  OrtExternalTensorDescriptor description = {};
  description.version = ORT_API_VERSION;
  s.call("tensor", interop(s).CreateTensorFromMemory(nullptr, &memory, &description, &tensor));
  s.call("no memory", interop(s).CreateTensorFromMemory(nullptr, nullptr, &description, &tensor));
  s.call("no description", interop(s).CreateTensorFromMemory(nullptr, &memory, nullptr, &tensor));
  s.call("no out", interop(s).CreateTensorFromMemory(nullptr, &memory, &description, nullptr));
  s.note("tensor", static_cast<const void*>(tensor));
}

SCENE(interop, semaphore_without_importer) {
  bool supported = true;
  OrtExternalSemaphoreHandle* semaphore = nullptr;
  OrtExternalSemaphoreDescriptor description = {};
  description.version = ORT_API_VERSION;
  for (int type = -1; type <= 3; ++type)
    s.call("can import", interop(s).CanImportSemaphore(nullptr, OrtExternalSemaphoreType(type), &supported));
  s.call("no out", interop(s).CanImportSemaphore(nullptr, ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE, nullptr));
  s.note("supported", supported);
  s.call("import", interop(s).ImportSemaphore(nullptr, &description, &semaphore));
  s.call("no description", interop(s).ImportSemaphore(nullptr, nullptr, &semaphore));
  s.call("no out", interop(s).ImportSemaphore(nullptr, &description, nullptr));
  s.note("semaphore", static_cast<const void*>(semaphore));
}

SCENE(interop, wait_and_signal_without_importer) {
  OrtExternalSemaphoreHandle semaphore = {};
  auto* stream = something<OrtSyncStream>();
  s.call("wait", interop(s).WaitSemaphore(nullptr, &semaphore, stream, 1));
  s.call("wait for nothing", interop(s).WaitSemaphore(nullptr, nullptr, stream, 1));
  s.call("wait nowhere", interop(s).WaitSemaphore(nullptr, &semaphore, nullptr, 1));
  s.call("signal", interop(s).SignalSemaphore(nullptr, &semaphore, stream, 1));
  s.call("signal nothing", interop(s).SignalSemaphore(nullptr, nullptr, stream, 1));
  s.call("signal nowhere", interop(s).SignalSemaphore(nullptr, &semaphore, nullptr, 1));
}

SCENE(interop, graphics) {
  const OrtEpDevice* device = first_device(s);
  for (uint32_t version : {0u, 1u, 25u, 31u, 99u}) {
    for (int graphics_api = -1; graphics_api <= 3; ++graphics_api) {
      OrtGraphicsInteropConfig config = {};
      config.version = version;
      config.graphics_api = OrtGraphicsApi(graphics_api);
      s.call("init", interop(s).InitGraphicsInteropForEpDevice(device, &config));
      s.call("init of nothing", interop(s).InitGraphicsInteropForEpDevice(nullptr, &config));
    }
  }
  s.call("init without description", interop(s).InitGraphicsInteropForEpDevice(device, nullptr));
  s.call("deinit", interop(s).DeinitGraphicsInteropForEpDevice(device));
  s.call("deinit of nothing", interop(s).DeinitGraphicsInteropForEpDevice(nullptr));
}
