#include "ops/shape/common/element.h"

#include "base/error.h"
#include "kernels/move/copy.h"
#include "kernels/move/fill.h"

namespace retort::ops {

const kernels::Mover& mover_of(DType type) {
  if (type == DType::string) return kernels::string_mover();
  require(dtype_bits(type) >= 8, ErrorCode::not_implemented, "elements of type {} cannot be moved individually",
          dtype_name(type));
  return kernels::byte_mover(dtype_bits(type) / 8);
}

const void* zero(DType type) {
  static const std::string* const kEmpty = new std::string;
  static constexpr uint64_t kZero[2] = {};
  return type == DType::string ? static_cast<const void*>(kEmpty) : kZero;
}

void fill(DType type, const void* value, void* to, size_t count, const Parallel& parallel) {
  if (!is_packed(type)) return kernels::fill(mover_of(type), value ? value : zero(type), to, count, parallel);
  const size_t bits = dtype_bits(type);
  const uint8_t one = value ? get_packed(static_cast<const uint8_t*>(value), 0, bits) : 0;
  for (size_t i = 0; i < count; ++i) set_packed(static_cast<uint8_t*>(to), i, bits, one);
}

void copy(DType type, const void* from, void* to, size_t count, const Parallel& parallel) {
  if (count == 0) return;
  if (type == DType::string)
    kernels::string_mover().copy(to, from, count);
  else
    kernels::copy_bytes(to, from, dtype_bytes(type, count), parallel);
}

}  // namespace retort::ops
