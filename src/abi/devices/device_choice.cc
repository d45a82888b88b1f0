// Chooses the devices that a session runs on: those that the caller added, or those that a policy or the caller's
// delegate selects.
#include <algorithm>
#include <array>
#include <tuple>

#include "abi/devices/devices.h"
#include "abi/host/plugin.h"
#include "abi/sessions/environment.h"
#include "abi/slots.h"
#include "base/c_locale.h"
#include "ir/graph.h"

namespace retort::abi {
namespace {

constexpr size_t kMostSelected = 8;

void check_policy(OrtExecutionProviderDevicePolicy policy) {
  require(policy >= OrtExecutionProviderDevicePolicy_DEFAULT &&
              policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER,
          ErrorCode::invalid_argument, "device policy {} does not exist", int(policy));
}

OrtKeyValuePairs metadata_of(const Model& model) {
  std::map<std::string, std::string> entries{{"producer_name", model.producer_name},
                                             {"producer_version", model.producer_version},
                                             {"domain", model.domain},
                                             {"model_version", cat("{}", model.model_version)},
                                             {"doc_string", model.doc},
                                             {"graph_name", model.graph->name},
                                             {"graph_description", model.graph->doc}};
  for (const auto& [key, value] : model.metadata) entries.emplace(key, value);
  return OrtKeyValuePairs(std::move(entries));
}

using DeviceList = std::vector<const OrtEpDevice*>;

bool is_cpu(const OrtEpDevice* device) { return !device->factory; }

/// Whether the provider and the hardware are of one vendor.
bool of_one_vendor(const OrtEpDevice& d) {
  return (d.vendor_id != 0 && d.vendor_id == d.hardware->vendor_id) || d.vendor == d.hardware->vendor;
}

/// Whether policies take the provider for the engine's own of the CPU. The official library tells its own by the vendor,
/// which a plug-in may name as well.
bool counts_as_cpu(const OrtEpDevice* device) {
  return is_cpu(device) || (device->hardware->type == OrtHardwareDeviceType_CPU && device->vendor == "Microsoft");
}

/// The environment's devices in the order in which policies prefer them and delegates get them: NPUs, GPUs, processors;
/// discrete GPUs before those inside a processor; providers of the hardware's vendor before others; ties by the
/// provider's name. Last come the CPU and what counts as it, in the order of the environment.
DeviceList ordered(const EpDevices& devices) {
  DeviceList list = devices.list();
  const auto rank = [](const OrtEpDevice* d) {
    const auto& about = d->hardware->metadata.entries();
    const auto discrete = about.find("Discrete");
    const bool own_card =
        d->hardware->type == OrtHardwareDeviceType_GPU && discrete != about.end() && discrete->second == "1";
    const bool last = counts_as_cpu(d);
    return std::tuple(-int(d->hardware->type), !own_card, last, !last && !of_one_vendor(*d),
                      last ? std::string_view() : std::string_view(d->name));
  };
  std::ranges::stable_sort(list, {}, rank);
  return list;
}

/// The devices that the caller's delegate selects.
DeviceList ask_delegate(const EpDevices& devices, const OrtSessionOptions& options, const OrtKeyValuePairs& about) {
  DeviceList offered = ordered(devices);
  std::array<const OrtEpDevice*, kMostSelected> selected{};
  const OrtKeyValuePairs none;
  size_t count = 0;
  OrtStatus* status = options.delegate(offered.data(), offered.size(), &about, &none, selected.data(), selected.size(),
                                       &count, options.delegate_state);
  if (status) {
    const std::string reason = GetErrorMessage(status);
    ReleaseStatus(status);
    fail(ErrorCode::fail, "the delegate that selects devices failed: {}", reason);
  }
  require(count > 0, ErrorCode::fail, "the delegate selected no device");
  require(count <= selected.size(), ErrorCode::fail, "the delegate selected {} devices, of at most {}", count,
          selected.size());
  const DeviceList chosen(selected.begin(), selected.begin() + std::ptrdiff_t(count));
  for (const OrtEpDevice* d : chosen) {
    require(std::ranges::count(offered, d) > 0, ErrorCode::invalid_argument,
            "the delegate selected a device that it was not offered");
    const auto times = std::ranges::count(chosen, d);
    require(times == 1 || !is_cpu(d), ErrorCode::invalid_argument, "the delegate selected the CPU {} times", times);
  }
  return chosen;
}

/// The kind of device that a policy prefers.
OrtHardwareDeviceType preferred(OrtExecutionProviderDevicePolicy policy) {
  switch (policy) {
    case OrtExecutionProviderDevicePolicy_PREFER_GPU:
    case OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE:
      return OrtHardwareDeviceType_GPU;
    case OrtExecutionProviderDevicePolicy_PREFER_NPU:
    case OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY:
    case OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER:
      return OrtHardwareDeviceType_NPU;
    default:
      return OrtHardwareDeviceType_CPU;
  }
}

/// The best device of the kind that the policy prefers, if there is one, then the best processor, then the last of what
/// counts as the CPU, which takes every node that is left.
DeviceList by_policy(const EpDevices& devices, OrtExecutionProviderDevicePolicy policy) {
  check_policy(policy);
  const DeviceList all = ordered(devices);
  DeviceList chosen;
  const auto add_first = [&](OrtHardwareDeviceType kind) {
    const auto best = std::ranges::find_if(all, [&](const OrtEpDevice* d) { return d->hardware->type == kind; });
    if (best != all.end()) chosen.push_back(*best);
  };
  const OrtHardwareDeviceType kind = preferred(policy);
  if (kind != OrtHardwareDeviceType_CPU) add_first(kind);
  add_first(OrtHardwareDeviceType_CPU);
  if (!counts_as_cpu(chosen.back())) chosen.push_back(all.back());
  return chosen;
}

/// What the delegate or the policy of the options chooses; empty: they have neither, and the CPU runs everything.
DeviceList selected_devices(const EpDevices& devices, const OrtSessionOptions& options, const OrtKeyValuePairs& about) {
  if (options.delegate) return ask_delegate(devices, options, about);
  return options.policy ? by_policy(devices, *options.policy) : DeviceList();
}

void check_cpu_alone(const std::vector<DeviceList>& lists) {
  for (const DeviceList& list : lists) {
    require(!is_cpu(list[0]) || list.size() == 1, ErrorCode::invalid_argument,
            "the CPU provider was added with {} devices at once", list.size());
  }
}

/// Those of a provider's devices that a request means: all, or the one whose number is its option device_id.
DeviceList numbered(const DeviceList& devices, const ProviderRequest& request) {
  const auto at = request.options.find("device_id");
  if (at == request.options.end() || devices.size() == 1) return devices;
  const auto found =
      std::ranges::find_if(devices, [&](const OrtEpDevice* d) { return std::to_string(d->index) == at->second; });
  require(found != devices.end(), ErrorCode::invalid_argument, "provider '{}' has no device {}; it has 0 to {}",
          request.name, at->second, devices.size() - 1);
  return {*found};
}

/// The devices that the caller added: one list per call, each of one provider.
std::vector<DeviceList> added_devices(const EpDevices& devices, const OrtSessionOptions& options) {
  std::vector<DeviceList> lists = options.devices;
  for (const ProviderRequest& request : options.options.providers) {
    const DeviceList named = devices.of(request.name);
    require(!named.empty(), ErrorCode::invalid_argument, "provider '{}' is no longer in this environment",
            request.name);
    const bool is_repeated = is_cpu(named[0]) && std::ranges::any_of(lists, [](auto& l) { return is_cpu(l[0]); });
    if (!is_repeated) lists.push_back(numbered(named, request));
  }
  check_cpu_alone(lists);
  const auto cpu = std::ranges::count_if(lists, [](const DeviceList& list) { return is_cpu(list[0]); });
  require(cpu <= 1, ErrorCode::fail, "the CPU provider was added {} times", cpu);
  return lists;
}

/// Makes one provider for each list; the CPU chooses nodes before those that come after it.
std::vector<std::shared_ptr<Provider>> make_providers(const std::vector<DeviceList>& lists,
                                                      const std::map<std::string, std::string>& config,
                                                      const OrtSessionOptions& options, DeviceList& used) {
  std::vector<std::shared_ptr<Provider>> providers;
  bool after_cpu = false;
  for (const DeviceList& list : lists) {
    after_cpu = after_cpu || is_cpu(list[0]);
    if (is_cpu(list[0])) continue;
    const auto times =
        std::ranges::count_if(lists, [&](const DeviceList& l) { return l[0]->factory == list[0]->factory; });
    require(times == 1, ErrorCode::fail, "provider '{}' was added {} times; add it once, with all its devices",
            list[0]->name, times);
    std::vector<size_t> indices;
    for (const OrtEpDevice* d : list) indices.push_back(d->index);
    providers.push_back(list[0]->factory->make_provider(indices, config, &options));
    if (after_cpu) providers.back()->come_after_cpu();
    used.insert(used.end(), list.begin(), list.end());
  }
  return providers;
}

/// Groups devices by provider, in the order of each provider's first device.
std::vector<DeviceList> by_provider(const DeviceList& devices) {
  std::vector<DeviceList> lists;
  for (const OrtEpDevice* d : devices) {
    auto same = std::ranges::find_if(lists, [&](const DeviceList& l) { return l[0]->factory == d->factory; });
    if (same == lists.end()) same = lists.insert(lists.end(), DeviceList());
    same->push_back(d);
  }
  return lists;
}

/// The configuration key of a provider's option.
std::string config_key(std::string provider, std::string_view option) {
  std::transform(provider.begin(), provider.end(), provider.begin(), small_letter);
  return cat("ep.{}.{}", provider, option);
}

/// Adds the options that the plug-ins give to their devices, where the caller has set no others.
void add_standard_options(const std::vector<DeviceList>& lists, std::map<std::string, std::string>& config) {
  for (const DeviceList& list : lists) {
    for (const OrtEpDevice* d : list) {
      for (const auto& [key, value] : d->options.entries()) config.emplace(config_key(d->name, key), value);
    }
  }
}

}  // namespace

std::vector<std::shared_ptr<Provider>> choose_devices(const EpDevices& devices, const OrtSessionOptions& options,
                                                      const Model& model, std::vector<const OrtEpDevice*>& used) {
  const bool added = !options.options.providers.empty() || !options.devices.empty();
  std::vector<DeviceList> lists = added_devices(devices, options);
  if (!added) lists = by_provider(selected_devices(devices, options, metadata_of(model)));
  if (options.options.config_on("session.disable_cpu_ep_fallback")) {
    const bool cpu_added = added && std::ranges::any_of(lists, [](auto& l) { return is_cpu(l[0]); });
    require(!cpu_added, ErrorCode::invalid_argument,
            "the CPU provider was added, but session.disable_cpu_ep_fallback forbids it");
    const bool alone = std::ranges::all_of(lists, [](auto& l) { return is_cpu(l[0]); });
    require(!alone || model.graph->order().empty(), ErrorCode::fail,
            "session.disable_cpu_ep_fallback leaves no provider to run the nodes: no other was added");
  }
  const bool optimal = options.options.config_on("session.fail_on_suboptimal_compiled_model");
  for (const DeviceList& list : lists) check_compiled_model(list, model, optimal);
  std::map<std::string, std::string> config = options.options.config;
  for (const ProviderRequest& request : options.options.providers) {
    for (const auto& [key, value] : request.options) config[config_key(request.name, key)] = value;
  }
  add_standard_options(lists, config);
  return make_providers(lists, config, options, used);
}

std::string first_provider(const EpDevices& devices, const OrtSessionOptions& options) {
  check_cpu_alone(options.devices);
  if (!options.options.providers.empty()) return options.options.providers.front().name;
  if (!options.devices.empty()) return options.devices.front().front()->name;
  const DeviceList chosen = selected_devices(devices, options, OrtKeyValuePairs());
  return chosen.empty() ? cpu_device().name : chosen.front()->name;
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_V2(
    OrtSessionOptions* session_options, OrtEnv* env, const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
    const char* const* ep_option_keys, const char* const* ep_option_vals, size_t num_ep_options) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(session_options, "session_options");
    handle(env, "env");
    need(ep_devices, "ep_devices");
    require(num_ep_devices > 0, ErrorCode::invalid_argument, "no devices were given");
    for (size_t i = 0; i < num_ep_devices; ++i) {
      require(handle(ep_devices[i], "ep_devices").factory == handle(ep_devices[0], "ep_devices").factory,
              ErrorCode::invalid_argument,
              "devices of '{}' and '{}' were given; add each provider by a call of its own", ep_devices[0]->name,
              ep_devices[i]->name);
    }
    std::map<std::string, std::string> config = o.options.config;
    for (size_t i = 0; i < num_ep_devices; ++i) {
      for (const auto& [key, value] : ep_devices[i]->options.entries())
        config[config_key(ep_devices[i]->name, key)] = value;
    }
    for (size_t i = 0; i < num_ep_options; ++i) {
      const char* key = need_text((&need(ep_option_keys, "ep_option_keys"))[i], "ep_option_keys");
      const char* value = need_text((&need(ep_option_vals, "ep_option_vals"))[i], "ep_option_vals");
      config[config_key(ep_devices[0]->name, key)] = value;
    }
    add_operator_domains(*ep_devices[0], o.domains);
    o.devices.emplace_back(ep_devices, ep_devices + num_ep_devices);
    o.options.config = std::move(config);
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetEpSelectionPolicy(OrtSessionOptions* session_options,
                                                             OrtExecutionProviderDevicePolicy policy) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(session_options, "session_options");
    o.policy = policy;
    o.delegate = nullptr;
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions* session_options,
                                                                     EpSelectionDelegate delegate,
                                                                     void* delegate_state) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(session_options, "session_options");
    o.delegate = delegate;
    o.delegate_state = delegate_state;
  });
}

}  // namespace retort::abi
