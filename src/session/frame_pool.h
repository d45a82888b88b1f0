// Idle frames of one plan, kept for the next runs.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "run/frame.h"

namespace retort {

/// Thread-safe. Frames that were taken must be given back before the pool goes, and the budget must outlive it.
class FramePool {
 public:
  explicit FramePool(std::shared_ptr<const Plan> plan, MemoryBudget* budget = nullptr)
      : plan_(std::move(plan)), budget_(budget) {}
  ~FramePool() { delete hot_.load(); }
  FramePool(const FramePool&) = delete;

  const Plan& plan() const { return *plan_; }
  /// An idle frame, or a new one.
  std::unique_ptr<Frame> take();
  void give(std::unique_ptr<Frame> frame);
  /// Lets go of all idle frames.
  void clear();
  /// Bytes that idle frames hold.
  size_t workspace_bytes();

 private:
  void trim(Frame& frame);

  std::shared_ptr<const Plan> plan_;
  MemoryBudget* budget_;
  std::atomic<Frame*> hot_{nullptr};  ///< the idle frame used last
  std::mutex mutex_;
  struct Idle {
    std::unique_ptr<Frame> frame;
    uint64_t since = 0;  ///< trims before it was given back
  };
  std::vector<Idle> idle_;
  uint64_t trims_ = 0;
};

}  // namespace retort
