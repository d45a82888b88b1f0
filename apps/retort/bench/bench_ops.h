// Per operator, where the time of a run goes on several engines.
#pragma once
#include <nlohmann/json.hpp>

#include "engine/engine.h"

namespace retort::cli {

struct OpsPlan {
  std::string model;
  SessionSettings settings;
  int block = 5;                                  ///< runs of an engine before the next one's turn
  double seconds = 4;                             ///< to spend at most, once every engine had two turns
  std::map<std::string, double> operations = {};  ///< arithmetic of a run by node of the main graph; NaN: not known
  double peak_gflops = 0;                         ///< of the processor with those threads; 0: not known
};

/// From the engines' own profiles, in blocks of runs in turn:
///   {"threads": N,
///    "engines":   [{"engine", "runs", "run_ms", "nodes_ms", "outside_ms", "ratio"}, …],
///    "operators": [{"op", "engines": [{"nodes", "ms", "share", "ratio"} or null, …], "gflops", "peak_share"}, …]}
/// A node's time is its median over the runs, without that of nodes in its bodies; `share` is in per cent of `run_ms`,
/// the median run; a `ratio` is the engine's time over that of the first engine, which has none. Slowest operators come
/// first; FusedConv, NhwcMaxPool and the like count as Conv, MaxPool, …, and products of matrices, which engines turn
/// into each other, as "MatMul, Gemm". `gflops` of the first engine, and what share of the peak that is in per cent, stand
/// where the arithmetic of all those nodes is known. Throws Failure.
nlohmann::json measure_ops(const OpsPlan& plan, const std::vector<const EngineLibrary*>& engines, HostValues& inputs);

/// As a table.
void print_ops(const nlohmann::json& ops);

}  // namespace retort::cli
