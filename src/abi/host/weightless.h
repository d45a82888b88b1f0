// Weightless modes: whether the models that a plug-in compiles contain weights. The session entries
// ep.enable_weightless_mode and ep.enable_weightless ask for one; the plug-in's devices and its OrtEp say what they
// have.
#pragma once
#include <map>
#include <span>
#include <string>

#include "abi/host/plugin.h"

namespace retort::abi {

/// Throws ep_fail if ep.enable_weightless_mode asks for a mode that the metadata of a device do not offer.
void check_weightless_devices(const Plugin& plugin, std::span<const ProviderDevice* const> devices,
                              const std::map<std::string, std::string>& config);

/// Sets ep.enable_weightless to what ep.enable_weightless_mode, if it is set, says.
void decide_weightless(std::map<std::string, std::string>& config);

/// Asks the provider for the modes that it has, before it compiles. Throws not_implemented if it cannot say, ep_fail if
/// it lacks the mode. Asks nothing if the session asks for no mode, or if the provider is older than the question.
void check_weightless_provider(const Instance& provider);

}  // namespace retort::abi
