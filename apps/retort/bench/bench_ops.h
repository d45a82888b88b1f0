// Measures the time of a run per operator, on several engines.
#pragma once
#include <nlohmann/json.hpp>

#include "engine/engine.h"

namespace retort::cli {

struct OpsPlan {
  std::string model;
  SessionSettings settings;
  int block = 5;                                  ///< runs of an engine before the next engine's turn
  double seconds = 4;                             ///< upper limit, once every engine had two turns
  std::map<std::string, double> operations = {};  ///< operations of a run by node of the main graph; NaN: unknown
  double peak_gflops = 0;                         ///< of the processor with that number of threads; 0: unknown
};

/// From the engines' own profiles, in blocks of runs in turn:
///   {"threads": N,
///    "engines":   [{"engine", "runs", "run_ms", "nodes_ms", "outside_ms", "ratio"}, …],
///    "operators": [{"op", "engines": [{"nodes", "ms", "share", "ratio"} or null, …], "gflops", "peak_share"}, …]}
/// A node's time is its median over the runs, without the time of nodes in its bodies. `share` is the percentage of
/// `run_ms`, the median run; a `ratio` is the engine's time divided by the first engine's, which has no ratio. Slowest
/// operators come first. FusedConv, NhwcMaxPool and the like count as Conv, MaxPool, …; matrix products, which engines
/// convert into each other, count as "MatMul, Gemm". `gflops` of the first engine, and `peak_share`, its percentage of
/// the peak, are present if the operations of all those nodes are known. Throws Failure.
nlohmann::json measure_ops(const OpsPlan& plan, const std::vector<const EngineLibrary*>& engines, HostValues& inputs);

/// Prints the result as a table.
void print_ops(const nlohmann::json& ops);

}  // namespace retort::cli
