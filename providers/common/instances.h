// What a compiled part keeps for the shapes of its last runs, and the memory of its outputs.
#pragma once
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "graph.h"

namespace providers {

/// Idle instances for the last sets of shapes, `Instance::shapes`; each serves one run at a time. Thread-safe.
template <typename Instance>
class Instances {
 public:
  /// An idle one for the shapes, or else make().
  template <typename Make>
  std::unique_ptr<Instance> take(const std::vector<Dims>& shapes, const Make& make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const auto& i) { return i->shapes == shapes; });
      if (at != idle_.end()) {
        std::unique_ptr<Instance> found = std::move(*at);
        idle_.erase(at);
        return found;
      }
    }
    return make();
  }

  void give_back(std::unique_ptr<Instance> instance) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_front(std::move(instance));
    if (idle_.size() > kMost) idle_.pop_back();
  }

  /// Forgets the idle ones.
  void clear() {
    std::list<std::unique_ptr<Instance>> old;
    const std::lock_guard<std::mutex> lock(mutex_);
    old.swap(idle_);
  }

 private:
  static constexpr size_t kMost = 8;
  std::mutex mutex_;
  std::list<std::unique_ptr<Instance>> idle_;  // the last used first
};

/// Memory of the host for the outputs of a run, which have these shapes.
std::vector<void*> output_memory(OrtKernelContext* context, const std::vector<Dims>& shapes);

}  // namespace providers
