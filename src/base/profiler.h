// Collects what ran when, and writes it as Chrome trace events (chrome://tracing, Perfetto).
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace retort {

/// Thread-safe.
class Profiler {
 public:
  using Clock = std::chrono::steady_clock;
  struct Event {
    std::string name, category, args;  ///< args: a JSON object or ""
    uint64_t start_ns = 0, duration_ns = 0;
    uint64_t thread = 0;
  };
  Profiler();
  /// Nanoseconds since the epoch of the clock at construction.
  uint64_t start_time_ns() const { return start_ns_; }
  void add(std::string name, std::string category, Clock::time_point begin, Clock::time_point end,
           std::string args = {});
  /// Writes all events to `path`; throws ErrorCode::fail when that is not possible.
  void write(const std::string& path) const;

 private:
  uint64_t start_ns_;
  Clock::time_point start_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace retort
