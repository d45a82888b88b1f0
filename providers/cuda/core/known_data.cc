#include "known_data.h"

#include <bit>
#include <cmath>

namespace providers::cuda {
namespace {

float half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float sign = bits & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(mantissa + 1024), exponent - 25) : std::ldexp(float(mantissa), -24));
}

// Rounds to nearest even.
uint16_t half_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return uint16_t(sign | 0x7e00);
  const double size = std::abs(value);
  if (size >= 65520) return uint16_t(sign | 0x7c00);
  int exponent = 0;
  std::frexp(size, &exponent);  // size = f * 2^exponent, 0.5 <= f < 1
  const int lowest = size == 0 ? -24 : std::max(exponent - 11, -24);
  const auto units = int(std::nearbyint(std::ldexp(size, -lowest)));  // at most 2048
  if (lowest == -24) return uint16_t(sign | units);                   // the exponent's bits follow by the carry
  return uint16_t(sign | (((lowest + 24) << 10) + units));
}

float bfloat_value(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t bfloat_bits(double value) {
  const auto b = std::bit_cast<uint32_t>(float(value));
  if (std::isnan(value)) return uint16_t((b >> 16) | 0x40);
  return uint16_t((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

/// Calls `with` with a value of the type in which elements are stored.
template <typename F>
bool for_type(Type type, F&& with) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return with(uint8_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return with(int8_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return with(uint8_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return with(int16_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return with(uint16_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return with(int32_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return with(uint32_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return with(int64_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return with(uint64_t{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return with(float{}), true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return with(double{}), true;
    default:
      return false;
  }
}

}  // namespace

std::shared_ptr<const Known> load_known(const TensorView& tensor) {
  const size_t count = tensor.count();
  if (count > kMostKnown || (count && !tensor.data)) return nullptr;
  auto known = std::make_shared<Known>();
  if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 || tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16) {
    const bool half = tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    const auto* data = static_cast<const uint16_t*>(tensor.data);
    for (size_t i = 0; i < count; ++i) known->reals.push_back(half ? half_value(data[i]) : bfloat_value(data[i]));
    return known;
  }
  const bool numeric = for_type(tensor.type, [&](auto zero) {
    using T = decltype(zero);
    const auto* data = static_cast<const T*>(tensor.data);
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        known->reals.push_back(double(data[i]));
      else
        known->integers.push_back(int64_t(data[i]));
    }
  });
  return numeric ? known : nullptr;
}

void store_known(const Known& known, Type type, void* to) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16) {
    auto* data = static_cast<uint16_t*>(to);
    const bool half = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    for (const double v : known.reals) *data++ = half ? half_bits(v) : bfloat_bits(v);
    return;
  }
  const bool numeric = for_type(type, [&](auto zero) {
    using T = decltype(zero);
    auto* data = static_cast<T*>(to);
    if constexpr (std::is_floating_point_v<T>)
      for (const double v : known.reals) *data++ = T(v);
    else
      for (const int64_t v : known.integers) *data++ = T(v);
  });
  if (!numeric) throw Error(text("no numbers can be stored as ", name_of(type)));
}

}  // namespace providers::cuda
