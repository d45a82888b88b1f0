// Presets: one configuration entry, session.preset, for settings that go together.
#pragma once
#include "session/options.h"

namespace retort {

enum class Preset {
  none,
  high_performance,  ///< the most runs per second: all threads, branches at the same time, packed weights
  minimal_size,      ///< the least memory between runs: workspaces are freed after each run
  low_power,         ///< the least work beside the computation: half of the threads, none of which spins
  low_latency,       ///< the shortest time of a run that begins after a pause: threads wait awake for the next run
};

/// None for an entry that is not set or not known; the session checks it.
Preset preset_of(const SessionOptions& options);
/// The options with the settings of the preset, where a program has set nothing else.
SessionOptions with_preset(SessionOptions options);

}  // namespace retort
