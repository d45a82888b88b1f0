// Collects what ran when, and writes it as Chrome trace events (chrome://tracing, Perfetto).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace retort {

/// What a profile says of one piece of work.
struct ProfileEvent {
  struct Argument {
    std::string key, value;
    bool is_number = false;
  };
  std::string name, category;
  std::vector<Argument> arguments;
  int64_t start_ns = 0, duration_ns = 0;  ///< since the profile began
  int64_t process = 0, thread = 0;
};

/// Somebody who follows a profile while it is made, and adds to it: a provider, with what its device did. Any thread calls it.
class ProfileListener {
 public:
  virtual ~ProfileListener() = default;
  /// The profile began that long ago.
  virtual void profile_begins(int64_t ns_ago) = 0;
  /// Work begins, on this thread. Work that fails does not end.
  virtual void event_begins(uint64_t id) = 0;
  virtual void event_ends(uint64_t id, const ProfileEvent& event) = 0;
  /// What is to be in the profile beside the engine's events. Nothing comes after it.
  virtual std::vector<ProfileEvent> profile_ends() = 0;
};

/// Thread-safe, but for listen().
class Profiler {
 public:
  using Clock = std::chrono::steady_clock;
  /// Work under way.
  struct Span {
    Clock::time_point begin;
    uint64_t id = 0;
  };
  Profiler();
  /// Nanoseconds since the epoch of the clock at construction.
  uint64_t start_time_ns() const { return start_ns_; }
  /// Before all events. Null is left out.
  void listen(std::unique_ptr<ProfileListener> listener);
  Span begin();
  void end(const Span& span, std::string name, std::string category,
           std::vector<ProfileEvent::Argument> arguments = {});
  /// Writes all events to `path`, and collects no more; throws ErrorCode::fail when that is not possible.
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
