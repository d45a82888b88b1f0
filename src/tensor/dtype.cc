#include "tensor/dtype.h"

#include <array>

#include "base/checked.h"

namespace retort {
namespace {

struct Row {
  std::string_view name;
  uint16_t bits;
};
constexpr std::array<Row, kDTypeCount> kRows{
    {{"undefined", 0},      {"float32", 32},   {"uint8", 8},
     {"int8", 8},           {"uint16", 16},    {"int16", 16},
     {"int32", 32},         {"int64", 64},     {"string", 8 * sizeof(std::string)},
     {"bool", 8},           {"float16", 16},   {"float64", 64},
     {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
     {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
     {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
     {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
     {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2}}};

}  // namespace

std::string_view dtype_name(DType type) { return size_t(type) < kRows.size() ? kRows[size_t(type)].name : "unknown"; }
size_t dtype_bits(DType type) { return size_t(type) < kRows.size() ? kRows[size_t(type)].bits : 0; }

size_t dtype_bytes(DType type, size_t count) {
  const size_t bits = dtype_bits(type);
  if (bits >= 8) return checked_mul(count, bits / 8, "tensor size in bytes");
  const size_t per_byte = bits ? 8 / bits : 1;
  return bits ? ceil_div(count, per_byte) : 0;
}

}  // namespace retort
