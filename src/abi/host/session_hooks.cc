// What plug-ins are told of the sessions that use them, and of their runs.
#include "abi/host/plugin.h"
#include "abi/options.h"

namespace retort::abi {
namespace {

constexpr uint32_t kRunHooksSince = 23, kConcurrentRunsSince = 24, kSessionEndSince = 27;

/// The options as the plug-in may ask for them; the defaults where the run has none.
const OrtRunOptions& told_options(const RunOptions* options) {
  static const auto* const kDefaults = new OrtRunOptions;
  return options && options->outward ? *static_cast<const OrtRunOptions*>(options->outward) : *kDefaults;
}

}  // namespace

void tell_session_made(OrtEp& ep, const std::string& who) {
  if (ep.ort_version_supported < kSessionEndSince || !ep.OnSessionInitializationEnd) return;
  check_plugin(ep.OnSessionInitializationEnd(&ep), who, "OnSessionInitializationEnd");
}

bool asked_runs_at_once(OrtEp& ep, const std::string& who) {
  bool may = true;
  if (ep.ort_version_supported >= kConcurrentRunsSince && ep.IsConcurrentRunSupported)
    check_plugin(ep.IsConcurrentRunSupported(&ep, &may), who, "IsConcurrentRunSupported");
  return may;
}

void tell_options(OrtEp& ep, const std::string& who, std::span<const char* const> keys,
                  std::span<const char* const> values) {
  if (ep.ort_version_supported < kRunHooksSince || !ep.SetDynamicOptions) return;
  check_plugin(ep.SetDynamicOptions(&ep, keys.data(), values.data(), keys.size()), who, "SetDynamicOptions");
}

void tell_run_begins(OrtEp& ep, const std::string& who, const RunOptions* options) {
  if (ep.ort_version_supported < kRunHooksSince || !ep.OnRunStart) return;
  check_plugin(ep.OnRunStart(&ep, &told_options(options)), who, "OnRunStart");
}

void tell_run_ends(OrtEp& ep, const std::string& who, const RunOptions* options, bool waits) {
  if (ep.ort_version_supported < kRunHooksSince || !ep.OnRunEnd) return;
  check_plugin(ep.OnRunEnd(&ep, &told_options(options), waits), who, "OnRunEnd");
}

}  // namespace retort::abi
