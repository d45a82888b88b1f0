// The memory of all devices of an environment: allocators, and copies between any two of them.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ep/provider.h"

namespace retort {

/// A thread-safe set of device memories.
class Devices {
 public:
  Devices() = default;
  /// The memory of a session: its providers' own, then that of the environment. `all` has the factories.
  Devices(std::shared_ptr<const Devices> all, std::vector<SessionMemory> own)
      : all_(std::move(all)), own_(std::move(own)) {}

  /// Throws invalid_argument if there is a factory of that name.
  void add(std::shared_ptr<ProviderFactory> factory);
  /// Null if there was none. Sessions and tensors that use the factory keep it alive.
  std::shared_ptr<ProviderFactory> remove(const std::string& name);
  std::vector<std::shared_ptr<ProviderFactory>> factories() const;

  /// Null if no device has that memory; host memory belongs to no device.
  std::shared_ptr<Allocator> find_allocator(const MemorySpace& space) const;
  /// Allocates memory for elements in `space`; throws invalid_argument if no device has it.
  std::shared_ptr<void> allocate(const MemorySpace& space, size_t bytes) const;
  /// The same for memory that is written once, before any run: some providers have a separate allocator for it.
  std::shared_ptr<void> allocate_constant(const MemorySpace& space, size_t bytes) const;
  /// Whether tensors can be copied from one to the other, if necessary through the host.
  bool can_copy(const MemorySpace& from, const MemorySpace& to) const;
  /// Copies a tensor to one of the same type and extents. `stream` belongs to one of the two devices, or is null;
  /// without it, and for copies through the host, the copy is done when this returns. Throws not_implemented if no
  /// provider copies between the two.
  void copy(const Tensor& from, Tensor& to, Stream* stream) const;
  /// The same for several tensors, all from one memory to one other.
  void copy(std::span<const Transfer> transfers, Stream* stream) const;

 private:
  std::shared_ptr<ProviderFactory> carrier(const MemorySpace& from, const MemorySpace& to) const;
  const std::shared_ptr<const Devices> all_;  ///< null: there are no others
  const std::vector<SessionMemory> own_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ProviderFactory>> factories_;
};

}  // namespace retort
