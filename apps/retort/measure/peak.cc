#include "measure/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "measure/machine.h"

namespace retort::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSteps = 1 << 14;
constexpr int kChains = 12;  // independent sums in progress: enough for two units with a latency of 5

#ifndef __clang__  // the build's flags switch it off
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif
template <int Lanes>
struct Simd;
template <>
struct Simd<4> {
  using Vector = float __attribute__((vector_size(16)));
};
template <>
struct Simd<8> {
  using Vector = float __attribute__((vector_size(32)));
};
template <>
struct Simd<16> {
  using Vector = float __attribute__((vector_size(64)));
};

/// kSteps multiply-adds of kChains vectors of `Lanes` floats. Always inlined, so that it is compiled for its caller's
/// instruction set.
template <int Lanes>
[[gnu::always_inline]] inline float multiply_add() {
  using Vector = typename Simd<Lanes>::Vector;
  Vector sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = Vector{} + float(c);
  Vector a = Vector{} + 0.999f, b = Vector{} + 0.001f;
  asm volatile("" : "+m"(a), "+m"(b));
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = sums[c] * a + b;
  }
  Vector total = sums[0];
  for (int c = 1; c < kChains; ++c) total += sums[c];
  return total[0];
}

struct Loop {
  float (*run)();
  double operations;
};

#ifdef __x86_64__
[[gnu::target("avx512f")]] float run_avx512() { return multiply_add<16>(); }
[[gnu::target("avx2,fma")]] float run_avx2() { return multiply_add<8>(); }
#endif
float run_plain() { return multiply_add<4>(); }
#ifndef __clang__
#pragma GCC pop_options
#endif

Loop widest() {
  constexpr double kPerLane = 2.0 * kSteps * kChains;
#ifdef __x86_64__
  const std::string whole = instruction_level(), level = whole.substr(0, whole.find('-'));  // without features
  if (level == "avx512" && __builtin_cpu_supports("avx512f")) return {run_avx512, kPerLane * 16};
  if (level == "avx2" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {run_avx2, kPerLane * 8};
#endif
  return {run_plain, kPerLane * 4};
}

/// The sum of the best rates of `threads` threads that run at once. Each calls work(its number), which does `amount`,
/// for the given time.
double best_rates(size_t threads, std::chrono::milliseconds time, double amount,
                  const std::function<void(size_t)>& work) {
  std::vector<double> rates(threads);
  std::atomic<size_t> ready = 0;
  std::vector<std::thread> workers;
  for (size_t i = 0; i < rates.size(); ++i) {
    workers.emplace_back([&, i] {
      for (++ready; ready < rates.size();) std::this_thread::yield();
      const auto end = Clock::now() + time;
      for (auto begin = Clock::now(); begin < end; begin = Clock::now()) {
        work(i);
        const std::chrono::duration<double> spent = Clock::now() - begin;
        rates[i] = std::max(rates[i], amount / spent.count());
      }
    });
  }
  double sum = 0;
  for (std::thread& w : workers) w.join();
  for (const double rate : rates) sum += rate;
  return sum;
}

size_t or_all(int threads) {
  return threads > 0 ? size_t(threads) : std::max<size_t>(std::thread::hardware_concurrency(), 1);
}

}  // namespace

double peak_flops(int threads) {
  const Loop loop = widest();
  return best_rates(or_all(threads), std::chrono::milliseconds(80), loop.operations, [&](size_t) {
    float sink = loop.run();
    asm volatile("" : "+m"(sink));
  });
}

double read_bandwidth(int threads) {
  constexpr size_t kBytes = size_t(256) << 20;  // far more than the caches hold
  const size_t parts = or_all(threads), each = kBytes / sizeof(uint64_t) / parts;
  const std::vector<uint64_t> memory(each * parts, 1);
  return best_rates(parts, std::chrono::milliseconds(300), double(each * sizeof(uint64_t)), [&](size_t i) {
    const uint64_t* data = memory.data() + i * each;
    uint64_t sum = std::accumulate(data, data + each, uint64_t(0));
    asm volatile("" : "+r"(sum));
  });
}

}  // namespace retort::cli
