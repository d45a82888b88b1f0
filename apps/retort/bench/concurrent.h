// Throughput of one session that several threads call at the same time.
#pragma once
#include <nlohmann/json.hpp>

#include "bench/bench_side.h"

namespace retort::cli {

/// How many threads call, and what is measured of their runs.
struct Callers {
  int count = 1;
  double seconds = 0;               ///< of each engine, if `runs` is 0
  int runs = 0;                     ///< of each thread
  std::vector<double> percentiles;  ///< of the latency
};

/// Loads the model once per engine, lets the callers run it at the same time, each engine twice in turns, and returns
/// {callers, sides: [{engine, runs, runs_per_second, median_ms, p99_ms, percentiles}], ratio?: throughput of the
/// first side divided by the second's, as for latency: above 1, the first is better}. Engines without the C interface of
/// ONNX Runtime are left out. Throws Failure.
nlohmann::json measure_concurrent(std::vector<BenchSide>& sides, const std::string& model,
                                  const SessionSettings& settings, HostValues& inputs, const Callers& callers);

/// A line for each side, with these percentiles.
void print_concurrent(const nlohmann::json& measured, const std::vector<double>& percentiles);

}  // namespace retort::cli
