// How far outputs are from what they should be, and the engine in its strict mode.
#pragma once
#include "bench/bench_side.h"

namespace retort::cli {

/// What a folder says that the outputs should be: output_0.pb (or .npy), … in the order of the model's outputs. Throws
/// Failure.
HostValues read_expected(const std::string& folder, const std::vector<PortInfo>& outputs);

/// The largest difference of an output over its scale; infinite where a type, a shape or what is no finite number
/// differs. Throws Failure where `outputs` lacks one of `right`.
double distance(const HostValues& outputs, const HostValues& right);

/// The engine with session.strict = 1 beside itself without.
struct StrictRun {
  double default_ms = 0, ms = 0;  ///< medians
  HostValues outputs = {};
};

/// In turns of blocks of runs, with the first thread count.
StrictRun measure_strict(const Common& options, const BenchSide& engine, int block, double seconds, HostValues& inputs);

}  // namespace retort::cli
