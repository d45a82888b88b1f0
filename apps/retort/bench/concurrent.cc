#include "bench/concurrent.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "bench/turns.h"
#include "cli/interrupt.h"
#include "cli/text.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

struct Served {
  std::vector<double> times;  ///< of all callers' runs, in milliseconds
  double seconds = 0;
};

/// One caller: runs until the time is over, and at least once after a run that does not count.
std::vector<double> call(EngineSession& session, HostValues& inputs, std::atomic<int>& waiting, double seconds) {
  BoundRun bound(session, inputs);
  bound.run();
  bound.keep_outputs();
  --waiting;
  while (waiting.load() > 0) std::this_thread::yield();
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    bound.run();
    times.push_back(milliseconds(Clock::now() - start));
  } while (milliseconds(Clock::now() - begin) < seconds * 1000 && !interrupted());
  return times;
}

void serve(EngineSession& session, HostValues& inputs, int callers, double seconds, Served& served) {
  std::mutex mutex;
  std::string problem;
  std::atomic<int> waiting{callers};
  std::vector<std::thread> threads;
  std::vector<double> spent;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&] {
      std::vector<double> times;
      std::string failed;
      try {
        times = call(session, inputs, waiting, seconds);
      } catch (const std::exception& e) {
        failed = e.what();
        --waiting;
      }
      const std::lock_guard lock(mutex);
      if (!failed.empty()) problem = failed;
      double sum = 0;
      for (const double t : times) sum += t;
      spent.push_back(sum / 1000);
      served.times.insert(served.times.end(), times.begin(), times.end());
    });
  for (std::thread& t : threads) t.join();
  if (!problem.empty()) throw Failure(problem);
  served.seconds += *std::max_element(spent.begin(), spent.end());
}

}  // namespace

nlohmann::json measure_concurrent(std::vector<BenchSide>& sides, const std::string& model,
                                  const SessionSettings& settings, HostValues& inputs, int callers, double seconds) {
  std::vector<std::unique_ptr<EngineSession>> sessions(sides.size());
  for (size_t i = 0; i < sides.size(); ++i)
    attempt(sides, i, [&](BenchSide& s) {
      if (s.side->library()) sessions[i] = std::make_unique<EngineSession>(*s.side->library(), model, settings);
    });
  std::vector<Served> served(sides.size());
  for (size_t round = 0; round < 2; ++round) {
    for (const size_t i : turns(round, sides.size()))
      attempt(sides, i, [&](BenchSide&) {
        if (sessions[i]) serve(*sessions[i], inputs, callers, seconds / 2, served[i]);
      });
  }
  nlohmann::json told = {{"callers", callers}, {"sides", nlohmann::json::array()}};
  for (size_t i = 0; i < sides.size(); ++i) {
    if (served[i].times.empty()) continue;
    told["sides"].push_back({{"engine", sides[i].name},
                             {"runs", served[i].times.size()},
                             {"runs_per_second", double(served[i].times.size()) / served[i].seconds},
                             {"median_ms", quantile(served[i].times, 0.5)},
                             {"p99_ms", quantile(served[i].times, 0.99)}});
  }
  if (const auto& all = told["sides"]; all.size() > 1)
    told["ratio"] = all[0]["runs_per_second"].get<double>() / all[1]["runs_per_second"].get<double>();
  return told;
}

void print_concurrent(const nlohmann::json& measured) {
  Table table({{"engine"}, {"callers", true}, {"runs/s", true}, {"median ms", true}, {"p99 ms", true}}, 0);
  for (const auto& side : measured["sides"]) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.1f", side["runs_per_second"].get<double>());
    table.row({side["engine"], measured["callers"].dump(), rate, milliseconds_text(side["median_ms"]),
               milliseconds_text(side["p99_ms"])});
  }
  table.print();
}

}  // namespace retort::cli
