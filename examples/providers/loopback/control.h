// Settings that hold for the whole library, counters, and failures that tests ask for.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "loopback.h"

namespace loopback {

/// Counters that may be changed by any thread. The order is that of LoopbackCounts.
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

/// What a provider of a session does with a model; the others of the options belong to the devices.
struct Style {
  bool kernels = false;         ///< registers kernels instead of compiling parts
  bool drop_constants = false;  ///< takes constants of a part over when it is compiled
  double capture = 0;           ///< the run that is captured, the first being 1; 0: none is
  bool channels_last = false;   ///< asks the host for images with their channels last
  std::string claim = "*";      ///< types of operators, or all that it can do
};

class Control {
 public:
  static Control& get();

  /// False where there is no such option, or the value is none of it.
  bool set(const std::string& key, const std::string& value);
  /// The same of a provider's own options, into `style` where they belong there.
  bool set(const std::string& key, const std::string& value, Style& style);
  Style style();

  /// Throws where option "fail" names this entry point.
  void fail_if_told(const char* name);
  bool should_fail(std::string_view name) noexcept;

  void count(Count what, int64_t by = 1) noexcept { counts_[what] += by; }
  void tell(LoopbackCounts& counts) const noexcept;
  void reset() noexcept;

  void record(bool on);
  void happened(const char* what, int64_t begin, int64_t bytes, int64_t stream);
  size_t events(LoopbackEvent* into, size_t room);

  std::atomic<double> rate{0};      ///< bytes per second between host and device; 0: as fast as memory is
  std::atomic<int64_t> latency{0};  ///< of a copy, in nanoseconds
  std::atomic<int64_t> delay{0};    ///< of each kernel, in nanoseconds
  std::atomic<bool> streams{true};  ///< whether the provider says that it works on streams

 private:
  std::atomic<int64_t> counts_[kCounts] = {};
  std::atomic<bool> may_fail_{false}, recording_{false};
  std::mutex mutex_;  // of all that follows
  std::string fail_;
  int64_t fail_at_ = 0;  // 0: each time
  Style style_;
  std::vector<LoopbackEvent> events_;
};

/// Nanoseconds of the steady clock, and a wait until then: copies and kernels take the time that they are told to take.
int64_t now() noexcept;
void pause_until(int64_t time) noexcept;

}  // namespace loopback
