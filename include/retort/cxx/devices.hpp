// Devices, the providers that drive them, their memory, copies and streams; part of retort.hpp.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "value.hpp"

namespace retort::api {

/// A processor, GPU or NPU of this machine. A view that lives as long as the environment.
class HardwareDevice {
 public:
  explicit HardwareDevice(const OrtHardwareDevice* device) noexcept : device_(device) {}
  operator const OrtHardwareDevice*() const noexcept { return device_; }  // NOLINT: implicit, for calls in C style

  OrtHardwareDeviceType type() const { return api().HardwareDevice_Type(device_); }
  /// The PCI vendor number; 0x10de is NVIDIA.
  uint32_t vendor_id() const { return api().HardwareDevice_VendorId(device_); }
  uint32_t device_id() const { return api().HardwareDevice_DeviceId(device_); }
  std::string vendor() const { return api().HardwareDevice_Vendor(device_); }
  std::map<std::string, std::string> metadata() const {
    return KeyValues::read(api().HardwareDevice_Metadata(device_));
  }

 private:
  const OrtHardwareDevice* device_;
};

/// A device together with a provider that drives it. A view that is valid until a provider library is registered or
/// unregistered. May be empty.
class EpDevice {
 public:
  EpDevice() = default;
  explicit EpDevice(const OrtEpDevice* device) noexcept : device_(device) {}
  operator const OrtEpDevice*() const noexcept { return device_; }  // NOLINT: implicit, for calls in C style
  explicit operator bool() const noexcept { return device_ != nullptr; }

  std::string provider() const { return api().EpDevice_EpName(device_); }
  std::string provider_vendor() const { return api().EpDevice_EpVendor(device_); }
  std::map<std::string, std::string> metadata() const { return KeyValues::read(api().EpDevice_EpMetadata(device_)); }
  /// The options that this provider offers for this device.
  std::map<std::string, std::string> options() const { return KeyValues::read(api().EpDevice_EpOptions(device_)); }
  HardwareDevice hardware() const { return HardwareDevice(api().EpDevice_Device(device_)); }
  /// The memory in which the device keeps tensors, or in which the host and the device exchange them; empty if the
  /// device has no such memory, as the processor. Since 1.23.
  MemoryView memory(OrtDeviceMemoryType kind = OrtDeviceMemoryType_DEFAULT) const {
    Library::need(23, "the memory of a device");
    return MemoryView(api().EpDevice_MemoryInfo(device_, kind));
  }
  struct Capacity {
    size_t total = 0, available = 0;  ///< bytes
  };
  /// How much memory of that kind the device has, as its provider says. Throws an Error with the code
  /// ORT_NOT_IMPLEMENTED if the provider does not say, as that of the processor. Since 1.32.
  Capacity memory_capacity(OrtDeviceMemoryType kind = OrtDeviceMemoryType_DEFAULT) const {
    Library::need(32, "the capacity of a device's memory");
    Capacity capacity;
    check(api().EpDevice_GetMemoryCapacity(device_, kind, &capacity.total, &capacity.available));
    return capacity;
  }

