// Gather and scatter of elements, rows and slices; index.h describes valid indices. All functions return the first bad
// index; the output is then unspecified. I is int32_t or int64_t. No allocation (except for strings); the data may not
// overlap the output.
#pragma once
#include <span>

#include "base/parallel.h"
#include "kernels/move/index.h"
#include "kernels/move/mover.h"

namespace retort::kernels {

/// x: [outer, extent, inner] → y: [outer, count, inner], y[o, k] = x[o, indices[k]]. The elements of a y[o, k] are
/// contiguous, and each y[o, k] begins out_step elements after the previous one. x may have any address.
struct GatherArgs {
  size_t outer = 1;
  int64_t extent = 0;
  size_t inner = 1;
  size_t count = 0;
  size_t out_step = inner;
};
template <typename I>
std::optional<BadIndex> gather(const Mover& mover, const GatherArgs& args, const void* x, const I* indices, void* y,
                               const Parallel& par);

/// y[n] = slice n of x.
template <typename I>
std::optional<BadIndex> gather_nd(const Mover& mover, const TupleIndices& tuples, const void* x, const I* indices,
                                  void* y);
/// y[slice n] = updates[n], in order: of equal tuples the last wins. y must already contain the data.
template <typename I>
std::optional<BadIndex> scatter_nd(const Mover& mover, const TupleIndices& tuples, const I* indices,
                                   const void* updates, void* y);

/// The index tensor of GatherElements and ScatterElements, and the tensor that it refers to.
struct ElementIndices {
  std::span<const int64_t> data;   ///< the shape of the data
  std::span<const int64_t> shape;  ///< of the index tensor
  size_t axis = 0;
};
template <typename I>
std::optional<BadIndex> gather_elements(const Mover& mover, const ElementIndices& elements, const void* x,
                                        const I* indices, void* y);
/// In order: of equal positions the last wins. y must already contain the data.
template <typename I>
std::optional<BadIndex> scatter_elements(const Mover& mover, const ElementIndices& elements, const I* indices,
                                         const void* updates, void* y);

}  // namespace retort::kernels
