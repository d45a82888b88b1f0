#include "weights.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/sizes.h"

namespace onednn {
namespace {

constexpr size_t kAlignment = 64;

int64_t elements_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

void copy(const Desc& from, const Bytes& source, const Desc& to, const Bytes& target) {
  dnnl::memory a(from, engine(), source.get()), b(to, engine(), target.get());
  dnnl::stream stream(engine());
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Desc plain(const Dims& dims, DataType type) {
  if (dims.empty()) return {{1}, type, {1}};
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return {dims, type, strides};
}

DataType data_type(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return DataType::f32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return DataType::bf16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return DataType::s32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return DataType::s8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return DataType::u8;
    default:
      return DataType::undef;
  }
}

Bytes allocate(size_t bytes) {
  const size_t rounded = providers::round_up(std::max<size_t>(bytes, 1), kAlignment);
  char* memory = static_cast<char*>(std::aligned_alloc(kAlignment, rounded));
  if (!memory) throw std::bad_alloc();
  return Bytes(memory, [](char* p) { std::free(p); });
}

Weights::Weights(const providers::TensorView& tensor) : dims_(tensor.dims), type_(data_type(tensor.type)) {
  raw_ = allocate(tensor.bytes());
  if (tensor.bytes()) std::memcpy(raw_.get(), tensor.data, tensor.bytes());
  if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 || tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)
    integers_ = tensor.integers();
}

Weights::Weights(const Dims& dims, const std::vector<float>& values) : dims_(dims), type_(DataType::f32) {
  raw_ = allocate(values.size() * sizeof(float));
  std::memcpy(raw_.get(), values.data(), values.size() * sizeof(float));
}

// The model's layout, restored if it was freed.
Bytes Weights::source() {
  if (!raw_) {
    const Form& kept = forms_.front();
    raw_ = allocate(kept.view.get_size());
    copy(kept.desc, kept.memory, kept.view, raw_);
  }
  return raw_;
}

Bytes Weights::in(const Desc& form, const Desc& view) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (form == view) return source();
  for (const Form& known : forms_)
    if (known.desc == form && known.view == view) return known.memory;
  Form made{form, view, allocate(form.get_size())};
  copy(view, source(), form, made.memory);
  const bool whole = form.data_type() == type_ && form.data.extra.flags == dnnl_memory_extra_flag_none;
  forms_.insert(whole ? forms_.begin() : forms_.end(), made);
  if (whole) raw_.reset();
  return made.memory;
}

std::vector<float> Weights::values() {
  const Bytes memory = in(plain(dims_, DataType::f32), plain(dims_, type_));
  const float* first = reinterpret_cast<const float*>(memory.get());
  return {first, first + elements_of(dims_)};
}

}  // namespace onednn
