#include "ops/nn/common/kv_cache.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/elementwise/cast.h"

namespace retort::ops {

// A scale of 0 has no steps to count; its codes mean 0 whatever they are.
int KvRows::code(size_t head, size_t i, float x) const {
  const float step = scale(head, i), steps = std::nearbyint(step != 0 ? x / step : x);
  const int least = nibbles() ? -8 : -128, most = nibbles() ? 7 : 127;
  if (!(steps < float(most))) return most;
  return steps < float(least) ? least : int(steps);
}

void KvRows::encode(size_t head, const float* x, std::byte* to) const {
  if (!scales) return kernels::cast(x, DType::f32, to, dtype, size, {});
  if (!nibbles()) {
    for (size_t i = 0; i < size; ++i) to[i] = std::byte(code(head, i, x[i]));
    return;
  }
  for (size_t i = 0; i < size; i += 2) {
    const int low = code(head, i, x[i]) + 8, high = i + 1 < size ? code(head, i + 1, x[i + 1]) + 8 : 0;
    to[i / 2] = std::byte(low | high << 4);
  }
}

void KvRows::decode(size_t head, const std::byte* from, size_t rows, float* to) const {
  if (!scales) return kernels::cast(from, dtype, to, DType::f32, rows * size, {});
  for (size_t row = 0; row < rows; ++row, from += row_bytes(), to += size) {
    for (size_t i = 0; i < size; ++i) {
      const int code = nibbles() ? int(from[i / 2] >> (i % 2 * 4) & std::byte(15)) - 8 : int(int8_t(from[i]));
      to[i] = float(code) * scale(head, i);
    }
  }
}

void KvCache::keep_past(std::span<const KvEntry> entries, const Parallel& parallel) const {
  if (past && past == work) return;
  parallel.for_each(entries.size() * heads, [&](size_t head, int) {
    const KvEntry& entry = entries[head / heads];
    const size_t kept = entry.before - entry.first, end = kept + entry.fresh;
    std::byte* to = at(work, rows, head, 0);
    if (kept > 0) std::copy_n(at(past, past_rows, head, 0), kept * form.row_bytes(), to);
    std::fill(to + end * form.row_bytes(), to + rows * form.row_bytes(), std::byte(0));
  });
}

const float* KvCache::floats(size_t b, size_t count, float* memory, const Parallel& parallel) const {
  if (form.dtype == DType::f32) return reinterpret_cast<const float*>(row(b, 0, 0));
  parallel.for_each(heads, [&](size_t h, int) { form.decode(h, row(b, h, 0), count, memory + h * rows * form.size); });
  return memory;
}

void KvCache::keep_window(std::span<const KvEntry> entries, size_t window, const Parallel& parallel) const {
  parallel.for_each(entries.size() * heads, [&](size_t head, int) {
    const KvEntry& entry = entries[head / heads];
    const size_t kept = resident_rows(entry.total, present_rows, window) * form.row_bytes();
    std::byte *to = at(present, present_rows, head, 0), *end = at(present, present_rows, head, present_rows);
    std::copy_n(at(work, rows, head, entry.rows()) - kept, kept, to);
    std::fill(to + kept, end, std::byte(0));
  });
}

size_t resident_rows(size_t total, size_t capacity, size_t window) {
  if (total <= capacity) return total;
  const size_t step = capacity - window + 1;
  return total - step * ceil_div(total - capacity, step);
}

}  // namespace retort::ops
