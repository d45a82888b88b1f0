#include "bench/bench_side.h"

#include <thread>

#include "bench/turns.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "measure/stats.h"

namespace retort::cli {

void BenchSide::load(const std::string& model, const SessionSettings& settings, HostValues& inputs, int warmup) {
  times.clear();
  side->load(model, settings);
  side->bind(inputs);
  side->run();
  side->keep_outputs();
  for (int i = 1; i < warmup && !interrupted(); ++i) side->run();
}

void BenchSide::run_block(int runs) {
  side->restart();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i <= runs; ++i) {
    const auto begin = Clock::now();
    side->run();
    if (i > 0) times.push_back(milliseconds(Clock::now() - begin));
  }
}

double BenchSide::quantile(double q) const { return cli::quantile(times, q); }

void attempt(std::vector<BenchSide>& sides, size_t side, const std::function<void(BenchSide&)>& what) {
  if (!sides[side].failure.empty()) return;
  try {
    what(sides[side]);
  } catch (const Failure& e) {
    if (sides.size() == 1) throw;
    if (side < 2) throw Failure(sides[side].name + " rejected the model: " + e.what());
    sides[side].failure = e.what();
  }
}

void attempt_all(std::vector<BenchSide>& sides, const std::function<void(BenchSide&)>& what) {
  for (size_t i = 0; i < sides.size(); ++i) attempt(sides, i, what);
}

void measure(std::vector<BenchSide>& sides, const Amount& amount) {
  const auto begin = Clock::now();
  Progress progress("measuring");
  double spent = 0;
  const auto runs = size_t(amount.runs);
  const auto goes_on = [&](size_t round) {
    const size_t done = sides[0].times.size();
    if (interrupted() && done > 0) return false;
    return runs > 0 ? done < runs : round % 2 || spent < amount.seconds || done < 10;
  };
  for (size_t round = 0; goes_on(round); ++round) {
    const size_t left = runs > 0 ? runs - sides[0].times.size() : SIZE_MAX;
    const int block = int(std::min(size_t(amount.block), left));
    for (const size_t side : turns(round, sides.size()))
      attempt(sides, side, [&](BenchSide& s) { s.run_block(block); });
    spent = milliseconds(Clock::now() - begin) / 1000;
    progress.show(std::min(1.0, runs > 0 ? double(sides[0].times.size()) / double(runs) : spent / amount.seconds));
  }
}

}  // namespace retort::cli
