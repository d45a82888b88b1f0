// The distance of outputs from the correct ones, and measurements of the strict mode.
#pragma once
#include "bench/bench_side.h"

namespace retort::cli {

/// Reads the expected outputs from a folder: output_0.pb (or .npy), … in the order of the model's outputs; without the
/// first of them, the files that write_values() makes. Throws Failure.
HostValues read_expected(const std::string& folder, const std::vector<PortInfo>& outputs);

/// The largest difference of an output, divided by its scale; infinite if a type, a shape or the place of a non-finite
/// number differs. Throws Failure if `outputs` lacks one of `right`.
double distance(const HostValues& outputs, const HostValues& right);

/// The engine with session.strict = 1 compared with the same engine without.
struct StrictRun {
  double default_ms = 0, ms = 0;  ///< medians
  HostValues outputs = {};
};

/// Measures both in alternating blocks of runs, with the first thread count.
StrictRun measure_strict(const Common& options, const BenchSide& engine, int block, double seconds, HostValues& inputs);

}  // namespace retort::cli
