// Filling: constants, one-hot rows, triangles. No allocation (except for strings).
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/move/mover.h"

namespace retort::kernels {

/// n copies of the element at `value`.
void fill(const Mover& mover, const void* value, void* y, size_t n, const Parallel& par);

/// y: [outer, depth, inner], indices: [outer, inner]. y[o, d, i] = on where d = indices[o, i], otherwise off. A
/// negative index counts from the end; one that is out of range leaves its column off.
struct OneHot {
  size_t outer = 1, depth = 0, inner = 1;
  const int64_t* indices = nullptr;
  const void* off = nullptr;
  const void* on = nullptr;
};
void one_hot(const Mover& mover, const OneHot& args, void* y, const Parallel& par);

/// Matrices [batch, rows, columns]; upper keeps the elements with column - row >= diagonal, lower those with column -
/// row <= diagonal; the others become zero bytes. `element_size` is in bytes; y may be x.
struct Triangle {
  size_t batch = 1, rows = 0, columns = 0;
  int64_t diagonal = 0;
  bool upper = true;
  size_t element_size = 4;
};
void triangle(const Triangle& args, const void* x, void* y, const Parallel& par) noexcept;

}  // namespace retort::kernels
