// Memory that the steps of a frame use one after the other, each for itself alone. Knows bytes only.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>

#include "base/function_ref.h"

namespace retort {

/// Bytes that a segment needs: now, and at most since the last trim.
struct ScratchNeed {
  size_t bytes = 0, most = 0;
  void set(size_t now) {
    bytes = now;
    most = std::max(most, now);
  }
  /// Returns the most; from now on it counts from what is needed now.
  size_t forget_most() { return std::exchange(most, bytes); }
};

/// Not thread-safe.
class Scratch {
 public:
  /// Makes it larger: what there is goes before `allocate` is called; if that throws, there is none.
  void grow(size_t bytes, FunctionRef<std::shared_ptr<void>(size_t)> allocate);
  /// Null: none.
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  size_t bytes() const { return bytes_; }
  /// Gives it back if it has more than twice the `most` bytes that were needed; true: it did.
  bool trim(size_t most);
  void give_back();
  /// For AddressSanitizer: no more than the first `bytes` may be touched.
  void guard(size_t bytes) const;

 private:
  std::shared_ptr<void> memory_;
  size_t bytes_ = 0;
};

}  // namespace retort
