// Part of onnxruntime_cxx_api.h: values: tensors, sparse tensors, sequences, maps, optional values.
#pragma once
#include "memory.h"
#include "numbers.h"
#include "types.h"

namespace Ort {

struct Value;

namespace detail {

// The values of a sparse tensor: their shape, and their numbers, or texts that end with a zero.
struct OrtSparseValuesParam {
  const int64_t* values_shape;
  size_t values_shape_len;
  union {
    const void* p_data;
    const char** str;
  } data;
};

struct Shape {
  const int64_t* shape;
  size_t shape_len;
};

template <typename T>
struct ConstValueImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  template <typename R>
  void GetOpaqueData(const char* domain, const char* type_name, R& out) const {
    ThrowOnError(GetApi().GetOpaqueValue(domain, type_name, this->p_, &out, sizeof(R)));
  }

  bool IsTensor() const { return FetchFlag(GetApi().IsTensor, this->p_); }
  // False for an optional value that holds nothing.
  bool HasValue() const { return FetchFlag(GetApi().HasValue, this->p_); }
  // Of a sequence, the number of its elements; of a map, 2.
  size_t GetCount() const { return Fetch<size_t>(GetApi().GetValueCount, this->p_); }
  // An element of a sequence; of a map, 0 gives the tensor of its keys, 1 that of its values.
  Value GetValue(int index, OrtAllocator* allocator) const;
  TypeInfo GetTypeInfo() const { return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().GetTypeInfo, this->p_)}; }

  TensorTypeAndShapeInfo GetTensorTypeAndShapeInfo() const {
    return TensorTypeAndShapeInfo{Fetch<OrtTensorTypeAndShapeInfo*>(GetApi().GetTensorTypeAndShape, this->p_)};
  }
  // Element type and shape without a copy: the shape belongs to the value.
  void GetTensorElementTypeAndShapeDataReference(ONNXTensorElementDataType& elem_type, Shape& shape) const {
    ThrowOnError(
        GetApi().GetTensorElementTypeAndShapeDataReference(this->p_, &elem_type, &shape.shape, &shape.shape_len));
  }
  ConstMemoryInfo GetTensorMemoryInfo() const {
    return ConstMemoryInfo{Fetch<const OrtMemoryInfo*>(GetApi().GetTensorMemoryInfo, this->p_)};
  }
  size_t GetTensorSizeInBytes() const { return Fetch<size_t>(GetApi().GetTensorSizeInBytes, this->p_); }
  // The elements, where the tensor's memory lies. R is not compared with the element type.
  template <typename R>
  const R* GetTensorData() const {
    return static_cast<const R*>(GetTensorRawData());
  }
  const void* GetTensorRawData() const { return Fetch<const void*>(GetApi().GetTensorData, this->p_); }

  // Texts of a tensor, one after the other without ends; offsets tell where each begins.
  size_t GetStringTensorDataLength() const { return Fetch<size_t>(GetApi().GetStringTensorDataLength, this->p_); }
  void GetStringTensorContent(void* buffer, size_t buffer_length, size_t* offsets, size_t offsets_count) const {
    ThrowOnError(GetApi().GetStringTensorContent(this->p_, buffer, buffer_length, offsets, offsets_count));
  }
  size_t GetStringTensorElementLength(size_t element_index) const {
    return Fetch<size_t>(GetApi().GetStringTensorElementLength, this->p_, element_index);
  }
  void GetStringTensorElement(size_t buffer_length, size_t element_index, void* buffer) const {
    ThrowOnError(GetApi().GetStringTensorElement(this->p_, buffer_length, element_index, buffer));
  }
  std::string GetStringTensorElement(size_t element_index) const {
    std::string text(GetStringTensorElementLength(element_index), '\0');
    GetStringTensorElement(text.size(), element_index, text.data());
    return text;
  }

