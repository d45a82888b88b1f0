// What it takes to get a model going: measured in a fresh process, so that nothing is there from before.
#pragma once
#include "commands.h"

namespace retort::cli {

struct Start {
  double load_ms = 0;   ///< creation of the session
  double first_ms = 0;  ///< first run; inputs are there before
  /// Growth of the resident memory at its highest, while loading and after the first run; pages of the mapped model
  /// file included.
  double load_peak_mib = 0, peak_mib = 0;
  double total_ms() const { return load_ms + first_ms; }
};

/// Loads the model with the engine `library` in a child process and runs it once. This process must have no threads and
/// no engine open yet. Throws Failure when the child fails.
Start measure_start(const Common& options, const std::string& library, int threads);

/// The start with the median total of several, which may not be empty.
Start median(std::vector<Start> starts);

}  // namespace retort::cli
