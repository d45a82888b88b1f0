// Concrete shapes: extents as int64_t, of which six are stored without an allocation.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"

namespace retort {

/// A value type. All extents are >= 0 once a shape describes data; the class itself does not check this.
class Shape {
 public:
  static constexpr size_t kInline = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) { assign({dims.begin(), dims.size()}); }
  explicit Shape(std::span<const int64_t> dims) { assign(dims); }
  Shape(const Shape& other) { assign(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) assign(other);
    return *this;
  }
  /// `other` is empty afterwards.
  Shape(Shape&& other) noexcept { take(other); }
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }

  /// Allocates only if the rank exceeds both kInline and any earlier rank.
  void assign(std::span<const int64_t> dims) {
    resize(dims.size());
    std::copy(dims.begin(), dims.end(), data());
  }
  /// New extents are 0.
  void resize(size_t rank) {
    if (rank > capacity_) grow(rank);
    for (size_t i = rank_; i < rank; ++i) data()[i] = 0;
    rank_ = uint32_t(rank);
  }
  void push_back(int64_t extent) {
    resize(rank_ + 1u);
    data()[rank_ - 1] = extent;
  }

  size_t rank() const { return rank_; }
  size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  const int64_t* data() const { return heap_ ? heap_.get() : inline_; }
  int64_t* data() { return heap_ ? heap_.get() : inline_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + rank_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + rank_; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t back() const { return data()[rank_ - 1]; }
  operator std::span<const int64_t>() const { return {data(), rank_}; }  // NOLINT: implicit by design

  bool operator==(const Shape& other) const {
    return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
  }

 private:
  void take(Shape& other) noexcept {
    if (heap_ || other.heap_) return take_heap(other);
    rank_ = std::exchange(other.rank_, 0);
    std::copy(other.inline_, other.inline_ + kInline, inline_);
  }
  void take_heap(Shape& other) noexcept;
  void grow(size_t rank);

  uint32_t rank_ = 0;
  uint32_t capacity_ = kInline;
  int64_t inline_[kInline] = {};
  std::unique_ptr<int64_t[]> heap_;
};

/// Number of elements; throws invalid_argument on a negative extent or on overflow.
size_t element_count(std::span<const int64_t> dims);
/// Product of extents [from, to) of a shape that has been checked.
inline int64_t extent_product(std::span<const int64_t> dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; ++i) n *= dims[i];
  return n;
}
/// "[2,3,4]"
std::string to_string(std::span<const int64_t> dims);

}  // namespace retort

/// The same as to_string(). Arguments of an error are formatted only if it is thrown, so pass the shape, not its text.
template <>
struct fmt::formatter<retort::Shape> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const retort::Shape& shape, format_context& context) const {
    const std::string text = retort::to_string(shape);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
