#include "tensor/shape.h"

#include "base/checked.h"

namespace retort {

void Shape::take_heap(Shape& other) noexcept {
  heap_ = std::move(other.heap_);
  rank_ = std::exchange(other.rank_, 0);
  capacity_ = std::exchange(other.capacity_, kInline);
  std::copy(other.inline_, other.inline_ + kInline, inline_);
}

void Shape::grow(size_t rank) {
  auto bigger = std::make_unique<int64_t[]>(rank);
  std::copy(begin(), end(), bigger.get());
  heap_ = std::move(bigger);
  capacity_ = uint32_t(rank);
}

size_t element_count(std::span<const int64_t> dims) {
  size_t n = 1;
  for (int64_t d : dims) {
    if (d < 0) fail(ErrorCode::invalid_argument, "negative extent in shape {}", to_string(dims));
    const auto product = try_mul(n, size_t(d));
    if (!product) fail(ErrorCode::invalid_argument, "number of elements of shape {} overflows", to_string(dims));
    n = *product;
  }
  return n;
}

std::string to_string(std::span<const int64_t> dims) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) text += fmt::format("{}{}", i ? "," : "[", dims[i]);
  return dims.empty() ? "[]" : text + "]";
}

}  // namespace retort
