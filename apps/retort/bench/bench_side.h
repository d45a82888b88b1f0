// The engines of a measurement, and their runs in turn.
#pragma once
#include <functional>

#include "bench/side.h"
#include "bench/start.h"

namespace retort::cli {

/// One engine with the model loaded and bound, and its measured times.
struct BenchSide {
  std::string library, name;
  std::string failure = {};        ///< why it is left out; "": it is not
  std::vector<Start> starts = {};  ///< one thread count after the other
  std::unique_ptr<Side> side = nullptr;
  std::vector<double> times = {};

  void load(const std::string& model, const SessionSettings& settings, HostValues& inputs);
  /// After a pause, because engines' threads may spin after a run; the first run does not count.
  void run_block(int runs);
  double quantile(double q) const;
};

/// Does something with one side. A failure of the first two is that of the command; a later one is left out, because
/// there still is something to compare. Both say which engine it was.
void attempt(std::vector<BenchSide>& sides, size_t side, const std::function<void(BenchSide&)>& what);
void attempt_all(std::vector<BenchSide>& sides, const std::function<void(BenchSide&)>& what);

/// Blocks of runs in turn, all sides loaded, for so many seconds.
void measure(std::vector<BenchSide>& sides, int block, double seconds);

}  // namespace retort::cli