#if !defined(DISABLE_SPARSE_TENSORS)
  bool IsSparseTensor() const { return FetchFlag(GetApi().IsSparseTensor, this->p_); }
  OrtSparseFormat GetSparseFormat() const { return Fetch<OrtSparseFormat>(GetApi().GetSparseTensorFormat, this->p_); }
  TensorTypeAndShapeInfo GetSparseTensorValuesTypeAndShapeInfo() const {
    return TensorTypeAndShapeInfo{
        Fetch<OrtTensorTypeAndShapeInfo*>(GetApi().GetSparseTensorValuesTypeAndShape, this->p_)};
  }
  TensorTypeAndShapeInfo GetSparseTensorIndicesTypeShapeInfo(OrtSparseIndicesFormat format) const {
    return TensorTypeAndShapeInfo{
        Fetch<OrtTensorTypeAndShapeInfo*>(GetApi().GetSparseTensorIndicesTypeShape, this->p_, format)};
  }
  template <typename R>
  const R* GetSparseTensorIndicesData(OrtSparseIndicesFormat indices_format, size_t& num_indices) const {
    return static_cast<const R*>(
        Fetch<const void*>(GetApi().GetSparseTensorIndices, this->p_, indices_format, &num_indices));
  }
  template <typename R>
  const R* GetSparseTensorValues() const {
    return static_cast<const R*>(Fetch<const void*>(GetApi().GetSparseTensorValues, this->p_));
  }
#endif
};

template <typename T>
struct ValueImpl : ConstValueImpl<T> {
  using B = ConstValueImpl<T>;
  using B::B;

  template <typename R>
  R* GetTensorMutableData() {
    return static_cast<R*>(GetTensorMutableRawData());
  }
  void* GetTensorMutableRawData() { return Fetch<void*>(GetApi().GetTensorMutableData, this->p_); }
  // The element at an index for each dimension.
  template <typename R>
  R& At(const std::vector<int64_t>& location) {
    static_assert(!std::is_same<R, std::string>::value, "texts are read by GetStringTensorElement");
    return *static_cast<R*>(Fetch<void*>(GetApi().TensorAt, this->p_, location.data(), location.size()));
  }

  void FillStringTensor(const char* const* s, size_t s_len) {
    ThrowOnError(GetApi().FillStringTensor(this->p_, s, s_len));
  }
  void FillStringTensorElement(const char* s, size_t index) {
    ThrowOnError(GetApi().FillStringTensorElement(this->p_, s, index));
  }
  // Gives an element a length, and returns its bytes to be written.
  char* GetResizedStringTensorElementBuffer(size_t index, size_t buffer_length) {
    return Fetch<char*>(GetApi().GetResizedStringTensorElementBuffer, this->p_, index, buffer_length);
  }

#if !defined(DISABLE_SPARSE_TENSORS)
  // Indices that lie in memory of the program, which must outlive the value.
  void UseCooIndices(int64_t* indices_data, size_t indices_num) {
    ThrowOnError(GetApi().UseCooIndices(this->p_, indices_data, indices_num));
  }
  void UseCsrIndices(int64_t* inner_data, size_t inner_num, int64_t* outer_data, size_t outer_num) {
    ThrowOnError(GetApi().UseCsrIndices(this->p_, inner_data, inner_num, outer_data, outer_num));
  }
  void UseBlockSparseIndices(const Shape& indices_shape, int32_t* indices_data) {
    ThrowOnError(GetApi().UseBlockSparseIndices(this->p_, indices_shape.shape, indices_shape.shape_len, indices_data));
  }

  // Values and indices that are copied.
  void FillSparseTensorCoo(const OrtMemoryInfo* data_mem_info, const OrtSparseValuesParam& values_param,
                           const int64_t* indices_data, size_t indices_num) {
    ThrowOnError(GetApi().FillSparseTensorCoo(this->p_, data_mem_info, values_param.values_shape,
                                              values_param.values_shape_len, values_param.data.p_data, indices_data,
                                              indices_num));
  }
  void FillSparseTensorCsr(const OrtMemoryInfo* data_mem_info, const OrtSparseValuesParam& values,
                           const int64_t* inner_indices_data, size_t inner_indices_num,
                           const int64_t* outer_indices_data, size_t outer_indices_num) {
    ThrowOnError(GetApi().FillSparseTensorCsr(this->p_, data_mem_info, values.values_shape, values.values_shape_len,
                                              values.data.p_data, inner_indices_data, inner_indices_num,
                                              outer_indices_data, outer_indices_num));
  }
  void FillSparseTensorBlockSparse(const OrtMemoryInfo* data_mem_info, const OrtSparseValuesParam& values,
                                   const Shape& indices_shape, const int32_t* indices_data) {
    ThrowOnError(GetApi().FillSparseTensorBlockSparse(this->p_, data_mem_info, values.values_shape,
                                                      values.values_shape_len, values.data.p_data, indices_shape.shape,
                                                      indices_shape.shape_len, indices_data));
  }
#endif
};

}  // namespace detail

