// Working memory that the steps of a frame use one after the other. No content is kept from one step to the next. The
// class knows sizes only, no values.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>

#include "base/function_ref.h"

namespace retort {

/// The bytes that a segment needs now, and the maximum since the last trim.
struct ScratchNeed {
  size_t bytes = 0, most = 0;
  void set(size_t now) {
    bytes = now;
    most = std::max(most, now);
  }
  /// Returns the maximum, and starts a new one from the current need.
  size_t forget_most() { return std::exchange(most, bytes); }
};

/// Not thread-safe.
class Scratch {
 public:
  /// Frees the present memory, then calls `allocate`. If that throws, no memory is left.
  void grow(size_t bytes, FunctionRef<std::shared_ptr<void>(size_t)> allocate);
  /// Null if there is no memory.
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  size_t bytes() const { return bytes_; }
  /// Frees the memory if it is more than twice as large as `most`, the bytes that were needed. Returns whether it did.
  bool trim(size_t most);
  void give_back();
  /// For AddressSanitizer: allows access to the first `bytes` only.
  void guard(size_t bytes) const;

 private:
  std::shared_ptr<void> memory_;
  size_t bytes_ = 0;
};

}  // namespace retort
