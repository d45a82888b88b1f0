// A list of fixed length that needs no memory from the heap if it is short.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace retort {

/// Elements begin value-initialised. Up to kInside of them lie in the list itself: a run of a small model takes less
/// than a microsecond, and an allocation a fiftieth of that.
template <typename T, size_t kInside = 8>
class ShortList {
 public:
  explicit ShortList(size_t size) : size_(size) {
    if (size > kInside) outside_.resize(size);
  }
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;

  size_t size() const { return size_; }
  T* data() { return size_ > kInside ? outside_.data() : inside_; }
  T& operator[](size_t i) { return data()[i]; }
  operator std::span<T>() { return {data(), size_}; }  // NOLINT: implicit by design

 private:
  const size_t size_;
  T inside_[kInside]{};
  std::vector<T> outside_;
};

}  // namespace retort
