#include "kernels/move/fill.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/chunks.h"
#include "kernels/move/index.h"

namespace retort::kernels {

void fill(const Mover& mover, const void* value, void* y, size_t n, const Parallel& par) {
  for_chunks(mover.allowed(par), n,
             [&](size_t begin, size_t end) { mover.strided(mover.at(y, ptrdiff_t(begin)), 1, value, 0, end - begin); });
}

void one_hot(const Mover& mover, const OneHot& a, void* y, const Parallel& par) {
  fill(mover, a.off, y, a.outer * a.depth * a.inner, par);
  for (size_t n = 0; n < a.outer * a.inner; ++n) {
    const int64_t d = wrap_index(a.indices[n], int64_t(a.depth));
    if (d >= 0)
      mover.copy(mover.at(y, ptrdiff_t((n / a.inner * a.depth + size_t(d)) * a.inner + n % a.inner)), a.on, 1);
  }
}

void triangle(const Triangle& a, const void* x, void* y, const Parallel& par) noexcept {
  if (a.columns == 0) return;
  const size_t row_bytes = a.columns * a.element_size;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      // The kept columns are [from, to); `edge` is where column - row crosses the diagonal. Nothing overflows:
      // |diagonal| is limited first, since all values beyond the matrix are equivalent.
      const int64_t size = int64_t(a.rows + a.columns);
      const int64_t edge = int64_t(row % a.rows) + std::clamp(a.diagonal, -size, size) + (a.upper ? 0 : 1);
      const size_t at = size_t(std::clamp<int64_t>(edge, 0, int64_t(a.columns))) * a.element_size;
      const size_t from = a.upper ? at : 0, to = a.upper ? row_bytes : at;
      std::byte* const out = static_cast<std::byte*>(y) + row * row_bytes;
      const std::byte* const in = static_cast<const std::byte*>(x) + row * row_bytes;
      std::memset(out, 0, from);
      if (x != y) std::memcpy(out + from, in + from, to - from);
      std::memset(out + to, 0, row_bytes - to);
    }
  };
  for_chunks(par, a.batch * a.rows, task, std::max<size_t>(1, kChunk / a.columns));
}

}  // namespace retort::kernels
