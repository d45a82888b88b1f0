#include "capture.h"

#include <string>
#include <utility>

#include "host.h"

namespace loopback {

thread_local std::unique_ptr<Captures::Recording> Captures::recording_;

void Captures::run_begins(int id) {
  if (wanted_ == 0 || id < 0) return;
  const std::lock_guard lock(mutex_);
  if (++runs_[id] == wanted_) recording_ = std::make_unique<Recording>(Recording{id, std::make_shared<Work>()});
}

void Captures::run_ends() {
  const std::unique_ptr<Recording> done = std::exchange(recording_, nullptr);
  if (!done) return;
  const std::lock_guard lock(mutex_);
  captured_[done->id] = done->work;
}

bool Captures::has(int id) const {
  const std::lock_guard lock(mutex_);
  return captured_.count(id) > 0;
}

void Captures::replay(int id) const {
  std::shared_ptr<const Work> work;
  {
    const std::lock_guard lock(mutex_);
    const auto at = captured_.find(id);
    if (at == captured_.end()) throw Error("no run was captured as graph " + std::to_string(id));
    work = at->second;
  }
  for (const auto& step : *work) step();
}

void Captures::release(int id) {
  const std::lock_guard lock(mutex_);
  captured_.erase(id);
  runs_.erase(id);
}

void Captures::record(const std::function<void()>& work) {
  if (recording_) recording_->work->push_back(work);
}

}  // namespace loopback
