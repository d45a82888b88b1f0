// What `retort bench` reports about one model.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench_accuracy.h"
#include "suite/suite_bench.h"

namespace retort::cli {

struct BenchOptions : Common {
  SuiteOptions suite;
  std::vector<std::string> peers;
  std::vector<double> percentiles{50, 90, 95, 99};
  double seconds = 4;
  int block = 5, starts = 3;
  int runs = 0;         ///< of each engine and thread count, at most; 0: as many as the time allows
  int warmup = 1;       ///< runs before them that do not count
  int concurrency = 0;  ///< threads that call one session at the same time; 0: not measured
  bool ops = false, strict = false, hand_back = false;
  std::string expected;  ///< folder with the correct outputs
};

/// The outputs that an engine's outputs are compared with, besides each other's.
struct Checks {
  std::vector<std::string> outputs;
  HostValues expected;  ///< empty if none are given
  std::optional<StrictRun> strict;
};

/// The measurements of `sides` with the thread count of index `i`.
nlohmann::json row_json(const BenchOptions& o, std::vector<BenchSide>& sides, const Checks& checks, size_t i);

/// Prints them; `row` is the result of row_json().
void print_bench(const BenchOptions& o, const std::vector<BenchSide>& sides, const nlohmann::json& row, size_t i);

}  // namespace retort::cli
