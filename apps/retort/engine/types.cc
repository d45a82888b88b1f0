// Element types: names and sizes.
#include <array>

#include "engine/engine.h"

namespace retort::cli {
namespace {

struct TypeRow {
  const char* name;
  size_t bits;
};
/// By the numbers of ONNXTensorElementDataType.
constexpr std::array<TypeRow, 27> kTypes{
    {{"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
     {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
     {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
     {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
     {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"uint2", 2},
     {"int2", 2},           {"float8e8m0", 8}}};

}  // namespace

const char* type_name(ONNXTensorElementDataType type) {
  return size_t(type) < kTypes.size() ? kTypes[size_t(type)].name : "other";
}

size_t type_bits(ONNXTensorElementDataType type) {
  return size_t(type) < kTypes.size() ? kTypes[size_t(type)].bits : 0;
}

size_t HostTensor::count() const {
  size_t n = 1;
  for (const int64_t d : shape) {
    if (d < 0 || __builtin_mul_overflow(n, size_t(d), &n)) throw Failure("the shape of a tensor makes no sense");
  }
  return n;
}

size_t HostTensor::size() const {
  size_t bits = 0;
  if (__builtin_mul_overflow(count(), type_bits(type), &bits)) throw Failure("the shape of a tensor makes no sense");
  return bits / 8 + (bits % 8 != 0);
}

}  // namespace retort::cli