using ConstValue = detail::ConstValueImpl<detail::Unowned<const OrtValue>>;
using UnownedValue = detail::ValueImpl<detail::Unowned<OrtValue>>;

struct Value : detail::ValueImpl<OrtValue> {
  using Base = detail::ValueImpl<OrtValue>;
  using Base::Base;
  using OrtSparseValuesParam = detail::OrtSparseValuesParam;
  using Shape = detail::Shape;

  Value(std::nullptr_t) {}
  Value(Value&&) = default;
  Value& operator=(Value&&) = default;

  ConstValue GetConst() const { return ConstValue{this->p_}; }
  UnownedValue GetUnowned() const { return UnownedValue{this->p_}; }

  // A tensor over memory of the program, which must outlive it.
  template <typename T>
  static Value CreateTensor(const OrtMemoryInfo* info, T* p_data, size_t p_data_element_count, const int64_t* shape,
                            size_t shape_len) {
    return CreateTensor(info, p_data, p_data_element_count * sizeof(T), shape, shape_len, TypeToTensorType<T>::type);
  }
  static Value CreateTensor(const OrtMemoryInfo* info, void* p_data, size_t p_data_byte_count, const int64_t* shape,
                            size_t shape_len, ONNXTensorElementDataType type) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateTensorWithDataAsOrtValue, info, p_data, p_data_byte_count,
                                          shape, shape_len, type)};
  }
  // A tensor that takes memory over: `deleter` frees it when the last use ends.
  static Value CreateTensor(OrtAllocator* deleter, void* p_data, size_t p_data_byte_count, const int64_t* shape,
                            size_t shape_len, ONNXTensorElementDataType type) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateTensorWithDataAndDeleterAsOrtValue, deleter, p_data,
                                          p_data_byte_count, shape, shape_len, type)};
  }
  // A tensor in memory of an allocator.
  template <typename T>
  static Value CreateTensor(OrtAllocator* allocator, const int64_t* shape, size_t shape_len) {
    return CreateTensor(allocator, shape, shape_len, TypeToTensorType<T>::type);
  }
  static Value CreateTensor(OrtAllocator* allocator, const int64_t* shape, size_t shape_len,
                            ONNXTensorElementDataType type) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateTensorAsOrtValue, allocator, shape, shape_len, type)};
  }

  static Value CreateMap(const Value& keys, const Value& values) {
    const OrtValue* both[] = {keys, values};
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateValue, both, size_t{2}, ONNX_TYPE_MAP)};
  }
  static Value CreateSequence(const std::vector<Value>& values) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateValue, detail::HandlesOf(values.data()), values.size(),
                                          ONNX_TYPE_SEQUENCE)};
  }
  template <typename T>
  static Value CreateOpaque(const char* domain, const char* type_name, const T& value) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateOpaqueValue, domain, type_name, &value, sizeof(T))};
  }

#if !defined(DISABLE_SPARSE_TENSORS)
  template <typename T>
  static Value CreateSparseTensor(const OrtMemoryInfo* info, T* p_data, const Shape& dense_shape,
                                  const Shape& values_shape) {
    return CreateSparseTensor(info, p_data, dense_shape, values_shape, TypeToTensorType<T>::type);
  }
  static Value CreateSparseTensor(const OrtMemoryInfo* info, void* p_data, const Shape& dense_shape,
                                  const Shape& values_shape, ONNXTensorElementDataType type) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateSparseTensorWithValuesAsOrtValue, info, p_data,
                                          dense_shape.shape, dense_shape.shape_len, values_shape.shape,
                                          values_shape.shape_len, type)};
  }
  template <typename T>
  static Value CreateSparseTensor(OrtAllocator* allocator, const Shape& dense_shape) {
    return CreateSparseTensor(allocator, dense_shape, TypeToTensorType<T>::type);
  }
  static Value CreateSparseTensor(OrtAllocator* allocator, const Shape& dense_shape, ONNXTensorElementDataType type) {
    return Value{detail::Fetch<OrtValue*>(GetApi().CreateSparseTensorAsOrtValue, allocator, dense_shape.shape,
                                          dense_shape.shape_len, type)};
  }
#endif
};

namespace detail {
template <typename T>
Value ConstValueImpl<T>::GetValue(int index, OrtAllocator* allocator) const {
  return Value{Fetch<OrtValue*>(GetApi().GetValue, this->p_, index, allocator)};
}
}  // namespace detail

}  // namespace Ort
