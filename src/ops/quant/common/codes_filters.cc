#include "ops/quant/common/codes_filters.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/chunks.h"

namespace retort::ops {
namespace {

void pack_filter(const kernels::Codes& w, int32_t zero, const FilterSizes& s, kernels::CodeRow& row, int8_t* to) {
  row = {.zero = zero};
  std::memset(to, zero, s.depth());
  const uint8_t flip = w.is_signed ? 0 : 0x80;
  for (size_t i = 0; i < s.channels; ++i) {
    for (size_t tap = 0; tap < s.taps; ++tap) to[s.place(i, tap)] = int8_t(*w.bytes(i * s.taps + tap) ^ flip);
  }
  uint32_t sum = 0;
  for (size_t i = 0; i < s.depth(); ++i) sum += uint32_t(int32_t(to[i]));
  row.sum = int32_t(sum);
}

}  // namespace

void pack_filters(const kernels::Codes& w, const kernels::Codes& zeros, const FilterSizes& s, const FilterCodes& to,
                  const Parallel& parallel) {
  const size_t size = s.channels * s.taps;
  const auto pack = [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o)
      pack_filter({w.bytes(o * size), w.is_signed}, kernels::zero_of_a(w, zeros[o]), s, to.rows[o],
                  to.codes + o * s.depth());
  };
  kernels::for_chunks(parallel, s.out_c, pack, std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, size)));
}

}  // namespace retort::ops
