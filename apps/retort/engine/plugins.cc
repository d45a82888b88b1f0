// Execution providers of an engine: its own, and those of plug-ins.
#include <algorithm>
#include <filesystem>

#include "engine/engine.h"

namespace retort::cli {
namespace {

/// Relative paths mean the folder of the caller. Official ONNX Runtime would search in the folder of its own library.
/// A name that is no file here is left for the loader.
std::string callers_path(const std::string& file) {
  std::error_code none;
  const bool is_path = file.find('/') != std::string::npos || std::filesystem::exists(file, none);
  return is_path ? std::filesystem::absolute(file).string() : file;
}

}  // namespace

void EngineLibrary::register_plugin(const std::string& name, const std::string& file) const {
  if (api_version_ < 22) throw Failure("this engine does not support plug-in providers");
  check(api_->RegisterExecutionProviderLibrary(env(), name.c_str(), callers_path(file).c_str()));
}

std::vector<const OrtEpDevice*> EngineLibrary::plugin_devices(const std::string& provider) const {
  std::vector<const OrtEpDevice*> all;
  for (const auto& [plugin, names] : plugins_) {
    if (std::find(names.begin(), names.end(), provider) == names.end()) continue;
    const OrtEpDevice* const* devices = nullptr;
    size_t count = 0;
    check(api_->GetEpDevices(env(), &devices, &count));
    for (size_t i = 0; i < count; ++i) {
      if (api_->EpDevice_EpName(devices[i]) == provider) all.push_back(devices[i]);
    }
  }
  return all;
}

std::string EngineLibrary::plugin_providers() const {
  std::string all;
  for (const auto& [plugin, names] : plugins_) {
    for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  }
  return all;
}

std::vector<std::string> EngineLibrary::load_plugin(const std::string& name, const std::string& file) const {
  const auto loaded = plugins_.find(name);
  if (loaded != plugins_.end()) return loaded->second;
  const auto names = [&] {
    const OrtEpDevice* const* devices = nullptr;
    size_t count = 0;
    check(api_->GetEpDevices(env(), &devices, &count));
    std::vector<std::string> all;
    for (size_t i = 0; i < count; ++i) {
      const std::string provider = api_->EpDevice_EpName(devices[i]);
      if (std::find(all.begin(), all.end(), provider) == all.end()) all.push_back(provider);
    }
    return all;
  };
  const auto before = api_version_ < 22 ? std::vector<std::string>() : names();
  register_plugin(name, file);
  std::vector<std::string> brought = names();
  std::erase_if(brought, [&](auto& n) { return std::find(before.begin(), before.end(), n) != before.end(); });
  if (brought.empty())
    throw Failure("the plug-in " + file + " has no device here; retort devices --plugin " + name + "=" + file +
                  " lists devices; --vulkan finds more, and --virtual declares some");
  return plugins_[name] = std::move(brought);
}

void EngineSession::add_provider(OrtSessionOptions* options, const std::string& name,
                                 const std::map<std::string, std::string>& entries) const {
  const OrtApi& api = engine_->api();
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  const auto devices = engine_->plugin_devices(name);
  if (!devices.empty())
    return engine_->check(api.SessionOptionsAppendExecutionProvider_V2(
        options, engine_->env(), devices.data(), devices.size(), keys.data(), values.data(), keys.size()));
  const auto built_in = engine_->providers();
  const bool known = std::any_of(built_in.begin(), built_in.end(), [&](const std::string& one) {
    return one == name || one == name + "ExecutionProvider";
  });
  const std::string brought = engine_->plugin_providers();
  if (!known && !brought.empty()) throw Failure("provider '" + name + "' does not exist; the plug-ins have " + brought);
  try {
    engine_->check(
        api.SessionOptionsAppendExecutionProvider(options, name.c_str(), keys.data(), values.data(), keys.size()));
  } catch (const Failure& f) {
    throw Failure(f.what() + std::string(known ? "" : "; --plugin NAME=FILE loads a plug-in library"));
  }
}

void EngineSession::add_providers(OrtSessionOptions* options, const SessionSettings& settings) const {
  std::vector<std::string> brought;
  for (const auto& [name, file] : settings.plugins) {
    const auto of_plugin = engine_->load_plugin(name, file);
    brought.insert(brought.end(), of_plugin.begin(), of_plugin.end());
  }
  for (const auto& [name, entries] : settings.providers) add_provider(options, name, entries);
  for (const std::string& name : brought) {
    if (settings.providers.empty()) add_provider(options, name, {});
  }
}

}  // namespace retort::cli
