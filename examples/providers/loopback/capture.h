// Runs that are recorded and repeated.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace loopback {

/// The captured runs of one session. Thread-safe; the thread that makes a run records it.
class Captures {
 public:
  /// Sets which run with a number is recorded, beginning at 1; 0: none.
  void wants(int run) { wanted_ = run; }
  void run_begins(int id);
  void run_ends();
  bool has(int id) const;
  void replay(int id) const;
  void release(int id);

  /// Stores `work` if this thread's run is being recorded.
  static void record(const std::function<void()>& work);

 private:
  using Work = std::vector<std::function<void()>>;
  struct Recording {
    int id;
    std::shared_ptr<Work> work;
  };
  static thread_local std::unique_ptr<Recording> recording_;

  int wanted_ = 0;
  mutable std::mutex mutex_;
  std::map<int, int> runs_;
  std::map<int, std::shared_ptr<const Work>> captured_;
};

}  // namespace loopback
