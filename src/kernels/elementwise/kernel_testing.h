// Shared by the tests of vector kernels: one run per instruction level, data from a seed, a pool of three threads.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/parallel.h"
#include "base/thread_pool.h"

namespace retort::kernels::testing {

class PerIsa : public ::testing::TestWithParam<Isa> {
 protected:
  const Parallel& one_thread() const { return serial_; }
  const Parallel& three_threads() const { return parallel_; }

 private:
  ScopedIsa isa_{GetParam()};
  ThreadPool pool_{{.threads = 3}};
  Parallel serial_;
  Parallel parallel_{&pool_, nullptr};
};

/// The instruction levels of this processor.
inline auto all_isas() {
  std::vector<Isa> levels;
  for (int level = 0; level <= int(best_isa()); ++level) levels.push_back(Isa(level));
  return ::testing::ValuesIn(levels);
}
inline std::string isa_label(const ::testing::TestParamInfo<Isa>& info) { return isa_name(info.param); }

/// Uniform 32-bit numbers from a seed (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return uint32_t((z ^ (z >> 31)) >> 16);
  }
  float uniform(float low, float high) { return low + (high - low) * (float(bits() >> 8) * 0x1p-24f); }
  int64_t integer(int64_t low, int64_t high) { return low + int64_t(bits() % uint64_t(high - low + 1)); }
  std::vector<float> floats(size_t n, float low, float high) {
    std::vector<float> v(n);
    for (float& x : v) x = uniform(low, high);
    return v;
  }
  template <typename T>
  std::vector<T> integers(size_t n, int64_t low, int64_t high) {
    std::vector<T> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = T(integer(low, high));
    return v;
  }

 private:
  uint64_t state_;
};

inline std::vector<float> drawn(std::normal_distribution<float>& normal, std::mt19937& random, size_t n) {
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

/// Memory that starts at a cache line, as packed weights and scratch require.
class Lines {
 public:
  explicit Lines(size_t bytes) : memory_(bytes / sizeof(Line) + 1) {}
  float* floats() { return memory_[0].values; }
  void* data() { return memory_.data(); }

 private:
  struct alignas(64) Line {
    float values[16];
  };
  std::vector<Line> memory_;
};

/// 0, 1, sizes around each vector length, and sizes of several chunks.
inline std::vector<size_t> test_sizes() { return {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 1000, 40001}; }

}  // namespace retort::kernels::testing
