// Makes an engine's provider factory of a plug-in's factory.
#include <algorithm>

#include "abi/host/plugin.h"

namespace retort::abi {
namespace {

constexpr size_t kMostDevices = 16;

class PluginFactory : public ProviderFactory {
 public:
  PluginFactory(std::shared_ptr<Plugin> plugin, std::string vendor, Logger logger,
                const std::shared_ptr<Devices>& shared)
      : plugin_(std::move(plugin)),
        vendor_(std::move(vendor)),
        logger_(std::move(logger)),
        shared_(shared),
        transfer_(plugin_transfer(plugin_)) {}

  void add(ProviderDevice device, const OrtEpDevice& made) {
    devices_.push_back(std::move(device));
    hardware_.push_back(made.hardware);
    memory_.push_back(made.allocators);
  }

  const std::string& name() const override { return plugin_->name(); }
  const std::string& vendor() const override { return vendor_; }
  std::span<const ProviderDevice> devices() const override { return devices_; }
  DataTransfer* transfer() override { return transfer_.get(); }

  std::unique_ptr<Provider> make_provider(std::span<const size_t> devices,
                                          const std::map<std::string, std::string>& config,
                                          const void* outward) override {
    ProviderSpec spec{.config = config, .caller = static_cast<const OrtSessionOptions*>(outward)};
    for (const size_t i : devices) {
      spec.devices.push_back(&devices_.at(i));
      spec.hardware.push_back(hardware_.at(i));
      for (const OrtMemoryInfo& info : memory_.at(i)) add_once(spec.memory, info);
    }
    // Messages of a provider about a session go to that session's log.
    const Logger log = spec.caller ? spec.caller->options.logger(logger_) : logger_;
    return plugin_provider(plugin_, spec, log, shared_.lock());
  }

  std::unique_ptr<Stream> make_stream(size_t device, const std::map<std::string, std::string>& options) override {
    OrtEpFactory& factory = plugin_->factory();
    const ProviderDevice& d = devices_.at(device);
    if (!factory.CreateSyncStreamForDevice || d.memory.empty() || !plugin_->makes_streams()) return nullptr;
    const OrtMemoryDevice where = device_of(d.memory[0]->space());
    const OrtKeyValuePairs pairs(options);
    OrtSyncStreamImpl* made = nullptr;
    plugin_->call("CreateSyncStreamForDevice", factory.CreateSyncStreamForDevice, &factory, &where, &pairs, &made);
    return made ? plugin_stream(plugin_, made, where) : nullptr;
  }

  bool is_used() const { return plugin_->in_use > 0; }

 private:
  static void add_once(std::vector<OrtMemoryInfo>& all, const OrtMemoryInfo& info) {
    const bool there = std::ranges::any_of(all, [&](const OrtMemoryInfo& other) {
      return other.space == info.space && other.allocator_type == info.allocator_type;
    });
    if (!there) all.push_back(info);
  }

  const std::shared_ptr<Plugin> plugin_;
  const std::string vendor_;
  const Logger logger_;
  const std::weak_ptr<Devices> shared_;  // the object that holds this one
  const std::unique_ptr<DataTransfer> transfer_;
  std::vector<ProviderDevice> devices_;
  std::vector<const OrtHardwareDevice*> hardware_;
  std::vector<std::vector<OrtMemoryInfo>> memory_;  // by device
};

/// The devices that a factory makes for the hardware.
std::vector<std::unique_ptr<OrtEpDevice>> ask_devices(const OrtEnv& env, Plugin& plugin) {
  OrtEpFactory& factory = plugin.factory();
  const auto& hardware = hardware_of(env);
  OrtEpDevice* made[kMostDevices] = {};
  size_t count = 0;
  std::vector<std::unique_ptr<OrtEpDevice>> devices;
  const auto take = [&] {
    for (OrtEpDevice* d : made) {
      if (d) devices.emplace_back(d);
    }
  };
  try {
    plugin.call("GetSupportedDevices", factory.GetSupportedDevices, &factory, hardware.data(), hardware.size(), made,
                kMostDevices, &count);
  } catch (...) {
    take();
    throw;
  }
  take();
  require(count == devices.size(), ErrorCode::ep_fail, "{} reported {} devices, but gave {}", plugin.who(), count,
          devices.size());
  for (const auto& d : devices) {
    require(d->tag == OrtEpDevice::kTag && d->plugin == &factory, ErrorCode::ep_fail,
            "{} gave a device that it did not make by CreateEpDevice", plugin.who());
  }
  return devices;
}

}  // namespace

OfferedProvider offered(const OrtEnv& env, const std::shared_ptr<Plugin>& plugin) {
  OrtEpFactory& factory = plugin->factory();
  const char* vendor = factory.GetVendor ? plugin->call("GetVendor", factory.GetVendor, &factory) : nullptr;
  auto made = std::make_shared<PluginFactory>(plugin, vendor ? vendor : "", env.environment->logger(),
                                              env.environment->devices());
  OfferedProvider all{made, ask_devices(env, *plugin)};
  const auto& hardware = hardware_of(env);
  for (const auto& d : all.devices) {
    const auto at = std::ranges::find(hardware, d->hardware);
    ProviderDevice device{.hardware = size_t(at - hardware.begin()),
                          .metadata = d->metadata.entries(),
                          .options = d->options.entries(),
                          .memory = {}};
    for (const OrtMemoryInfo& info : d->allocators) {
      if (info.allocator_type == OrtReadOnlyAllocator) continue;  // belongs to sessions
      if (auto allocator = plugin_allocator(plugin, info)) device.memory.push_back(std::move(allocator));
    }
    std::ranges::stable_sort(device.memory, {}, [](const auto& m) { return int(m->space().kind); });
    made->add(std::move(device), *d);
    d->metadata.set("library_path", plugin->library_path());
  }
  return all;
}

void check_unused(const ProviderFactory& factory) {
  const auto* plugin = dynamic_cast<const PluginFactory*>(&factory);
  require(!plugin || !plugin->is_used(), ErrorCode::fail,
          "provider '{}' is in use; release its sessions before its library is unregistered", factory.name());
}

}  // namespace retort::abi
