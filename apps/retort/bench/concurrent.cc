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

/// One caller: runs until the time is over or as often as said, and at least once after a run that does not count.
std::vector<double> call(EngineSession& session, HostValues& inputs, std::atomic<int>& waiting, const Callers& how) {
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
  } while ((how.runs ? int(times.size()) < how.runs : milliseconds(Clock::now() - begin) < how.seconds * 1000) &&
           !interrupted());
  return times;
}

void serve(EngineSession& session, HostValues& inputs, const Callers& how, Served& served) {
  std::mutex mutex;
  std::string problem;
  std::atomic<int> waiting{how.count};
  std::vector<std::thread> threads;
  std::vector<double> spent;
  for (int i = 0; i < how.count; ++i)
    threads.emplace_back([&] {
      std::vector<double> times;
      std::string failed;
      try {
        times = call(session, inputs, waiting, how);
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
                                  const SessionSettings& settings, HostValues& inputs, const Callers& callers) {
  std::vector<std::unique_ptr<EngineSession>> sessions(sides.size());
  for (size_t i = 0; i < sides.size(); ++i)
    attempt(sides, i, [&](BenchSide& s) {
      if (s.side->library()) sessions[i] = std::make_unique<EngineSession>(*s.side->library(), model, settings);
    });
  std::vector<Served> served(sides.size());
  for (size_t round = 0; round < 2; ++round) {
    Callers part = callers;
    part.seconds /= 2;
    part.runs = (callers.runs + int(round == 0)) / 2;
    if (callers.runs > 0 && part.runs == 0) break;  // one run in all
    for (const size_t i : turns(round, sides.size()))
      attempt(sides, i, [&](BenchSide&) {
        if (sessions[i]) serve(*sessions[i], inputs, part, served[i]);
      });
  }
  nlohmann::json told = {{"callers", callers.count}, {"sides", nlohmann::json::array()}};
  for (size_t i = 0; i < sides.size(); ++i) {
    if (served[i].times.empty()) continue;
    told["sides"].push_back({{"engine", sides[i].name},
                             {"runs", served[i].times.size()},
                             {"runs_per_second", double(served[i].times.size()) / served[i].seconds},
                             {"median_ms", quantile(served[i].times, 0.5)},
                             {"p99_ms", quantile(served[i].times, 0.99)},
                             {"percentiles", percentiles_json(served[i].times, callers.percentiles)}});
  }
  if (const auto& all = told["sides"]; all.size() > 1)
    told["ratio"] = all[0]["runs_per_second"].get<double>() / all[1]["runs_per_second"].get<double>();
  return told;
}

void print_concurrent(const nlohmann::json& measured, const std::vector<double>& percentiles) {
  std::vector<Table::Column> columns{
      {"engine"}, {"callers", true}, {"runs/s", true}, {"median ms", true}, {"p99 ms", true}};
  for (const double p : percentiles) columns.push_back({"p" + percent_text(p) + " ms", true});
  Table table(std::move(columns), 0);
  for (const auto& side : measured["sides"]) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.1f", side["runs_per_second"].get<double>());
    std::vector<std::string> cells{side["engine"], measured["callers"].dump(), rate,
                                   milliseconds_text(side["median_ms"]), milliseconds_text(side["p99_ms"])};
    for (const double p : percentiles) cells.push_back(milliseconds_text(side["percentiles"][percent_text(p)]));
    table.row(std::move(cells));
  }
  table.print();
}

}  // namespace retort::cli
