// The devices of an environment, which come from the factories of its providers.
#include <algorithm>

#include "abi/devices/devices.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/session.h"

namespace retort::abi {

const std::vector<const OrtEpDevice*>& EpDevices::list() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

std::vector<const OrtEpDevice*> EpDevices::of(std::string_view provider) const {
  const std::lock_guard lock(mutex_);
  std::vector<const OrtEpDevice*> some;
  std::ranges::copy_if(list_, std::back_inserter(some), [&](const OrtEpDevice* d) { return d->name == provider; });
  return some;
}

void EpDevices::add(OrtEnv& env, const std::shared_ptr<ProviderFactory>& factory) {
  const auto& hardware = hardware_of(env);
  std::vector<std::unique_ptr<OrtEpDevice>> made;
  for (const ProviderDevice& device : factory->devices()) {
    require(device.hardware < hardware.size(), ErrorCode::ep_fail, "provider '{}' drives device {} of {}",
            factory->name(), device.hardware, hardware.size());
    OrtEpDevice& d = *made.emplace_back(std::make_unique<OrtEpDevice>());
    d.name = factory->name();
    d.vendor = factory->vendor();
    for (const auto& [key, value] : device.metadata) d.metadata.set(key, value);
    for (const auto& [key, value] : device.options) d.options.set(key, value);
    d.hardware = hardware[device.hardware];
  }
  add(env, factory, std::move(made));
}

void EpDevices::add(OrtEnv& env, const std::shared_ptr<ProviderFactory>& factory,
                    std::vector<std::unique_ptr<OrtEpDevice>> devices) {
  env.environment->devices()->add(factory);
  for (size_t i = 0; i < devices.size(); ++i) {
    OrtEpDevice& d = *devices[i];
    d.factory = factory;
    d.index = i;
    d.memory = factory->devices()[i].memory;
    for (const auto& memory : d.memory) {
      if (!memory->name().empty()) name_space(memory->space(), memory->name());
      env.allocators.set_device(memory);
    }
  }
  const std::lock_guard lock(mutex_);
  for (auto& d : devices) {
    list_.push_back(d.get());
    own_.push_back(std::move(d));
  }
}

void EpDevices::remove(OrtEnv& env, const std::string& provider) {
  const auto factory = env.environment->devices()->remove(provider);
  if (!factory) return;
  for (const ProviderDevice& device : factory->devices()) {
    for (const auto& memory : device.memory) env.allocators.remove(memory->space());
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(list_, [&](const OrtEpDevice* d) { return d->factory == factory; });
  std::erase_if(own_, [&](const auto& d) { return d->factory == factory; });
}

}  // namespace retort::abi

const OrtEpDevice& OrtSession::device_of(std::string_view provider) const {
  const auto at = std::ranges::find_if(devices, [&](const OrtEpDevice* d) { return d->name == provider; });
  return at == devices.end() ? retort::abi::cpu_device() : **at;
}
