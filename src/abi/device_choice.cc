// Which devices a session runs on: those that the caller added, else what a policy or the caller's delegate selects.
#include <algorithm>
#include <array>
#include <cctype>

#include "abi/devices.h"
#include "abi/environment.h"
#include "abi/slots.h"
#include "ir/graph.h"

namespace retort::abi {
namespace {

constexpr size_t kMostSelected = 8;

void check_policy(OrtExecutionProviderDevicePolicy policy) {
  require(policy >= OrtExecutionProviderDevicePolicy_DEFAULT &&
              policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER,
          ErrorCode::invalid_argument, "device policy {} does not exist", int(policy));
}

void check_device_count(size_t devices) {
  require(devices == 1, ErrorCode::invalid_argument, "the CPU provider was added with {} devices at once", devices);
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

void ask_delegate(const OrtSessionOptions& options, const OrtKeyValuePairs& about) {
  std::array<const OrtEpDevice*, 1> offered{&cpu_device()};
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
  require(std::all_of(selected.begin(), selected.begin() + count, [](auto* d) { return d == &cpu_device(); }),
          ErrorCode::invalid_argument, "the delegate selected a device that it was not offered");
  require(count == 1, ErrorCode::invalid_argument, "the delegate selected the CPU {} times", count);
}

/// The configuration key of a provider's option.
std::string config_key(std::string provider, std::string_view option) {
  std::transform(provider.begin(), provider.end(), provider.begin(),
                 [](char c) { return char(std::tolower(static_cast<unsigned char>(c))); });
  return cat("ep.{}.{}", provider, option);
}

}  // namespace

void choose_devices(const OrtSessionOptions& options, const Model& model) {
  const bool added = !options.options.providers.empty() || !options.devices.empty();
  if (options.options.config_on("session.disable_cpu_ep_fallback")) {
    require(!added, ErrorCode::invalid_argument,
            "the CPU provider was added, but session.disable_cpu_ep_fallback forbids it");
    require(model.graph->order().empty(), ErrorCode::fail,
            "session.disable_cpu_ep_fallback leaves nobody to run the nodes: no other provider was added");
  }
  for (size_t devices : options.devices) check_device_count(devices);
  require(options.devices.size() <= 1, ErrorCode::fail, "the CPU provider was added {} times", options.devices.size());
  if (added) return;
  if (options.delegate) return ask_delegate(options, metadata_of(model));
  check_policy(options.policy);  // all of them find the CPU alone
}

std::string first_provider(const OrtSessionOptions& options) {
  for (size_t devices : options.devices) check_device_count(devices);
  if (!options.options.providers.empty()) return options.options.providers.front().name;
  if (options.devices.empty() && options.delegate) {
    ask_delegate(options, OrtKeyValuePairs());
  } else {
    check_policy(options.policy);
  }
  return cpu_device().name;
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_V2(
    OrtSessionOptions* session_options, OrtEnv* env, const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
    const char* const* ep_option_keys, const char* const* ep_option_vals, size_t num_ep_options) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(session_options, "session_options");
    handle(env, "env");
    need(ep_devices, "ep_devices");
    require(num_ep_devices > 0, ErrorCode::invalid_argument, "no devices were given");
    for (size_t i = 0; i < num_ep_devices; ++i) handle(ep_devices[i], "ep_devices");
    std::map<std::string, std::string> config = o.options.config;
    for (size_t i = 0; i < num_ep_options; ++i) {
      const char* key = need_text((&need(ep_option_keys, "ep_option_keys"))[i], "ep_option_keys");
      const char* value = need_text((&need(ep_option_vals, "ep_option_vals"))[i], "ep_option_vals");
      config[config_key(ep_devices[0]->name, key)] = value;
    }
    o.devices.push_back(num_ep_devices);
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
