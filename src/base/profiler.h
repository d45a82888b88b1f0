// Records which work ran when, and writes it as Chrome trace events (chrome://tracing, Perfetto).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace retort {

/// One piece of work in a profile.
struct ProfileEvent {
  struct Argument {
    std::string key, value;
    bool is_json = false;  ///< written as it is, not as text
  };
  std::string name, category;
  std::vector<Argument> arguments;
  int64_t start_ns = 0, duration_ns = 0;  ///< since the profile began
  int64_t process = 0, thread = 0;
};

/// Follows a profile while it is recorded, and adds events to it: a provider adds the work of its device. May be called
/// from any thread.
class ProfileListener {
 public:
  virtual ~ProfileListener() = default;
  /// The profile began `ns_ago` nanoseconds ago.
  virtual void profile_begins(int64_t ns_ago) = 0;
  /// Work begins on this thread. Work that fails has no end event.
  virtual void event_begins(uint64_t id) = 0;
  virtual void event_ends(uint64_t id, const ProfileEvent& event) = 0;
  /// Returns the events to be added to those of the engine. No further call follows.
  virtual std::vector<ProfileEvent> profile_ends() = 0;
};

/// Thread-safe, except for listen().
class Profiler {
 public:
  using Clock = std::chrono::steady_clock;
  /// Work in progress.
  struct Span {
    Clock::time_point begin;
    uint64_t id = 0;
  };
  /// The profile begins at `start`, which may lie in the past.
  explicit Profiler(Clock::time_point start = Clock::now());
  /// Nanoseconds since the epoch of the clock at the beginning.
  uint64_t start_time_ns() const { return start_ns_; }
  /// To be called before all events. A null listener is ignored.
  void listen(std::unique_ptr<ProfileListener> listener);
  Span begin();
  void end(const Span& span, std::string name, std::string category,
           std::vector<ProfileEvent::Argument> arguments = {}) {
    end(span, Clock::now(), std::move(name), std::move(category), std::move(arguments));
  }
  /// The same for work that ended at `now`.
  void end(const Span& span, Clock::time_point now, std::string name, std::string category,
           std::vector<ProfileEvent::Argument> arguments);
  /// The system's number of the calling thread, as events have it.
  static int64_t this_thread();
  /// Writes all events to `path` and stops recording; throws ErrorCode::fail if that is not possible.
  void write(const std::string& path);

 private:
  uint64_t start_ns_;
  Clock::time_point start_;
  std::vector<std::unique_ptr<ProfileListener>> listeners_;
  std::atomic<uint64_t> last_id_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::vector<ProfileEvent> events_;
};

}  // namespace retort
