#include "ops/math/bitwise.h"

#include <cstring>

namespace retort::ops {
namespace {

constexpr size_t kPart = 64;  ///< bytes; a copy of each becomes vectors, wherever the others are

/// y = a op b. The output may be one of the inputs.
template <typename F>
void combine(const uint8_t* a, const uint8_t* b, bool repeats_b, uint8_t* y, size_t bytes, const F& f) {
  uint8_t part[kPart], other[kPart];
  for (size_t i = 0; i < bytes; i += kPart) {
    const size_t n = std::min(kPart, bytes - i);
    const uint8_t* const from = repeats_b ? b : b + i;
    if (n == kPart) {
      std::memcpy(part, a + i, kPart);
      std::memcpy(other, from, kPart);
      for (size_t k = 0; k < kPart; ++k) part[k] = f(part[k], other[k]);
      std::memcpy(y + i, part, kPart);
    } else {
      for (size_t k = 0; k < n; ++k) y[i + k] = f(a[i + k], from[k]);
    }
  }
}

template <typename F>
void combine_all(RunContext& c, const F& f) {
  const size_t size = dtype_bits(c.dtype(0)) / 8;
  const auto *a = static_cast<const uint8_t*>(c.data(0)), *b = static_cast<const uint8_t*>(c.data(1));
  auto* const y = static_cast<uint8_t*>(c.out_data());
  for_pair_runs(c, [&](const PairRun& r) {
    const uint8_t *many = a + r.a * size, *other = b + r.b * size;
    const bool repeats = r.n > 1 && r.a_step != r.b_step;
    if (repeats && r.a_step == 0) std::swap(many, other);
    uint8_t copies[kPart];  // of the one element
    for (size_t k = 0; repeats && k < std::min(kPart, r.n * size); k += size) std::memcpy(copies + k, other, size);
    combine(many, repeats ? copies : other, repeats, y + r.out * size, r.n * size, f);
  });
}

}  // namespace

void run_bits(BitOp op, RunContext& c) {
  using Byte = uint8_t;
  if (op == BitOp::bit_and) return combine_all(c, [](Byte a, Byte b) { return Byte(a & b); });
  if (op == BitOp::bit_or) return combine_all(c, [](Byte a, Byte b) { return Byte(a | b); });
  combine_all(c, [](Byte a, Byte b) { return Byte(a ^ b); });
}

}  // namespace retort::ops
