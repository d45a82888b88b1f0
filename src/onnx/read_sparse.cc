#include "base/error.h"
#include "memory/host.h"
#include "onnx/read_context.h"

namespace retort::onnx {
namespace {

int64_t index_at(const Tensor& indices, size_t i) {
  switch (indices.dtype()) {
    case DType::i8:
      return indices.data<int8_t>()[i];
    case DType::i16:
      return indices.data<int16_t>()[i];
    case DType::i32:
      return indices.data<int32_t>()[i];
    default:
      return indices.data<int64_t>()[i];
  }
}

/// The index of entry `i` in the dense tensor; checks it against the shape.
size_t linear_index(const SparseTensor& s, size_t i, size_t dense_count) {
  if (s.indices.shape().rank() == 1) {
    const int64_t at = index_at(s.indices, i);
    require(at >= 0 && size_t(at) < dense_count, ErrorCode::invalid_graph, "index {} of entry {} is outside of {}", at,
            i, to_string(s.dense_shape));
    return size_t(at);
  }
  size_t linear = 0;
  const size_t rank = s.dense_shape.rank();
  for (size_t d = 0; d < rank; ++d) {
    const int64_t at = index_at(s.indices, i * rank + d);
    require(at >= 0 && at < s.dense_shape[d], ErrorCode::invalid_graph, "index {} of entry {} is outside of {}", at, i,
            to_string(s.dense_shape));
    linear = linear * size_t(s.dense_shape[d]) + size_t(at);
  }
  return linear;
}

void check(const SparseTensor& s) {
  require(s.values && s.indices, ErrorCode::invalid_graph, "it has no values or no indices");
  const DType t = s.indices.dtype();
  require(t == DType::i64 || t == DType::i32 || t == DType::i16 || t == DType::i8, ErrorCode::invalid_graph,
          "its indices are of type {}", dtype_name(t));
  require(!is_packed(s.values.dtype()), ErrorCode::not_implemented, "values of type {} are not supported",
          dtype_name(s.values.dtype()));
  const size_t n = s.values.count(), rank = s.dense_shape.rank();
  const Shape& by = s.indices.shape();
  require(s.values.shape().rank() == 1, ErrorCode::invalid_graph, "its values have shape {}",
          to_string(s.values.shape()));
  require((by.rank() == 1 && size_t(by[0]) == n) || (by.rank() == 2 && size_t(by[0]) == n && size_t(by[1]) == rank),
          ErrorCode::invalid_graph, "{} values of a tensor of rank {} have indices of shape {}", n, rank,
          to_string(by));
  const size_t dense_count = element_count(s.dense_shape);
  for (size_t i = 0; i < n; ++i) linear_index(s, i, dense_count);
}

}  // namespace

SparseTensor read_sparse(ReadContext& c, Message m, std::string_view* name) {
  SparseTensor s;
  std::string_view own_name;
  std::vector<int64_t> dims;
  while (m.next()) {
    if (m.field() == tag::sparse::values) s.values = aligned(read_tensor(c, m.child("TensorProto"), &own_name));
    if (m.field() == tag::sparse::indices) s.indices = aligned(read_tensor(c, m.child("TensorProto")));
    if (m.field() == tag::sparse::dims) m.each_varint([&](uint64_t d) { dims.push_back(int64_t(d)); });
  }
  s.dense_shape = Shape(dims);
  if (name) *name = own_name;
  in_context([&] { return cat("sparse tensor '{}'", own_name); }, [&] { check(s); });
  return s;
}

Tensor densify(ReadContext& c, const SparseTensor& s) {
  const DType dtype = s.values.dtype();
  const size_t count = element_count(s.dense_shape), bytes = dtype_bytes(dtype, count);
  c.charge(bytes);
  Tensor dense;
  if (dtype == DType::string) {
    dense = Tensor(dtype, s.dense_shape);
    for (size_t i = 0; i < s.values.count(); ++i) {
      dense.mutable_data<std::string>()[linear_index(s, i, count)] = s.values.data<std::string>()[i];
    }
    return dense;
  }
  std::shared_ptr<void> memory = allocate_block(bytes);
  std::memset(memory.get(), 0, bytes);
  char* data = static_cast<char*>(memory.get());
  const size_t element = dtype_bits(dtype) / 8;
  for (size_t i = 0; i < s.values.count(); ++i) {
    std::memcpy(data + linear_index(s, i, count) * element, s.values.data<char>() + i * element, element);
  }
  return Tensor(dtype, s.dense_shape, data, std::move(memory));
}

}  // namespace retort::onnx
