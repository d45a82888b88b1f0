// What kernels of plug-ins make of weights, kept once for all sessions that were given the same container.
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

/// One weight as a kernel packed it. Given back with the last session or container that has it.
struct PackedWeight {
  std::vector<std::shared_ptr<void>> buffers;
  std::vector<size_t> sizes;
  bool operator==(const PackedWeight& other) const;  ///< of equal contents
};

/// Thread-safe.
class PackedWeights {
 public:
  /// What an earlier kernel of that type has packed to the same, else `made`.
  std::shared_ptr<const PackedWeight> unify(const std::string& type, PackedWeight made);

 private:
  std::mutex mutex_;
  std::multimap<std::pair<std::string, size_t>, std::shared_ptr<const PackedWeight>> all_;  ///< by type and hash
};

/// What a session shares with others: weights that its caller gave, by name.
struct SharedWeights {
  std::shared_ptr<PackedWeights> container;  ///< null: nothing
  std::set<std::string> names;
};

}  // namespace retort::abi

/// Where a kernel puts what it has packed, while it is asked to.
struct OrtSharedPrePackedWeightCache : retort::abi::Handle<retort::abi::tag_of("spwc")> {
  /// `a`: that the kernel packs with.
  explicit OrtSharedPrePackedWeightCache(std::shared_ptr<OrtAllocator> a) : allocator(std::move(a)) {}
  const std::shared_ptr<OrtAllocator> allocator;
  retort::abi::PackedWeight stored;
};
