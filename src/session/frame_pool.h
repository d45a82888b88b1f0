// Idle frames of one plan, which are kept for the next runs.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "run/frame.h"

namespace retort {

/// Thread-safe. Frames that were taken must be given back before the pool is destroyed, and the budget must outlive it.
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
  /// Frees all idle frames.
  void clear();
  /// Bytes that idle frames hold.
  size_t workspace_bytes();

 private:
  void trim(Frame& frame);

  std::shared_ptr<const Plan> plan_;
  MemoryBudget* budget_;
  struct Idle {
    std::unique_ptr<Frame> frame;
    uint64_t since = 0;  ///< the number of trims before it was given back
  };
  std::atomic<Frame*> hot_{nullptr};  ///< the idle frame that was used last; null: a run has it, or there is none
  std::mutex mutex_;                  ///< guards the members below
  std::vector<Idle> idle_;            ///< the other idle frames
  uint64_t trims_ = 0;
};

/// A frame that one run uses, until it gives it back to its pool.
class FrameLease {
 public:
  /// `shrinks`: the memory of all idle frames goes back to the system when the lease ends.
  FrameLease(FramePool& pool, bool shrinks) : pool_(pool), frame_(pool.take()), shrinks_(shrinks) {}
  FrameLease(const FrameLease&) = delete;
  ~FrameLease();
  /// A caller that moves the frame keeps it: it does not come back.
  std::unique_ptr<Frame>& frame() { return frame_; }

 private:
  FramePool& pool_;
  std::unique_ptr<Frame> frame_;
  const bool shrinks_;
};

}  // namespace retort
