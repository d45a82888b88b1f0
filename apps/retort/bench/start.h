// What it takes to get a model going: measured in a fresh process, so that nothing is there from before.
#pragma once
#include "cli/commands.h"

namespace retort::cli {

// This process must have no threads and no engine open yet: each of these opens one in a child process, as open_side
// does. They throw Failure when the child fails.

/// The name of the engine.
std::string name_apart(const std::string& library);

struct Ports {
  std::vector<PortInfo> inputs, outputs;
};
/// What an engine with the C interface of ONNX Runtime says of a model's inputs and outputs.
Ports ports_apart(const Common& options, const std::string& library);

struct Start {
  double load_ms = 0;   ///< creation of the session
  double first_ms = 0;  ///< first run; inputs are there before
  /// Growth of the resident memory at its highest, while loading and after the first run; pages of the mapped model
  /// file included.
  double load_peak_mib = 0, peak_mib = 0;
  double steady_mib = 0;  ///< growth that is left after a few more runs
  double total_ms() const { return load_ms + first_ms; }
};

/// Loads the model with the engine and runs it.
Start measure_start(const Common& options, const std::string& library, int threads, HostValues& inputs);

/// The start with the median total of several, which may not be empty.
Start median(std::vector<Start> starts);

}  // namespace retort::cli
