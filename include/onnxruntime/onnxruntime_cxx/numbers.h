// Part of onnxruntime_cxx_api.h: numbers of 16 and 8 bits, and which element type a C++ type has in a tensor.
#pragma once
#include <cstdint>

#include "../onnxruntime_c_api.h"
#include "../onnxruntime_float16.h"

namespace Ort {

// Numbers of 16 bits. A tensor's memory may be read as either type; conversion from and to float is explicit.
#define RETORT_ORT_NUMBER_16(NAME, IMPL)                                                   \
  struct NAME : onnxruntime_float16::IMPL<NAME> {                                          \
    using Base = onnxruntime_float16::IMPL<NAME>;                                          \
    NAME() = default;                                                                      \
    explicit NAME(float v) noexcept { val = Base::ToUint16Impl(v); }                       \
    constexpr static NAME FromBits(uint16_t v) noexcept { return NAME(v, FromItsBits{}); } \
    float ToFloat() const noexcept { return Base::ToFloatImpl(); }                         \
    explicit operator float() const noexcept { return ToFloat(); }                         \
                                                                                           \
   private:                                                                                \
    struct FromItsBits {};                                                                 \
    constexpr NAME(uint16_t v, FromItsBits) noexcept { val = v; }                          \
  };                                                                                       \
  static_assert(sizeof(NAME) == sizeof(uint16_t), #NAME " has nothing but its bits");

RETORT_ORT_NUMBER_16(Float16_t, Float16Impl)
RETORT_ORT_NUMBER_16(BFloat16_t, BFloat16Impl)
#undef RETORT_ORT_NUMBER_16

// Numbers of 8 bits: their bits, without arithmetic. Two are equal if their bits are, whatever they mean.
#define RETORT_ORT_NUMBER_8(NAME)                                                            \
  struct NAME {                                                                              \
    uint8_t value;                                                                           \
    constexpr NAME() noexcept : value(0) {}                                                  \
    constexpr NAME(uint8_t v) noexcept : value(v) {}                                         \
    constexpr operator uint8_t() const noexcept { return value; }                            \
    constexpr bool operator==(const NAME& rhs) const noexcept { return value == rhs.value; } \
    constexpr bool operator!=(const NAME& rhs) const noexcept { return value != rhs.value; } \
  };                                                                                         \
  static_assert(sizeof(NAME) == sizeof(uint8_t), #NAME " has nothing but its bits");

RETORT_ORT_NUMBER_8(Float8E4M3FN_t)
RETORT_ORT_NUMBER_8(Float8E4M3FNUZ_t)
RETORT_ORT_NUMBER_8(Float8E5M2_t)
RETORT_ORT_NUMBER_8(Float8E5M2FNUZ_t)
#undef RETORT_ORT_NUMBER_8

// TypeToTensorType<T>::type is the element type of tensors of T.
template <typename T>
struct TypeToTensorType;

#define RETORT_ORT_ELEMENT(TYPE, NAME)                                                      \
  template <>                                                                               \
  struct TypeToTensorType<TYPE> {                                                           \
    static constexpr ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_##NAME; \
  };
RETORT_ORT_ELEMENT(float, FLOAT)
RETORT_ORT_ELEMENT(double, DOUBLE)
RETORT_ORT_ELEMENT(Float16_t, FLOAT16)
RETORT_ORT_ELEMENT(BFloat16_t, BFLOAT16)
RETORT_ORT_ELEMENT(int8_t, INT8)
RETORT_ORT_ELEMENT(int16_t, INT16)
RETORT_ORT_ELEMENT(int32_t, INT32)
RETORT_ORT_ELEMENT(int64_t, INT64)
RETORT_ORT_ELEMENT(uint8_t, UINT8)
RETORT_ORT_ELEMENT(uint16_t, UINT16)
RETORT_ORT_ELEMENT(uint32_t, UINT32)
RETORT_ORT_ELEMENT(uint64_t, UINT64)
RETORT_ORT_ELEMENT(bool, BOOL)
RETORT_ORT_ELEMENT(Float8E4M3FN_t, FLOAT8E4M3FN)
RETORT_ORT_ELEMENT(Float8E4M3FNUZ_t, FLOAT8E4M3FNUZ)
RETORT_ORT_ELEMENT(Float8E5M2_t, FLOAT8E5M2)
RETORT_ORT_ELEMENT(Float8E5M2FNUZ_t, FLOAT8E5M2FNUZ)
#undef RETORT_ORT_ELEMENT

}  // namespace Ort
