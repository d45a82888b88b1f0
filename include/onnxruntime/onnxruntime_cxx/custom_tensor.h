// Part of onnxruntime_lite_custom_op.h: the arguments that the function of a custom operator takes.
#pragma once
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

#include "../onnxruntime_cxx_api.h"

namespace Ort {
namespace Custom {

// An input or output of the run that `ctx` describes, by its number.
class ArgBase {
 public:
  ArgBase(OrtKernelContext* ctx, size_t indice, bool is_input) : ctx_(ctx), indice_(indice), is_input_(is_input) {}
  virtual ~ArgBase() = default;

 protected:
  KernelContext ctx_;
  size_t indice_;
  bool is_input_;
};

using ArgPtr = std::unique_ptr<ArgBase>;
using ArgPtrs = std::vector<ArgPtr>;

// A tensor. An output has a shape, and converts to true, once it is allocated.
class TensorBase : public ArgBase {
 public:
  using ArgBase::ArgBase;

  operator bool() const { return shape_.has_value(); }
  const std::vector<int64_t>& Shape() const {
    if (!shape_) ORT_CXX_API_THROW("Ort::Custom::Tensor: an output has no shape before it is allocated", ORT_FAIL);
    return *shape_;
  }
  ONNXTensorElementDataType Type() const { return type_; }
  int64_t NumberOfElement() const {
    return shape_ ? std::accumulate(shape_->begin(), shape_->end(), int64_t{1}, std::multiplies<int64_t>()) : 0;
  }
  // Every extent is followed by a comma and a blank: "2, 3, ".
  std::string Shape2Str() const {
    if (!shape_) return "empty";
    std::string text;
    for (const int64_t extent : *shape_) text += std::to_string(extent) + ", ";
    return text;
  }
  bool IsCpuTensor() const { return std::strcmp(mem_type_, "Cpu") == 0; }

  virtual const void* DataRaw() const = 0;
  virtual size_t SizeInBytes() const = 0;

 protected:
  // The input, whose type and shape this object gets.
  ConstValue ReadInput() {
    if (indice_ >= ctx_.GetInputCount()) {
      ORT_CXX_API_THROW("Ort::Custom::Tensor: the node has no input " + std::to_string(indice_), ORT_INVALID_ARGUMENT);
    }
    const ConstValue input = ctx_.GetInput(indice_);
    const TensorTypeAndShapeInfo info = input.GetTensorTypeAndShapeInfo();
    type_ = info.GetElementType();
    shape_ = info.GetShape();
    return input;
  }
  void CheckScalar(size_t elements) const {
    if (elements != 1) {
      ORT_CXX_API_THROW("Ort::Custom::Tensor: the argument is one element, and the tensor has shape " + Shape2Str(),
                        ORT_RUNTIME_EXCEPTION);
    }
  }

  std::optional<std::vector<int64_t>> shape_;
  ONNXTensorElementDataType type_ = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  const char* mem_type_ = "Cpu";
};

using TensorPtr = std::unique_ptr<TensorBase>;
using TensorPtrs = std::vector<TensorPtr>;

// The elements of a tensor with one dimension.
template <typename T>
struct Span {
  const T* data_ = {};
  size_t size_ = {};

  void Assign(const T* data, size_t size) {
    data_ = data;
    size_ = size;
  }
  size_t size() const { return size_; }
  T operator[](size_t indice) const { return data_[indice]; }
  const T* data() const { return data_; }
};

template <typename T>
class Tensor : public TensorBase {
 public:
  using TT = typename std::remove_reference<T>::type;

  Tensor(OrtKernelContext* ctx, size_t indice, bool is_input) : TensorBase(ctx, indice, is_input) {
    if (is_input_) input_ = ReadInput();
  }

  const TT* Data() const { return input_.template GetTensorData<TT>(); }
  // The elements of an output with this shape. A second call returns the same ones.
  TT* Allocate(const std::vector<int64_t>& shape) {
    if (!data_) data_ = ctx_.GetOutput(indice_, shape).template GetTensorMutableData<TT>();
    shape_ = shape;
    return data_;
  }
  static TT GetT() { return TT(0); }

  const Span<T>& AsSpan() {
    if (!shape_ || shape_->size() != 1) {
      ORT_CXX_API_THROW("Ort::Custom::Tensor: a span needs one dimension, and the tensor has shape " + Shape2Str(),
                        ORT_RUNTIME_EXCEPTION);
    }
    span_.Assign(Data(), static_cast<size_t>((*shape_)[0]));
    return span_;
  }
  const T& AsScalar() {
    CheckScalar(shape_ && shape_->size() == 1 ? static_cast<size_t>((*shape_)[0]) : 0);
    return *Data();
  }

  const void* DataRaw() const override { return Data(); }
  size_t SizeInBytes() const override { return sizeof(TT) * static_cast<size_t>(NumberOfElement()); }