 private:
  const OrtEpDevice* device_ = nullptr;
};

/// The devices that models can run on: those of all providers that this environment knows, including the processor;
/// since 1.22.
inline std::vector<EpDevice> ep_devices(const Env& env) {
  Library::need(22, "a list of devices");
  const OrtEpDevice* const* all = nullptr;
  size_t n = 0;
  check(api().GetEpDevices(env, &all, &n));
  std::vector<EpDevice> devices;
  for (size_t i = 0; i < n; ++i) devices.emplace_back(all[i]);
  return devices;
}

/// The hardware of this machine, with or without a provider for it; since 1.24.
inline std::vector<HardwareDevice> hardware_devices(const Env& env) {
  Library::need(24, "a list of hardware");
  size_t n = 0;
  check(api().GetNumHardwareDevices(env, &n));
  std::vector<const OrtHardwareDevice*> all(n);
  check(api().GetHardwareDevices(env, all.data(), n));
  std::vector<HardwareDevice> devices;
  for (const OrtHardwareDevice* device : all) devices.emplace_back(device);
  return devices;
}

/// A library of providers, registered as long as this object lives. Sessions that use its devices must end before it.
/// Since 1.22.
class ProviderLibrary {
 public:
  ProviderLibrary(const Env& env, std::string name, const std::filesystem::path& file)
      : env_((Library::need(22, "a library of providers"), env.get())), name_(std::move(name)) {
    check(api().RegisterExecutionProviderLibrary(env_, name_.c_str(), file.c_str()));
  }
  ProviderLibrary(const ProviderLibrary&) = delete;
  ProviderLibrary& operator=(const ProviderLibrary&) = delete;
  ~ProviderLibrary() {
    if (OrtStatus* status = api().UnregisterExecutionProviderLibrary(env_, name_.c_str())) api().ReleaseStatus(status);
  }

 private:
  OrtEnv* env_;
  std::string name_;
};

/// The environment's allocator for that memory, or null if there is none. The environment owns it; it lives as long as
/// the provider's library, and all sessions share it. Thread-safe. Since 1.23.
inline OrtAllocator* shared_allocator(const Env& env, const OrtMemoryInfo* where) {
  Library::need(23, "a shared allocator");
  OrtAllocator* allocator = nullptr;
  check(api().GetSharedAllocator(env, where, &allocator));
  return allocator;
}

/// Creates or replaces that allocator. Fails for a device without such memory, for example the processor. Since 1.23.
inline OrtAllocator* create_shared_allocator(const Env& env, EpDevice device, OrtDeviceMemoryType kind,
                                             const KeyValues& options = {}) {
  Library::need(23, "a shared allocator");
  OrtAllocator* allocator = nullptr;
  check(api().CreateSharedAllocator(env, device, kind, OrtDeviceAllocator, options, &allocator));
  return allocator;
}

/// Releases it; memory that it allocated must not be used any more. Since 1.23.
inline void release_shared_allocator(const Env& env, EpDevice device, OrtDeviceMemoryType kind) {
  Library::need(23, "a shared allocator");
  check(api().ReleaseSharedAllocator(env, device, kind));
}

/// A queue of a device's work: copies and runs on one stream follow each other. Fails for the processor, which has no
/// streams. Runs that were given the stream must have ended before it is destroyed. Since 1.23.
class SyncStream : public Owner<OrtSyncStream, &OrtApi::ReleaseSyncStream> {
 public:
  explicit SyncStream(EpDevice device, const KeyValues& options = {}) {
    Library::need(23, "a stream");
    check(api().CreateSyncStreamForEpDevice(device, options, out()));
  }
  /// The handle of the device's own interface, for example a cudaStream_t; may be null.
  void* native() const { return api().SyncStream_GetHandle(get()); }
};

/// Copies tensors between the host and devices. All of `from` lie in one memory, all of `to`, which must exist already,
/// in another. With a stream, the call may return before the copies are done. Copies between two tensors of the host
/// fail with ORT_NOT_IMPLEMENTED: use std::copy. Since 1.23.
inline void copy_tensors(const Env& env, std::span<const OrtValue* const> from, std::span<OrtValue* const> to,
                         OrtSyncStream* stream = nullptr) {
  Library::need(23, "copying tensors");
  if (from.size() != to.size()) throw Error(ORT_INVALID_ARGUMENT, "each source tensor needs one destination tensor");
  check(api().CopyTensors(env, from.data(), to.data(), stream, from.size()));
}
inline void copy_tensor(const Env& env, const Value& from, Value& to, OrtSyncStream* stream = nullptr) {
  const OrtValue* source = from;
  OrtValue* target = to;
  copy_tensors(env, {&source, 1}, {&target, 1}, stream);
}

}  // namespace retort::api
