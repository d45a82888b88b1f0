// Weights that kernels of plug-ins have packed, stored once for all sessions that use the same container.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "abi/handle.h"
#include "abi/values/allocators.h"

namespace retort::abi {

/// A weight in a kernel's packed form. Released by the last session or container that uses it.
struct PackedWeight {
  std::vector<std::shared_ptr<void>> buffers;
  std::vector<size_t> sizes;
  bool operator==(const PackedWeight& other) const;  ///< compares contents
};

/// A thread-safe set of packed weights.
class PackedWeights {
 public:
  /// The equal weight that an earlier kernel of that type has packed, otherwise `made`.
  std::shared_ptr<const PackedWeight> unify(const std::string& type, PackedWeight made);

 private:
  std::mutex mutex_;
  std::multimap<std::pair<std::string, size_t>, std::shared_ptr<const PackedWeight>> all_;  ///< by type and hash
};

/// What a session shares with others: weights that its caller gave, by name.
struct SharedWeights {
  std::shared_ptr<PackedWeights> container;  ///< null: shares nothing
  std::set<std::string> names;
};

}  // namespace retort::abi

/// Receives what a kernel has packed, while PrePackWeight runs.
struct OrtSharedPrePackedWeightCache : retort::abi::Handle<retort::abi::tag_of("spwc")> {
  /// `a`: the allocator that the kernel packs with.
  explicit OrtSharedPrePackedWeightCache(std::shared_ptr<OrtAllocator> a) : allocator(std::move(a)) {}
  const std::shared_ptr<OrtAllocator> allocator;
  retort::abi::PackedWeight stored;
};
