// Notifies plug-ins of the sessions that use them, and of their runs.
#include "abi/host/instance.h"

namespace retort::abi {
namespace {

constexpr uint32_t kRunHooksSince = 23, kConcurrentRunsSince = 24, kSessionEndSince = 27;

/// The options as the plug-in may read them; defaults if the run has none.
const OrtRunOptions& told_options(const OrtRunOptions* options) {
  static const auto* const kDefaults = new OrtRunOptions;
  return options ? *options : *kDefaults;
}

}  // namespace

void tell_session_made(const Instance& provider) {
  const auto hook = provider.ep().OnSessionInitializationEnd;
  if (provider.since(kSessionEndSince) && hook) provider.call("OnSessionInitializationEnd", hook);
}

bool asked_runs_at_once(const Instance& provider) {
  bool may = true;
  const auto hook = provider.ep().IsConcurrentRunSupported;
  if (provider.since(kConcurrentRunsSince) && hook) provider.call("IsConcurrentRunSupported", hook, &may);
  return may;
}

void tell_options(const Instance& provider, std::span<const char* const> keys, std::span<const char* const> values) {
  const auto hook = provider.ep().SetDynamicOptions;
  if (provider.since(kRunHooksSince) && hook)
    provider.call("SetDynamicOptions", hook, keys.data(), values.data(), keys.size());
}

void tell_run_begins(const Instance& provider, const OrtRunOptions* options) {
  const auto hook = provider.ep().OnRunStart;
  if (provider.since(kRunHooksSince) && hook) provider.call("OnRunStart", hook, &told_options(options));
}

void tell_run_ends(const Instance& provider, const OrtRunOptions* options, bool waits) {
  const auto hook = provider.ep().OnRunEnd;
  if (provider.since(kRunHooksSince) && hook) provider.call("OnRunEnd", hook, &told_options(options), waits);
}

}  // namespace retort::abi
