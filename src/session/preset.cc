#include "session/preset.h"

#include <algorithm>
#include <array>
#include <utility>

namespace retort {
namespace {

constexpr std::array kNames{std::pair("high_performance", Preset::high_performance),
                            std::pair("minimal_size", Preset::minimal_size), std::pair("low_power", Preset::low_power),
                            std::pair("low_latency", Preset::low_latency)};

// Longer than the pause between the frames of a camera or of a telephone call. A thread that sleeps takes about 50
// microseconds to start, and longer if its processor has reduced its clock meanwhile.
constexpr const char* kAwake = "50000";  // microseconds

}  // namespace

Preset preset_of(const SessionOptions& options) {
  const std::string& entry = options.config_entry("session.preset");
  const auto* const found = std::ranges::find_if(kNames, [&](const auto& named) { return entry == named.first; });
  return found == kNames.end() ? Preset::none : found->second;
}

SessionOptions with_preset(SessionOptions options) {
  const auto otherwise = [&](const char* key, const char* value) { options.config.emplace(key, value); };
  switch (preset_of(options)) {
    case Preset::high_performance:
      options.parallel_execution = true;
      break;
    case Preset::low_latency:
      otherwise("session.intra_op.spin_duration_us", kAwake);
      otherwise("session.inter_op.spin_duration_us", kAwake);
      break;
    case Preset::minimal_size:  // the session frees the workspace of each run
    case Preset::low_power:  // the threads are chosen when the session is made, since a program may change them later
    case Preset::none:
      break;
  }
  return options;
}

}  // namespace retort
