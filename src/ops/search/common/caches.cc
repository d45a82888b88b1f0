#include "ops/search/common/caches.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace retort::ops {
namespace {

const std::byte* bytes_of(const Tensor& t) { return static_cast<const std::byte*>(t.data()); }
std::byte* bytes_of(Tensor& t) { return static_cast<std::byte*>(t.mutable_data()); }

// Bytes of the part of a tensor below axes [0, axis).
size_t bytes_below(const Tensor& t, size_t axis) {
  return dtype_bytes(t.dtype(), size_t(extent_product(t.shape(), axis, t.shape().rank())));
}

bool stays(std::span<const uint32_t> from, int64_t rows) {
  if (int64_t(from.size()) != rows) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != i) return false;
  }
  return true;
}

}  // namespace

Tensor gather_rows(Tensor cache, size_t axis, std::span<const uint32_t> from, const Parallel& parallel) {
  const int64_t rows = cache.shape()[axis];
  if (stays(from, rows)) return cache;
  const bool inside = std::all_of(from.begin(), from.end(), [&](uint32_t i) { return int64_t(i) < rows; });
  require(inside, ErrorCode::invalid_argument, "a cache that the subgraph returns has shape {}; axis {} is too short",
          to_string(cache.shape()), axis);
  Shape shape = cache.shape();
  shape[axis] = int64_t(from.size());
  Tensor next(cache.dtype(), shape);
  const size_t row = bytes_below(cache, axis + 1);
  const auto blocks = size_t(extent_product(shape, 0, axis));
  const std::byte* read = bytes_of(cache);
  std::byte* write = bytes_of(next);
  if (row == 0) return next;
  parallel.for_each(blocks * from.size(), [&](size_t task, int) {
    const size_t block = task / from.size(), i = task % from.size();
    std::memcpy(write + task * row, read + (block * size_t(rows) + from[i]) * row, row);
  });
  return next;
}

Tensor repeat_rows(const Tensor& tensor, size_t count, const Parallel& parallel) {
  std::vector<uint32_t> from(size_t(tensor.shape()[0]) * count);
  for (size_t i = 0; i < from.size(); ++i) from[i] = uint32_t(i / count);
  return gather_rows(tensor, 0, from, parallel);
}

const Tensor& returned_tensor(const Value& value, size_t rank, std::string_view what) {
  const Tensor* t = value.tensor();
  require(t && t->shape().rank() == rank, ErrorCode::invalid_argument,
          "{} that the subgraph returns is {}, expected {} axes", what, t ? to_string(t->shape()) : "not a tensor",
          rank);
  return *t;
}

Tensor zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  if (t.bytes()) std::memset(t.mutable_data(), 0, t.bytes());
  return t;
}

Tensor extended(const Tensor& tensor, size_t axis, int64_t extent) {
  require(tensor.shape()[axis] <= extent, ErrorCode::invalid_argument,
          "a cache of {} entries is longer than the sequences, which have {} tokens at most", tensor.shape()[axis],
          extent);
  Shape shape = tensor.shape();
  shape[axis] = extent;
  Tensor t = zeros(tensor.dtype(), shape);
  const size_t from = bytes_below(tensor, axis), to = bytes_below(t, axis);
  const auto blocks = size_t(extent_product(shape, 0, axis));
  for (size_t i = 0; from && i < blocks; ++i) std::memcpy(bytes_of(t) + i * to, bytes_of(tensor) + i * from, from);
  return t;
}

}  // namespace retort::ops
