#include "lift/dense.h"

#include <cstring>

#include "base/error.h"

namespace retort {
namespace {

size_t linear_index(const SparseTensor& s, size_t i) {
  const int64_t* indices = s.indices.data<int64_t>();
  const size_t rank = s.dense_shape.rank();
  int64_t at = 0;
  bool inside = true;
  if (s.indices.shape().rank() == 1) {
    at = indices[i];
    inside = at >= 0 && size_t(at) < element_count(s.dense_shape);
  }
  for (size_t d = 0; s.indices.shape().rank() == 2 && d < rank; ++d) {
    const int64_t index = indices[i * rank + d];
    inside = inside && index >= 0 && index < s.dense_shape[d];
    if (inside) at = at * s.dense_shape[d] + index;
  }
  require(inside, ErrorCode::invalid_graph, "index {} of a sparse tensor is outside its shape {}", i,
          to_string(s.dense_shape));
  return size_t(at);
}

}  // namespace

Tensor dense(const SparseTensor& s) {
  const size_t n = s.values.count(), rank = s.dense_shape.rank();
  const bool good = s.format == SparseTensor::Format::coo && s.indices.dtype() == DType::i64 &&
                    dtype_bits(s.values.dtype()) >= 8 &&
                    (s.indices.shape() == Shape{int64_t(n)} || s.indices.shape() == Shape{int64_t(n), int64_t(rank)});
  require(good, ErrorCode::invalid_graph, "a sparse tensor with {} values and indices of shape {} is not supported", n,
          to_string(s.indices.shape()));
  Tensor out(s.values.dtype(), s.dense_shape);
  if (out.dtype() == DType::string) {
    for (size_t i = 0; i < n; ++i)
      out.mutable_data<std::string>()[linear_index(s, i)] = s.values.data<std::string>()[i];
    return out;
  }
  const size_t size = dtype_bits(out.dtype()) / 8;
  if (out.count() > 0) std::memset(out.mutable_data(), 0, out.bytes());
  for (size_t i = 0; i < n; ++i)
    std::memcpy(out.mutable_data<char>() + linear_index(s, i) * size, s.values.data<char>() + i * size, size);
  return out;
}

}  // namespace retort
