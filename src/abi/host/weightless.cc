#include "abi/host/weightless.h"

#include <algorithm>
#include <optional>

#include "abi/host/instance.h"

namespace retort::abi {
namespace {

constexpr uint32_t kWeightlessSince = 29;  // of OrtEp::GetWeightlessSupport
constexpr const char* kMode = "ep.enable_weightless_mode";

using Config = std::map<std::string, std::string>;

struct Support {
  OrtWeightlessSupport value;
  std::string_view name;  ///< in the metadata of devices
  bool contains(OrtWeightlessSupport mode) const {
    return value == mode || (value == OrtWeightlessSupport_ALL_OR_EXTERNAL_ONLY && mode != OrtWeightlessSupport_NONE);
  }
};
constexpr Support kSupports[] = {{OrtWeightlessSupport_NONE, "none"},
                                 {OrtWeightlessSupport_EXTERNAL_ONLY, "external_only"},
                                 {OrtWeightlessSupport_ALL, "all"},
                                 {OrtWeightlessSupport_ALL_OR_EXTERNAL_ONLY, "all_or_external_only"}};

/// The mode that is asked for; nothing if the entry is not set. The session has checked its form.
std::optional<OrtWeightlessSupport> mode_of(const Config& config) {
  const auto at = config.find(kMode);
  if (at == config.end()) return std::nullopt;
  return at->second == "1"   ? OrtWeightlessSupport_EXTERNAL_ONLY
         : at->second == "2" ? OrtWeightlessSupport_ALL
                             : OrtWeightlessSupport_NONE;
}

/// What the metadata of a device say. The older key has no text for both modes.
struct Offer {
  std::string text = "none";
  bool older = false;
  bool contains(OrtWeightlessSupport mode) const {
    const auto* const found = std::ranges::find(kSupports, text, &Support::name);
    if (found == std::end(kSupports) || !found->contains(mode)) return false;
    return !older || found->value != OrtWeightlessSupport_ALL_OR_EXTERNAL_ONLY;
  }
};

Offer offered_by(const ProviderDevice& device) {
  if (const auto at = device.metadata.find("weightless_supported_modes"); at != device.metadata.end())
    return {at->second, false};
  const auto at = device.metadata.find("weightless_support");
  return at == device.metadata.end() ? Offer() : Offer{at->second, true};
}

}  // namespace

void check_weightless_devices(const Plugin& plugin, std::span<const ProviderDevice* const> devices,
                              const Config& config) {
  const auto mode = mode_of(config);
  if (!mode || *mode == OrtWeightlessSupport_NONE) return;
  for (const ProviderDevice* device : devices) {
    const Offer offered = offered_by(*device);
    require(offered.contains(*mode), ErrorCode::ep_fail,
            "{} is {}, but a device of {} has the weightless support '{}'; choose a mode that it has, or 0", kMode,
            int(*mode), plugin.who(), offered.text);
  }
}

void decide_weightless(Config& config) {
  if (const auto mode = mode_of(config))
    config["ep.enable_weightless"] = *mode == OrtWeightlessSupport_NONE ? "0" : "1";
}

void check_weightless_provider(const Instance& provider) {
  const auto mode = mode_of(provider.options.options.config);
  const bool any = !mode && provider.options.options.config_on("ep.enable_weightless");
  if (!provider.since(kWeightlessSince) ||
      (!any && mode.value_or(OrtWeightlessSupport_NONE) == OrtWeightlessSupport_NONE))
    return;
  const std::string who = provider.plugin->who();
  const auto ask = provider.ep().GetWeightlessSupport;
  require(ask != nullptr, ErrorCode::not_implemented,
          "{} cannot say whether it compiles models without weights: it has no GetWeightlessSupport; leave {} out", who,
          mode ? kMode : "ep.enable_weightless");
  OrtWeightlessSupport has = OrtWeightlessSupport_NONE;
  const OrtEp& ep = provider.ep();
  provider.plugin->call("GetWeightlessSupport", ask, &ep, &has);
  if (any) {
    require(has != OrtWeightlessSupport_NONE, ErrorCode::ep_fail,
            "ep.enable_weightless is 1, but {} compiles no models without weights; leave it out", who);
    return;
  }
  const auto* const found = std::ranges::find(kSupports, has, &Support::value);
  require(found != std::end(kSupports) && found->contains(*mode), ErrorCode::ep_fail,
          "{} is {}, but {} has the weightless support {} ({}); choose a mode that it has, or 0", kMode, int(*mode),
          who, int(has), found != std::end(kSupports) ? found->name : "unknown");
}

}  // namespace retort::abi
