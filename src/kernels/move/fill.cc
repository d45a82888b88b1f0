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
  const auto write = [&](size_t begin, size_t end, size_t from, size_t to) {  // of the kept bytes
    std::byte* const out = static_cast<std::byte*>(y) + begin * row_bytes;
    const std::byte* const in = static_cast<const std::byte*>(x) + begin * row_bytes;
    const size_t bytes = (end - begin) * row_bytes;
    if (from != 0) std::memset(out, 0, from);
    if (x != y && to > from) std::memcpy(out + from, in + from, to - from);
    if (to != bytes) std::memset(out + to, 0, bytes - to);
  };
  const auto task = [&](size_t begin, size_t end) {
    for (size_t row = begin, next; row < end; row = next) {
      // The kept columns are [from, to); `edge` is where column - row crosses the diagonal. Nothing overflows:
      // |diagonal| is limited first, since all values beyond the matrix are equivalent.
      const auto size = int64_t(a.rows + a.columns), columns = int64_t(a.columns);
      const int64_t edge = int64_t(row % a.rows) + std::clamp(a.diagonal, -size, size) + (a.upper ? 0 : 1);
      // Rows beside the diagonal are kept together, or are all zeros.
      const size_t last = std::min(end, row + a.rows - row % a.rows);
      next = edge >= columns ? last : edge < 0 ? std::min(last, row + size_t(-edge)) : row + 1;
      const size_t at = size_t(std::clamp<int64_t>(edge, 0, columns)) * a.element_size;
      if (edge < 0 || edge >= columns)
        write(row, next, 0, a.upper == (edge < 0) ? (next - row) * row_bytes : 0);
      else
        write(row, next, a.upper ? at : 0, a.upper ? row_bytes : at);
    }
  };
  for_chunks(par, a.batch * a.rows, task, std::max<size_t>(1, kChunk / a.columns));
}

}  // namespace retort::kernels
