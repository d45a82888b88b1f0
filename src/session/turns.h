// Turns of runs on a device that serves one run at a time.
#pragma once
#include <mutex>

namespace retort {

/// Thread-safe. Its mutex guards no data of the session: the run that holds it has the device of such a provider to
/// itself.
class Turns {
 public:
  /// `one_at_a_time`: false: runs need not wait for each other.
  explicit Turns(bool one_at_a_time) : one_at_a_time_(one_at_a_time) {}

  /// Waits until no other run is in progress, if that is necessary. The turn lasts until the result is destroyed.
  [[nodiscard]] std::unique_lock<std::mutex> take() {
    return one_at_a_time_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }

 private:
  const bool one_at_a_time_;
  std::mutex mutex_;
};

}  // namespace retort