 private:
  ConstValue input_;
  TT* data_{};
  Span<T> span_;
};

// What tensors of std::string and of std::string_view have in common.
template <typename T>
class TextTensor : public TensorBase {
 public:
  using strings = std::vector<std::string>;

  TextTensor(OrtKernelContext* ctx, size_t indice, bool is_input) : TensorBase(ctx, indice, is_input) {
    if (is_input_) ReadTexts(ReadInput());
  }

  const std::vector<T>& Data() const { return texts_; }
  const void* DataRaw() const override { return One().data(); }
  size_t SizeInBytes() const override { return One().size(); }
  void SetStringOutput(const strings& ss, const std::vector<int64_t>& dims) {
    shape_ = dims;
    const std::vector<const char*> pointers = detail::Pointers(ss);
    ctx_.GetOutput(indice_, dims).FillStringTensor(pointers.data(), pointers.size());
  }
  const Span<T>& AsSpan() {
    ORT_CXX_API_THROW("Ort::Custom::Tensor: there are no spans of texts; take the tensor", ORT_RUNTIME_EXCEPTION);
  }
  // std::string: by reference; std::string_view: by value.
  typename std::conditional<std::is_same<T, std::string>::value, const T&, T>::type AsScalar() { return One(); }

 private:
  const T& One() const {
    CheckScalar(texts_.size());
    return texts_[0];
  }

  void ReadTexts(ConstValue input) {
    const auto count = static_cast<size_t>(NumberOfElement());
    if (count == 0) return;
    characters_.resize(input.GetStringTensorDataLength());
    std::vector<size_t> begins(count);
    input.GetStringTensorContent(characters_.data(), characters_.size(), begins.data(), count);
    begins.push_back(characters_.size());
    for (size_t i = 0; i < count; ++i) texts_.emplace_back(characters_.data() + begins[i], begins[i + 1] - begins[i]);
  }

  std::vector<char> characters_;
  std::vector<T> texts_;
};

template <>
class Tensor<std::string> : public TextTensor<std::string> {
  using TextTensor::TextTensor;
};
template <>
class Tensor<std::string_view> : public TextTensor<std::string_view> {
 public:
  using string_views = std::vector<std::string_view>;
  using TextTensor::TextTensor;
};

// All inputs, or outputs, from one number on: the argument for a variadic one.
struct TensorArray : public ArgBase {
  TensorArray(OrtKernelContext* ctx, size_t start_indice, bool is_input) : ArgBase(ctx, start_indice, is_input) {
    if (!is_input) return;
    const size_t count = ctx_.GetInputCount();
    for (size_t i = start_indice; i < count; ++i) tensors_.push_back(Input(ctx, i));
  }

  template <typename T>
  T* AllocateOutput(size_t ith_output, const std::vector<int64_t>& shape) {
    auto tensor = std::make_unique<Tensor<T>>(ctx_.GetOrtKernelContext(), indice_ + ith_output, false);
    T* data = tensor->Allocate(shape);
    tensors_.push_back(std::move(tensor));
    return data;
  }
  Tensor<std::string>& AllocateStringTensor(size_t ith_output) {
    auto tensor = std::make_unique<Tensor<std::string>>(ctx_.GetOrtKernelContext(), indice_ + ith_output, false);
    Tensor<std::string>& output = *tensor;
    tensors_.push_back(std::move(tensor));
    return output;
  }
  size_t Size() const { return tensors_.size(); }
  const TensorPtr& operator[](size_t ith_input) const { return tensors_.at(ith_input); }

 private:
  // An input as a tensor of the type that it has.
  TensorPtr Input(OrtKernelContext* ctx, size_t i) const {
    const ONNXTensorElementDataType type = ctx_.GetInput(i).GetTensorTypeAndShapeInfo().GetElementType();
    TensorPtr tensor;
    TryTypes<bool, float, double, Float16_t, BFloat16_t, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
             uint64_t>(type, ctx, i, tensor);
    if (!tensor && type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      tensor = std::make_unique<Tensor<std::string>>(ctx, i, true);
    }
    if (!tensor) {
      ORT_CXX_API_THROW("Ort::Custom::TensorArray: input " + std::to_string(i) + " has element type " +
                            std::to_string(type) + ", which no Ort::Custom::Tensor has",
                        ORT_RUNTIME_EXCEPTION);
    }
    return tensor;
  }
  template <typename... Ts>
  static void TryTypes(ONNXTensorElementDataType type, OrtKernelContext* ctx, size_t i, TensorPtr& tensor) {
    const auto try_one = [&](ONNXTensorElementDataType one, auto make) {
      if (type == one) tensor = make();
    };
    (try_one(TypeToTensorType<Ts>::type, [&] { return std::make_unique<Tensor<Ts>>(ctx, i, true); }), ...);
  }

  TensorPtrs tensors_;
};

using Variadic = TensorArray;

}  // namespace Custom
}  // namespace Ort
