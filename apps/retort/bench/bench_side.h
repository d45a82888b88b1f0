// The engines of a measurement, and their alternating runs.
#pragma once
#include <functional>

#include "bench/side.h"
#include "bench/start.h"

namespace retort::cli {

/// One engine that has loaded and bound the model, with its measured times.
struct BenchSide {
  std::string library, name;
  std::string failure = {};        ///< why it is left out; "": it is not
  std::vector<Start> starts = {};  ///< per thread count, one after the other
  std::unique_ptr<Side> side = nullptr;
  std::vector<double> times = {};

  /// Loads the model and runs it `warmup` times.
  void load(const std::string& model, const SessionSettings& settings, HostValues& inputs, int warmup = 1);
  /// Runs after a pause, because engines' threads may spin after a run; the first run does not count.
  void run_block(int runs);
  double quantile(double q) const;
};

/// Does something with one side. If one of the first two sides fails, so does the command; a later one is left out,
/// because there is still something to compare. Messages name the engine.
void attempt(std::vector<BenchSide>& sides, size_t side, const std::function<void(BenchSide&)>& what);
void attempt_all(std::vector<BenchSide>& sides, const std::function<void(BenchSide&)>& what);

struct Amount {
  int block = 5;       ///< runs of a side before the next side's turn
  double seconds = 4;  ///< how long, unless `runs` is given
  int runs = 0;        ///< of each side; 0: by time
};
/// Runs alternating blocks, with all sides loaded, until the amount is done or the user interrupts.
void measure(std::vector<BenchSide>& sides, const Amount& amount);

}  // namespace retort::cli
