// The memory of all devices of an environment: allocators and copies between any two of them.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "ep/provider.h"

namespace retort {

/// Thread-safe.
class Devices {
 public:
  Devices() = default;
  /// Those of a session, whose providers have this memory for it; the rest is everybody's. `all` has the factories.
  Devices(std::shared_ptr<const Devices> all, std::vector<SessionMemory> own)
      : all_(std::move(all)), own_(std::move(own)) {}

  /// Throws invalid_argument when there is a factory of that name.
  void add(std::shared_ptr<ProviderFactory> factory);
  /// Null: there was none. Sessions and tensors that use it keep it.
  std::shared_ptr<ProviderFactory> remove(const std::string& name);
  std::vector<std::shared_ptr<ProviderFactory>> factories() const;

  /// Null where no device has that memory; host memory is everybody's.
  std::shared_ptr<Allocator> find_allocator(const MemorySpace& space) const;
  /// Memory for elements in `space`; throws invalid_argument where nobody has it.
  std::shared_ptr<void> allocate(const MemorySpace& space, size_t bytes) const;
  /// The same for what is written once, before any run: some providers have memory for that.
  std::shared_ptr<void> allocate_constant(const MemorySpace& space, size_t bytes) const;
  /// Whether tensors can go from one to the other, if need be by way of the host.
  bool can_copy(const MemorySpace& from, const MemorySpace& to) const;
  /// Copies a tensor into one of the same type and extents. `stream`: of one of the two devices, or null; without, and where
  /// it goes by way of the host, the copy is done when it returns. Throws not_implemented where nobody copies between the two.
  void copy(const Tensor& from, Tensor& to, Stream* stream) const;
  /// The same for several, which all go from one memory to one other.
  void copy(std::span<const Transfer> transfers, Stream* stream) const;

 private:
  std::shared_ptr<ProviderFactory> carrier(const MemorySpace& from, const MemorySpace& to) const;
  const std::shared_ptr<const Devices> all_;  ///< null: these are all
  const std::vector<SessionMemory> own_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ProviderFactory>> factories_;
};

}  // namespace retort
