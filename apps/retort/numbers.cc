#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tensors.h"

namespace retort::cli {
namespace {

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

bool is_real(ONNXTensorElementDataType type) {
  return type_bytes(type) != 0 && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 &&
         type != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
}

double number(const HostTensor& tensor, size_t i) {
  const std::byte* at = tensor.bytes.data() + i * type_bytes(tensor.type);
  switch (tensor.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return load<float>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return load<double>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return double(load<_Float16>(at));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return std::bit_cast<float>(uint32_t(load<uint16_t>(at)) << 16);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return load<int8_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return load<int16_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return load<int32_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return double(load<int64_t>(at));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return load<uint8_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return load<uint16_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return load<uint32_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return double(load<uint64_t>(at));
    default:
      throw Failure(std::string(type_name(tensor.type)) + " is no type of real numbers");
  }
}

void set_number(HostTensor& tensor, size_t i, double value) {
  std::byte* at = tensor.bytes.data() + i * type_bytes(tensor.type);
  const auto integer = [&]<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    store(at, T(std::clamp(std::nearbyint(value), double(Limits::min()), double(Limits::max()))));
  };
  switch (tensor.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return store(at, float(value));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return store(at, value);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return store(at, _Float16(value));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return store(at, uint16_t((std::bit_cast<uint32_t>(float(value)) + 0x8000u) >> 16));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return integer(uint8_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return integer(int8_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return integer(uint16_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return integer(int16_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return integer(int32_t());
    default:
      throw Failure(std::string("a picture or sound cannot become elements of type ") + type_name(tensor.type));
  }
}

HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed) {
  HostTensor t;
  t.type = port.type;
  t.shape = shape.empty() ? port.shape : shape;
  for (int64_t& d : t.shape) d = d < 0 ? 1 : d;
  const size_t bytes = type_bytes(t.type);
  if (bytes == 0)
    throw Failure("input '" + port.name + "' of type " + type_name(t.type) + " must be given with --input");
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  t.bytes.resize(t.count() * bytes);
  for (std::byte *at = t.bytes.data(), *end = at + t.bytes.size(); at != end; at += bytes) {
    switch (t.type) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        store(at, normal(random));
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        store(at, double(normal(random)));
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
        store(at, _Float16(normal(random)));
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
        store(at, uint16_t(std::bit_cast<uint32_t>(normal(random)) >> 16));
        break;
      default:
        *at = std::byte(random() & 1);  // the low byte of an integer
    }
  }
  return t;
}

}  // namespace retort::cli
