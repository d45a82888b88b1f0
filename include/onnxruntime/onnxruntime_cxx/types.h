// Part of onnxruntime_cxx_api.h: the types of values.
#pragma once
#include "calls.h"

namespace Ort {

struct TypeInfo;

namespace detail {
template <typename T>
struct TensorTypeAndShapeInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  ONNXTensorElementDataType GetElementType() const {
    return Fetch<ONNXTensorElementDataType>(GetApi().GetTensorElementType, this->p_);
  }
  size_t GetElementCount() const { return Fetch<size_t>(GetApi().GetTensorShapeElementCount, this->p_); }
  size_t GetDimensionsCount() const { return Fetch<size_t>(GetApi().GetDimensionsCount, this->p_); }
  // Whether the number of dimensions is known.
  bool HasShape() const { return GetApi().TensorTypeAndShape_HasShape(this->p_); }

  [[deprecated("use GetShape()")]] void GetDimensions(int64_t* values, size_t values_count) const {
    ThrowOnError(GetApi().GetDimensions(this->p_, values, values_count));
  }
  // Names of dimensions, owned by this object; empty where a dimension has none.
  void GetSymbolicDimensions(const char** values, size_t values_count) const {
    ThrowOnError(GetApi().GetSymbolicDimensions(this->p_, values, values_count));
  }
  std::vector<const char*> GetSymbolicDimensions() const {
    std::vector<const char*> names(GetDimensionsCount());
    GetSymbolicDimensions(names.data(), names.size());
    return names;
  }
  // -1 where a dimension is not known.
  std::vector<int64_t> GetShape() const {
    std::vector<int64_t> shape(GetDimensionsCount());
    ThrowOnError(GetApi().GetDimensions(this->p_, shape.data(), shape.size()));
    return shape;
  }
};
}  // namespace detail

using ConstTensorTypeAndShapeInfo =
    detail::TensorTypeAndShapeInfoImpl<detail::Unowned<const OrtTensorTypeAndShapeInfo>>;

struct TensorTypeAndShapeInfo : detail::TensorTypeAndShapeInfoImpl<OrtTensorTypeAndShapeInfo> {
  using Base = detail::TensorTypeAndShapeInfoImpl<OrtTensorTypeAndShapeInfo>;
  using Base::Base;

  explicit TensorTypeAndShapeInfo(std::nullptr_t) {}
  explicit TensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* p) : Base(p) {}
  // `symbolic_dims`, if given, has one name for each dimension.
  explicit TensorTypeAndShapeInfo(ONNXTensorElementDataType element_type, const std::vector<int64_t>& dims,
                                  const std::vector<std::string>* symbolic_dims = nullptr) {
    ThrowOnError(GetApi().CreateTensorTypeAndShapeInfo(&p_));
    ThrowOnError(GetApi().SetTensorElementType(p_, element_type));
    ThrowOnError(GetApi().SetDimensions(p_, dims.data(), dims.size()));
    if (!symbolic_dims) return;
    std::vector<const char*> names = detail::Pointers(*symbolic_dims);
    ThrowOnError(GetApi().SetSymbolicDimensions(p_, names.data(), names.size()));
  }

  ConstTensorTypeAndShapeInfo GetConst() const { return ConstTensorTypeAndShapeInfo{this->p_}; }
};

namespace detail {
template <typename T>
struct SequenceTypeInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;
  TypeInfo GetSequenceElementType() const;
};

template <typename T>
struct OptionalTypeInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;
  TypeInfo GetOptionalElementType() const;
};

template <typename T>
struct MapTypeInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;
  ONNXTensorElementDataType GetMapKeyType() const {
    return Fetch<ONNXTensorElementDataType>(GetApi().GetMapKeyType, this->p_);
  }
  TypeInfo GetMapValueType() const;
};
}  // namespace detail

using ConstSequenceTypeInfo = detail::SequenceTypeInfoImpl<detail::Unowned<const OrtSequenceTypeInfo>>;
using ConstOptionalTypeInfo = detail::OptionalTypeInfoImpl<detail::Unowned<const OrtOptionalTypeInfo>>;
using ConstMapTypeInfo = detail::MapTypeInfoImpl<detail::Unowned<const OrtMapTypeInfo>>;

struct SequenceTypeInfo : detail::SequenceTypeInfoImpl<OrtSequenceTypeInfo> {
  using Base = detail::SequenceTypeInfoImpl<OrtSequenceTypeInfo>;
  using Base::Base;
  explicit SequenceTypeInfo(std::nullptr_t) {}
  explicit SequenceTypeInfo(OrtSequenceTypeInfo* p) : Base(p) {}
  ConstSequenceTypeInfo GetConst() const { return ConstSequenceTypeInfo{this->p_}; }
};

