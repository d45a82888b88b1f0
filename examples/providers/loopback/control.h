// Settings of the whole library, counters, and failures that tests request.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "loopback.h"

namespace loopback {

/// Counters that any thread may change, in the order of LoopbackCounts.
enum Count {
  kToDevice,
  kToDeviceBytes,
  kFromDevice,
  kFromDeviceBytes,
  kOnDevice,
  kOnDeviceBytes,
  kAllocations,
  kCompiled,
  kRuns,
  kKernels,
  kAlive,
  kStreams,
  kCounts
};

/// The options of a session's provider; other options belong to the devices.
struct Style {
  bool kernels = false;         ///< registers kernels instead of compiling parts
  bool drop_constants = false;  ///< keeps its own copies of a part's constants when it is compiled
  double capture = 0;           ///< the run that is captured, beginning at 1; 0: none
  bool channels_last = false;   ///< asks the host for images with channels last
  std::string claim = "*";      ///< types of operators, or all that it supports
};

class Control {
 public:
  static Control& get();

  /// Returns false if there is no such option, or the value is invalid.
  bool set(const std::string& key, const std::string& value);
  /// The same for a provider's options; those of Style are set in `style`.
  bool set(const std::string& key, const std::string& value, Style& style);
  Style style();

  /// Throws if option "fail" names this entry point.
  void fail_if_told(const char* name);
  bool should_fail(std::string_view name) noexcept;

  void count(Count what, int64_t by = 1) noexcept { counts_[what] += by; }
  void tell(LoopbackCounts& counts) const noexcept;
  void reset() noexcept;

  /// Waits while option "hold" is on, but at most a minute.
  void wait_while_held() const noexcept;

  void record(bool on);
  void happened(const char* what, int64_t begin, int64_t bytes, int64_t stream);
  size_t events(LoopbackEvent* into, size_t room);

  std::atomic<double> rate{0};      ///< bytes per second between host and device; 0: full memory speed
  std::atomic<int64_t> latency{0};  ///< of a copy, in nanoseconds
  std::atomic<int64_t> delay{0};    ///< of each kernel, in nanoseconds
  std::atomic<bool> streams{true};  ///< whether the provider declares that it works on streams
  std::atomic<bool> hold{false};    ///< whether kernels wait before they end

 private:
  std::atomic<int64_t> counts_[kCounts] = {};
  std::atomic<bool> may_fail_{false}, recording_{false};
  std::mutex mutex_;  // guards everything below
  std::string fail_;
  int64_t fail_at_ = 0;  // 0: each time
  Style style_;
  std::vector<LoopbackEvent> events_;
};

/// The steady clock in nanoseconds, and a wait until a time: copies and kernels take as long as the options say.
int64_t now() noexcept;
void pause_until(int64_t time) noexcept;

}  // namespace loopback
