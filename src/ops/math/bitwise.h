// The family c = a op b of bits, with numpy broadcasting. The bits of all integers are combined byte by byte.
#pragma once
#include "ops/math/binary.h"

namespace retort::ops {

enum class BitOp { bit_and, bit_or, bit_xor };

/// Combines inputs 0 and 1, whose type is an integer.
void run_bits(BitOp op, RunContext& c);

/// `Op` also has `bits`, its BitOp.
template <typename Op>
struct Bitwise : Binary<Op> {
  template <std::integral T>
  requires OneOf<T, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>
  void fast(RunContext& c, std::type_identity<T>) const { run_bits(Op::bits, c); }
};

}  // namespace retort::ops
