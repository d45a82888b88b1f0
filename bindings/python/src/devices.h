// EP devices and the hardware behind them. The engine's environment owns both; they stay until their library is
// unregistered.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "engine.h"
#include "pairs.h"

namespace retort::python {

// C.OrtHardwareDevice: a view.
struct HardwareDevice {
  const OrtHardwareDevice* handle;
  bool operator==(const HardwareDevice&) const = default;
};

// C.OrtEpDevice: a view.
struct EpDevice {
  const OrtEpDevice* handle;
  bool operator==(const EpDevice&) const = default;
};

// All devices of the environment, in its order.
std::vector<const OrtEpDevice*> ep_devices();

// Those of one provider.
std::vector<const OrtEpDevice*> devices_of(const std::string& provider);

// What finds a device again in another process: provider, hardware type, vendor id and device id.
struct DeviceKey {
  std::string provider;
  int type = 0;
  uint32_t vendor = 0;
  uint32_t id = 0;
  bool operator==(const DeviceKey&) const = default;
};
DeviceKey key_of(const OrtEpDevice* device);

// Throws Error(ORT_NOT_FOUND), which names the provider, if no such device is registered here.
const OrtEpDevice* device_of(const DeviceKey& key);

// C.OrtSyncStream.
class SyncStream {
 public:
  explicit SyncStream(OrtSyncStream* handle) : handle_(handle) {}
  OrtSyncStream* get() const noexcept { return handle_.get(); }

 private:
  struct Free {
    void operator()(OrtSyncStream* stream) const noexcept { api().ReleaseSyncStream(stream); }
  };
  std::unique_ptr<OrtSyncStream, Free> handle_;
};

}  // namespace retort::python
