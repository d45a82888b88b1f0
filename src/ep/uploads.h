// The constants of a session in memory of devices: each once per memory, however many parts and nodes read it.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ep/devices.h"
#include "tensor/tensor.h"

namespace retort {

/// Thread-safe.
class Uploads {
 public:
  explicit Uploads(std::shared_ptr<const Devices> devices) : devices_(std::move(devices)) {}

  /// `constant` in `space`: itself where that serves, or where it is strings, which stay on the host.
  Tensor get(const Tensor& constant, const MemorySpace& space);
  /// What get() would find; empty where it would copy.
  Tensor find(const Tensor& constant, const MemorySpace& space);
  /// A plan is made: what nobody kept goes, and the rest is found for as long as somebody keeps it.
  void settle();

 private:
  struct Upload {
    const void* data;
    size_t bytes;
    bool is_lent;  ///< nobody owns the constant: its address means it only until the plan is made
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
