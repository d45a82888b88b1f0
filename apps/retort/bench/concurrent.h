// Throughput of one session that several threads call at the same time.
#pragma once
#include <nlohmann/json.hpp>

#include "bench/bench_side.h"

namespace retort::cli {

/// Loads the model once per engine, lets `callers` threads run it at the same time for `seconds`, each engine twice in
/// turns, and returns {callers, sides: [{engine, runs, runs_per_second, median_ms, p99_ms}], ratio?: throughput of the
/// first side divided by the second's, as for latency: above 1, the first is better}. Engines without the C interface of
/// ONNX Runtime are left out. Throws Failure.
nlohmann::json measure_concurrent(std::vector<BenchSide>& sides, const std::string& model,
                                  const SessionSettings& settings, HostValues& inputs, int callers, double seconds);

/// A line for each side.
void print_concurrent(const nlohmann::json& measured);

}  // namespace retort::cli