struct MapTypeInfo : detail::MapTypeInfoImpl<OrtMapTypeInfo> {
  using Base = detail::MapTypeInfoImpl<OrtMapTypeInfo>;
  using Base::Base;
  explicit MapTypeInfo(std::nullptr_t) {}
  explicit MapTypeInfo(OrtMapTypeInfo* p) : Base(p) {}
  ConstMapTypeInfo GetConst() const { return ConstMapTypeInfo{this->p_}; }
};

namespace detail {
template <typename T>
struct TypeInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // The part for the kind of type that GetONNXType() tells, owned by this object; empty for another kind.
  ConstTensorTypeAndShapeInfo GetTensorTypeAndShapeInfo() const {
    return ConstTensorTypeAndShapeInfo{
        Fetch<const OrtTensorTypeAndShapeInfo*>(GetApi().CastTypeInfoToTensorInfo, this->p_)};
  }
  ConstSequenceTypeInfo GetSequenceTypeInfo() const {
    return ConstSequenceTypeInfo{Fetch<const OrtSequenceTypeInfo*>(GetApi().CastTypeInfoToSequenceTypeInfo, this->p_)};
  }
  ConstMapTypeInfo GetMapTypeInfo() const {
    return ConstMapTypeInfo{Fetch<const OrtMapTypeInfo*>(GetApi().CastTypeInfoToMapTypeInfo, this->p_)};
  }
  ConstOptionalTypeInfo GetOptionalTypeInfo() const {
    return ConstOptionalTypeInfo{Fetch<const OrtOptionalTypeInfo*>(GetApi().CastTypeInfoToOptionalTypeInfo, this->p_)};
  }
  ONNXType GetONNXType() const { return Fetch<ONNXType>(GetApi().GetOnnxTypeFromTypeInfo, this->p_); }
};
}  // namespace detail

using ConstTypeInfo = detail::TypeInfoImpl<detail::Unowned<const OrtTypeInfo>>;

struct TypeInfo : detail::TypeInfoImpl<OrtTypeInfo> {
  using Base = detail::TypeInfoImpl<OrtTypeInfo>;
  using Base::Base;
  explicit TypeInfo(std::nullptr_t) {}
  explicit TypeInfo(OrtTypeInfo* p) : Base(p) {}

#if !defined(ORT_MINIMAL_BUILD)
  static TypeInfo CreateTensorInfo(ConstTensorTypeAndShapeInfo tensor_info) {
    return TypeInfo{detail::Fetch<OrtTypeInfo*>(GetModelEditorApi().CreateTensorTypeInfo, tensor_info)};
  }
  static TypeInfo CreateSparseTensorInfo(ConstTensorTypeAndShapeInfo sparse_tensor_info) {
    return TypeInfo{detail::Fetch<OrtTypeInfo*>(GetModelEditorApi().CreateSparseTensorTypeInfo, sparse_tensor_info)};
  }
  static TypeInfo CreateSequenceTypeInfo(ConstTypeInfo sequence_type) {
    return TypeInfo{detail::Fetch<OrtTypeInfo*>(GetModelEditorApi().CreateSequenceTypeInfo, sequence_type)};
  }
  static TypeInfo CreateMapTypeInfo(ONNXTensorElementDataType key_type, ConstTypeInfo value_type) {
    return TypeInfo{detail::Fetch<OrtTypeInfo*>(GetModelEditorApi().CreateMapTypeInfo, key_type, value_type)};
  }
  static TypeInfo CreateOptionalTypeInfo(ConstTypeInfo contained_type) {
    return TypeInfo{detail::Fetch<OrtTypeInfo*>(GetModelEditorApi().CreateOptionalTypeInfo, contained_type)};
  }
#endif

  ConstTypeInfo GetConst() const { return ConstTypeInfo{this->p_}; }
};

namespace detail {
template <typename T>
TypeInfo SequenceTypeInfoImpl<T>::GetSequenceElementType() const {
  return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().GetSequenceElementType, this->p_)};
}
template <typename T>
TypeInfo OptionalTypeInfoImpl<T>::GetOptionalElementType() const {
  return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().GetOptionalContainedTypeInfo, this->p_)};
}
template <typename T>
TypeInfo MapTypeInfoImpl<T>::GetMapValueType() const {
  return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().GetMapValueType, this->p_)};
}
}  // namespace detail

}  // namespace Ort
