// Sparse tensors. An OrtValue made for one has a dense shape and an element type at first; filling it, or lending it
// indices, gives it a format.
#include <cstring>

#include "abi/slots.h"
#include "abi/values/type_info.h"
#include "abi/values/value.h"
#include "base/checked.h"

namespace retort::abi {
namespace {

using Format = SparseTensor::Format;

/// A format is there as soon as there are indices.
bool has_format(const SparseTensor& s) { return bool(s.indices); }

const SparseTensor& sparse_of(const OrtValue* value, const char* what = "ort_value") {
  const SparseTensor* sparse = handle(value, what).value.get<SparseTensor>();
  require(sparse, ErrorCode::runtime_exception, "the value is not a sparse tensor");
  return *sparse;
}
SparseTensor& sparse_of(OrtValue* value) {
  return const_cast<SparseTensor&>(sparse_of(static_cast<const OrtValue*>(value)));
}

/// With its values and indices.
const SparseTensor& filled(const OrtValue* value) {
  const SparseTensor& sparse = sparse_of(value);
  require(has_format(sparse), ErrorCode::fail, "the sparse tensor has no values yet");
  return sparse;
}

Tensor host_copy(DType type, std::span<const int64_t> shape, const void* data) {
  Tensor tensor(type, Shape(shape));
  if (type == DType::string) {
    const auto* texts = static_cast<const char* const*>(data);
    for (size_t i = 0; i < tensor.count(); ++i) tensor.mutable_data<std::string>()[i] = need_text(texts[i], "values");
  } else if (tensor.bytes()) {
    std::memcpy(tensor.mutable_data(), &need(static_cast<const char*>(data), "data"), tensor.bytes());
  }
  return tensor;
}

template <typename T>
Tensor borrowed(T* data, std::initializer_list<int64_t> shape) {
  return Tensor(dtype_of<T>, Shape(shape), data, nullptr);
}

/// The values of a Fill function: copied from host memory into a tensor that has none yet.
Tensor new_values(const SparseTensor& sparse, const OrtMemoryInfo* info, const int64_t* shape, size_t rank,
                  const void* values) {
  require(!has_format(sparse), ErrorCode::fail, "the sparse tensor has values already");
  require(handle(info, "data_mem_info").space.host_readable(), ErrorCode::not_implemented,
          "sparse tensors are filled from host memory only");
  return host_copy(sparse.values.dtype(), need_shape(shape, rank), values);
}

/// Indices of COO: one for each value (linear), or two.
Shape check_coo(const SparseTensor& sparse, size_t values, const int64_t* indices, size_t count) {
  require(count == values || count == 2 * values, ErrorCode::invalid_argument, "{} indices for {} values", count,
          values);
  if (count) need(indices, "indices_data");
  if (count == values) {
    const auto limit = int64_t(element_count(sparse.dense_shape));
    for (size_t i = 0; i < count; ++i) {
      require(indices[i] >= 0 && indices[i] < limit, ErrorCode::invalid_argument, "index {} is not in [0, {})",
              indices[i], limit);
    }
    return Shape{int64_t(count)};
  }
  require(sparse.dense_shape.rank() == 2, ErrorCode::invalid_argument,
          "two indices for each value need a matrix, not {}", to_string(sparse.dense_shape));
  for (size_t i = 0; i < count; ++i) {
    const int64_t limit = sparse.dense_shape[i % 2];
    require(indices[i] >= 0 && indices[i] < limit, ErrorCode::invalid_argument, "index {} is not in [0, {})",
            indices[i], limit);
  }
  return Shape{int64_t(values), 2};
}

void check_csr(const SparseTensor& sparse, size_t values, std::span<const int64_t> inner,
               std::span<const int64_t> outer, ErrorCode sizes) {
  require(sparse.dense_shape.rank() == 2, sizes, "CSR needs a matrix, not {}", to_string(sparse.dense_shape));
  const auto rows = size_t(sparse.dense_shape[0]);
  const int64_t columns = sparse.dense_shape[1];
  require(outer.size() == rows + 1, sizes, "{} row starts for {} rows", outer.size(), rows);
  for (size_t i = 0; i < outer.size(); ++i) {
    const int64_t before = i ? outer[i - 1] : 0;
    require(outer[i] >= before && (i || outer[i] == 0), ErrorCode::invalid_argument, "row starts decrease at row {}",
            i);
  }
  require(size_t(outer.back()) == inner.size(), ErrorCode::invalid_argument,
          "the last row ends at {}, after {} columns", outer.back(), inner.size());
  require(inner.size() == values, sizes, "{} columns for {} values", inner.size(), values);
  for (int64_t column : inner) {
    require(column >= 0 && column < columns, ErrorCode::invalid_argument, "column {} is not in [0, {})", column,
            columns);
  }
}

/// Values [block rows, block columns, blocks] go with indices [2, blocks].
void check_blocks(const Tensor& values, std::span<const int64_t> index_shape) {
  require(index_shape.size() == 2 && index_shape[0] == 2, ErrorCode::fail,
          "block indices have shape [2, blocks], not {}", to_string(index_shape));
  const auto blocks = extent_product(values.shape(), std::min<size_t>(2, values.shape().rank()), values.shape().rank());
  require(values.shape().rank() >= 3 && index_shape[1] == blocks, ErrorCode::fail, "{} block indices for values {}",
          index_shape[1], to_string(values.shape()));
}

void set(SparseTensor& sparse, Format format, Tensor indices, Tensor outer = {}) {
  sparse.format = format;
  // CSR: `inner_indices` are the columns, `indices` the row starts.
  if (format == Format::csr) {
    sparse.inner_indices = std::move(indices);
    sparse.indices = std::move(outer);
  } else {
    sparse.indices = std::move(indices);
  }
}

const Tensor& indices_of(const OrtValue* value, OrtSparseIndicesFormat format) {
  const SparseTensor& sparse = filled(value);
  const bool matches = (format == ORT_SPARSE_COO_INDICES && sparse.format == Format::coo) ||
                       (format == ORT_SPARSE_CSR_INNER_INDICES && sparse.format == Format::csr) ||
                       (format == ORT_SPARSE_CSR_OUTER_INDICES && sparse.format == Format::csr) ||
                       (format == ORT_SPARSE_BLOCK_SPARSE_INDICES && sparse.format == Format::block);
  require(matches, ErrorCode::fail, "the sparse tensor has no indices of kind {}", int(format));
  return format == ORT_SPARSE_CSR_INNER_INDICES ? sparse.inner_indices : sparse.indices;
}

std::span<const int64_t> span_of(const int64_t* data, size_t count, const char* what) {
  if (count) need(data, what);
  return {data, count};
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateSparseTensorAsOrtValue(OrtAllocator* allocator, const int64_t* dense_shape,
                                                       size_t dense_shape_len, ONNXTensorElementDataType type,
                                                       OrtValue** out) noexcept {
  return guard([&] {
    need(allocator, "allocator");
    SparseTensor sparse;
    sparse.dense_shape = Shape(need_shape(dense_shape, dense_shape_len));
    element_count(sparse.dense_shape);
    sparse.values = Tensor(from_onnx(type), Shape{0});
    give(out, "out", std::make_unique<OrtValue>(std::move(sparse)));
  });
}

OrtStatusPtr ORT_API_CALL CreateSparseTensorWithValuesAsOrtValue(const OrtMemoryInfo* info, void* p_data,
                                                                 const int64_t* dense_shape, size_t dense_shape_len,
                                                                 const int64_t* values_shape, size_t values_shape_len,
                                                                 ONNXTensorElementDataType type,
                                                                 OrtValue** out) noexcept {
  return guard([&] {
    SparseTensor sparse;
    sparse.dense_shape = Shape(need_shape(dense_shape, dense_shape_len));
    element_count(sparse.dense_shape);
    sparse.values = wrap_tensor(handle(info, "info"), p_data, SIZE_MAX, need_shape(values_shape, values_shape_len),
                                from_onnx(type), nullptr);
    give(out, "out", std::make_unique<OrtValue>(std::move(sparse), &interned(*info)));
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorCoo(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                              const int64_t* values_shape, size_t values_shape_len, const void* values,
                                              const int64_t* indices_data, size_t indices_num) noexcept {
  return guard([&] {
    SparseTensor& sparse = sparse_of(ort_value);
    Tensor copy = new_values(sparse, data_mem_info, values_shape, values_shape_len, values);
    const Shape shape = check_coo(sparse, copy.count(), indices_data, indices_num);
    set(sparse, Format::coo, host_copy(DType::i64, shape, indices_data));
    sparse.values = std::move(copy);
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorCsr(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                              const int64_t* values_shape, size_t values_shape_len, const void* values,
                                              const int64_t* inner_indices_data, size_t inner_indices_num,
                                              const int64_t* outer_indices_data, size_t outer_indices_num) noexcept {
  return guard([&] {
    SparseTensor& sparse = sparse_of(ort_value);
    Tensor copy = new_values(sparse, data_mem_info, values_shape, values_shape_len, values);
    const auto inner = span_of(inner_indices_data, inner_indices_num, "inner_indices_data");
    const auto outer = span_of(outer_indices_data, outer_indices_num, "outer_indices_data");
    check_csr(sparse, copy.count(), inner, outer, ErrorCode::fail);
    Tensor columns = host_copy(DType::i64, Shape{int64_t(inner.size())}, inner.data());
    set(sparse, Format::csr, std::move(columns), host_copy(DType::i64, Shape{int64_t(outer.size())}, outer.data()));
    sparse.values = std::move(copy);
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorBlockSparse(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                                      const int64_t* values_shape, size_t values_shape_len,
                                                      const void* values, const int64_t* indices_shape_data,
                                                      size_t indices_shape_len, const int32_t* indices_data) noexcept {
  return guard([&] {
    SparseTensor& sparse = sparse_of(ort_value);
    Tensor copy = new_values(sparse, data_mem_info, values_shape, values_shape_len, values);
    const auto index_shape = need_shape(indices_shape_data, indices_shape_len);
    check_blocks(copy, index_shape);
    set(sparse, Format::block, host_copy(DType::i32, index_shape, indices_data));
    sparse.values = std::move(copy);
  });
}

OrtStatusPtr ORT_API_CALL UseCooIndices(OrtValue* ort_value, int64_t* indices_data, size_t indices_num) noexcept {
  return guard([&] {
    SparseTensor& sparse = sparse_of(ort_value);
    const Shape shape = check_coo(sparse, sparse.values.count(), indices_data, indices_num);
    set(sparse, Format::coo, Tensor(DType::i64, shape, indices_data, nullptr));
  });
}

OrtStatusPtr ORT_API_CALL UseCsrIndices(OrtValue* ort_value, int64_t* inner_data, size_t inner_num, int64_t* outer_data,
                                        size_t outer_num) noexcept {
  return guard([&] {
    SparseTensor& sparse = sparse_of(ort_value);
    check_csr(sparse, sparse.values.count(), span_of(inner_data, inner_num, "inner_data"),
              span_of(outer_data, outer_num, "outer_data"), ErrorCode::invalid_argument);
    set(sparse, Format::csr, borrowed(inner_data, {int64_t(inner_num)}), borrowed(outer_data, {int64_t(outer_num)}));
  });
}

OrtStatusPtr ORT_API_CALL UseBlockSparseIndices(OrtValue* ort_value, const int64_t* indices_shape,
                                                size_t indices_shape_len, int32_t* indices_data) noexcept {
  return guard([&] {
    SparseTensor& sparse = sparse_of(ort_value);
    const auto index_shape = need_shape(indices_shape, indices_shape_len);
    check_blocks(sparse.values, index_shape);
    set(sparse, Format::block, Tensor(DType::i32, Shape(index_shape), &need(indices_data, "indices_data"), nullptr));
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorFormat(const OrtValue* ort_value, OrtSparseFormat* out) noexcept {
  return guard([&] {
    const SparseTensor& sparse = sparse_of(ort_value);
    OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
    if (has_format(sparse)) {
      format = sparse.format == Format::coo   ? ORT_SPARSE_COO
               : sparse.format == Format::csr ? ORT_SPARSE_CSRC
                                              : ORT_SPARSE_BLOCK_SPARSE;
    }
    need(out, "out") = format;
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorValuesTypeAndShape(const OrtValue* ort_value,
                                                            OrtTensorTypeAndShapeInfo** out) noexcept {
  return guard([&] {
    const Tensor& values = filled(ort_value).values;
    give(out, "out", std::make_unique<OrtTensorTypeAndShapeInfo>(tensor_info(values.dtype(), values.shape())));
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorValues(const OrtValue* ort_value, const void** out) noexcept {
  return guard([&] {
    const Tensor& values = filled(ort_value).values;
    require(values.dtype() != DType::string, ErrorCode::invalid_argument, "strings are read one by one");
    need(out, "out") = values.data();
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorIndicesTypeShape(const OrtValue* ort_value,
                                                          OrtSparseIndicesFormat indices_format,
                                                          OrtTensorTypeAndShapeInfo** out) noexcept {
  return guard([&] {
    const Tensor& indices = indices_of(ort_value, indices_format);
    give(out, "out", std::make_unique<OrtTensorTypeAndShapeInfo>(tensor_info(indices.dtype(), indices.shape())));
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorIndices(const OrtValue* ort_value, OrtSparseIndicesFormat indices_format,
                                                 size_t* num_indices, const void** indices) noexcept {
  return guard([&] {
    const Tensor& tensor = indices_of(ort_value, indices_format);
    need(indices, "indices");
    need(num_indices, "num_indices") = tensor.count();
    *indices = tensor.data();
  });
}

}  // namespace retort::abi
