// The constants of a session in device memories: one copy per memory, however many parts and nodes read it.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ep/devices.h"
#include "tensor/tensor.h"

namespace retort {

/// A thread-safe set of uploaded constants.
class Uploads {
 public:
  explicit Uploads(std::shared_ptr<const Devices> devices) : devices_(std::move(devices)) {}

  /// `constant` in `space`: the constant itself if it can be read there, or if it holds strings, which stay on the
  /// host.
  Tensor get(const Tensor& constant, const MemorySpace& space);
  /// The result of get() if it needs no copy; otherwise empty.
  Tensor find(const Tensor& constant, const MemorySpace& space);
  /// Called when a plan is made: frees unused copies. Others can be found as long as something keeps them.
  void settle();

 private:
  struct Upload {
    const void* data;
    size_t bytes;
    bool is_lent;  ///< the constant has no owner: its address identifies it only until the plan is made
    std::weak_ptr<void> owner;
    MemorySpace space;
    std::weak_ptr<void> memory;
    std::shared_ptr<void> held;  ///< until the plan is made
    bool is_of(const Tensor& constant, const MemorySpace& wanted) const;
  };

  Tensor find_locked(const Tensor& constant, const MemorySpace& space) const;

  const std::shared_ptr<const Devices> devices_;
  std::mutex mutex_;
  std::vector<Upload> all_;
};

}  // namespace retort
