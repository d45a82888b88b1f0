#include "session/frame_pool.h"

#include "memory/host.h"

namespace retort {

std::unique_ptr<Frame> FramePool::take() {
  if (Frame* hot = hot_.exchange(nullptr)) return std::unique_ptr<Frame>(hot);
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto frame = std::move(idle_.back().frame);
      idle_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(plan_, budget_);
}

// Frames that no run took between two trims were made for a burst of concurrent runs.
void FramePool::trim(Frame& frame) {
  frame.trim();
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const Idle& i) { return i.since < trims_; });
  ++trims_;
}

void FramePool::give(std::unique_ptr<Frame> frame) {
  if (frame->runs() % kRunsPerTrim == 0) trim(*frame);
  Frame* nobody = nullptr;
  if (hot_.compare_exchange_strong(nobody, frame.get())) {
    (void)frame.release();
    return;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back({std::move(frame), trims_});
}

void FramePool::clear() {
  delete hot_.exchange(nullptr);
  std::vector<Idle> idle;
  const std::lock_guard lock(mutex_);
  idle.swap(idle_);
}

size_t FramePool::workspace_bytes() {
  std::unique_ptr<Frame> hot(hot_.exchange(nullptr));
  size_t bytes = hot ? hot->workspace_bytes() : 0;
  if (hot) give(std::move(hot));
  const std::lock_guard lock(mutex_);
  for (const Idle& i : idle_) bytes += i.frame->workspace_bytes();
  return bytes;
}

FrameLease::~FrameLease() {
  if (shrinks_) {
    if (frame_) frame_->give_back();
    pool_.clear();
  }
  if (frame_) pool_.give(std::move(frame_));
  if (shrinks_) trim_heap();
}

}  // namespace retort
