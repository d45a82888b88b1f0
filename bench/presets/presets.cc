// Measures what a preset does: one process for each, one line of JSON. On any engine with the C interface of ONNX
// Runtime; others ignore the entry.
//
//   presets LIBRARY MODEL PRESET THREADS [WORKLOAD]
//
// PRESET: a value of session.preset, or "none". WORKLOAD: a value of ep.dynamic.workload_type, set before the runs.
// Inputs of MODEL are float; symbolic extents are 1.
#define RETORT_API_DLOPEN
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <retort/retort.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "frugal/bound_floats.h"

namespace {

namespace api = retort::api;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(20);  // 50 requests per second
constexpr int kBatch = 30, kPaused = 50;                // runs without and with pauses: two seconds with 20 ms a run

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * double(t.tv_sec) + 1e-6 * double(t.tv_nsec);
}

/// Memory of this process alone, in MiB.
double private_mib() {
  std::ifstream maps("/proc/self/smaps_rollup");
  double kib = 0;
  for (std::string line; std::getline(maps, line);) {
    for (const char* key : {"Private_Clean:", "Private_Dirty:"})
      if (line.starts_with(key)) kib += std::stod(line.substr(std::strlen(key)));
  }
  if (kib == 0) throw std::runtime_error("/proc/self/smaps_rollup cannot be read");
  return kib / 1024;
}

double part(std::vector<double> all, double fraction) {
  std::sort(all.begin(), all.end());
  return all[std::min(all.size() - 1, size_t(fraction * double(all.size())))];
}

void measure(const char* model, const std::string& preset, int threads, const char* workload) {
  const api::Env env(ORT_LOGGING_LEVEL_ERROR);
  api::SessionOptions options;
  options.threads(threads);
  if (preset != "none") options.config("session.preset", preset.c_str());
  const double none = private_mib();
  auto begin = Clock::now();
  api::Session session(env, model, options);
  const double made = since(begin);
  const char* key = "ep.dynamic.workload_type";
  if (workload) api::check(api::api().SetEpDynamicOptions(session, &key, &workload, 1));
  api::IoBinding binding = retort::bench::bound_floats(session);
  begin = Clock::now();
  binding.run();
  const double first = since(begin);
  std::vector<double> batch, paused;
  for (int i = 0; i < 5; ++i) binding.run();
  for (int i = 0; i < kBatch; ++i) {
    begin = Clock::now();
    binding.run();
    batch.push_back(since(begin));
  }
  const double held = private_mib() - none;
  const double before = processor_ms();
  for (int i = 0; i < kPaused; ++i) {
    std::this_thread::sleep_for(kPause);
    begin = Clock::now();
    binding.run();
    paused.push_back(since(begin));
  }
  const double spent = (processor_ms() - before) / kPaused;
  std::printf(
      "{\"make_ms\": %.2f, \"first_ms\": %.2f, \"run_ms\": %.3f, \"after_pause_ms\": %.3f, "
      "\"after_pause_p95_ms\": %.3f, \"mib\": %.1f, \"processor_ms\": %.3f}\n",
      made, first, part(batch, 0.5), part(paused, 0.5), part(paused, 0.95), held, spent);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) {
    std::fprintf(stderr, "usage: presets LIBRARY MODEL PRESET THREADS [WORKLOAD]\n");
    return 2;
  }
  api::Library::load(argv[1]);
  measure(argv[2], argv[3], std::atoi(argv[4]), argc > 5 ? argv[5] : nullptr);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "presets: %s\n", e.what());
  return 1;
}
