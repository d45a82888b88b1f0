// Measures processor time between runs: that of the process outside its runs, at ten bound runs per second.
//
//   idle_cpu LIBRARY MODEL [THREADS [SECONDS]]
//
// Inputs of MODEL are float; symbolic extents are 1. Ends with one line of JSON; "idle" is a fraction of one processor.
#define RETORT_API_DLOPEN
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <retort/retort.hpp>
#include <thread>
#include <vector>

#include "frugal/bound_floats.h"

namespace {

namespace api = retort::api;
using Clock = std::chrono::steady_clock;

/// Processor time of all threads. The process's clock lags some milliseconds for running threads; the clocks of single
/// threads do not.
class ProcessorTime {
 public:
  ProcessorTime() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      constexpr int kOneThread = 4, kScheduler = 2;  // the encoding of pthread_getcpuclockid()
      clocks_.push_back(~std::stoi(task.path().filename()) * 8 | kOneThread | kScheduler);
    }
  }
  double seconds() const {
    double sum = 0;
    for (const clockid_t clock : clocks_) {
      timespec t{};
      clock_gettime(clock, &t);
      sum += double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
    }
    return sum;
  }

 private:
  std::vector<clockid_t> clocks_;  // of the threads that existed when this was made
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: idle_cpu LIBRARY MODEL [THREADS [SECONDS]]\n");
    return 2;
  }
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2, runs = 10 * (argc > 4 ? std::atoi(argv[4]) : 10);
  api::Library::load(argv[1]);
  const api::Env env(ORT_LOGGING_LEVEL_ERROR);
  api::SessionOptions options;
  options.threads(threads);
  api::Session session(env, argv[2], options);
  api::IoBinding binding = retort::bench::bound_floats(session);
  for (int i = 0; i < 5; ++i) binding.run();
  std::vector<double> latencies;
  double running = 0;
  const ProcessorTime processor;  // the pool has started its threads
  const auto begin = Clock::now();
  const double before = processor.seconds();
  for (int i = 0; i < runs; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::milliseconds(100) * (i + 1));
    const auto start = Clock::now();
    const double at = processor.seconds();
    binding.run();
    running += processor.seconds() - at;
    latencies.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::this_thread::sleep_until(begin + std::chrono::milliseconds(100) * (runs + 1));
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  std::sort(latencies.begin(), latencies.end());
  std::printf("{\"threads\": %d, \"idle\": %.5f, \"running\": %.5f, \"median_ms\": %.3f}\n", threads,
              (processor.seconds() - before - running) / wall, running / wall, latencies[latencies.size() / 2]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "idle_cpu: %s\n", e.what());
  return 1;
}
