// Measures loading and the first run of a model in a fresh process, so that the state of earlier work does not matter.
#pragma once
#include "cli/commands.h"

namespace retort::cli {

// Each function opens an engine in a child process, as open_side does; this process must have no threads and no open
// engine yet. They throw Failure if the child fails.

/// The name of the engine.
std::string name_apart(const std::string& library);

struct Ports {
  std::vector<PortInfo> inputs, outputs;
};
/// The inputs and outputs of a model, as an engine with the C interface of ONNX Runtime reports them.
Ports ports_apart(const Common& options, const std::string& library);

struct Start {
  double load_ms = 0;   ///< creation of the session
  double first_ms = 0;  ///< first run; the inputs exist before
  /// Maximum growth of the resident memory, while loading and until the first run ends; includes pages of the mapped
  /// model file.
  double load_peak_mib = 0, peak_mib = 0;
  double steady_mib = 0;  ///< growth that remains after a few more runs
  double total_ms() const { return load_ms + first_ms; }
};

/// Loads the model with the engine and runs it.
Start measure_start(const Common& options, const std::string& library, int threads, HostValues& inputs);

/// The start with the median total of several; there must be at least one.
Start median(std::vector<Start> starts);

}  // namespace retort::cli
