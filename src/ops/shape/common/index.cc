#include "ops/shape/common/index.h"

#include "base/error.h"

namespace retort::ops {

void check(const std::optional<kernels::BadIndex>& bad) {
  if (bad)
    fail(ErrorCode::invalid_argument, "index {} at position {} is outside [-{}, {}) of its axis", bad->index,
         bad->position, bad->extent, bad->extent);
}

kernels::TupleIndices tuple_indices(const RunContext& c, size_t batch) {
  const Shape &x = c.shape(0), &shape = c.shape(1);
  kernels::TupleIndices t;
  t.batches = size_t(extent_product(shape, 0, batch));
  t.tuples = size_t(extent_product(shape, batch, shape.rank() - 1));
  t.depth = size_t(shape.back());
  for (size_t d = 0; d < t.depth; ++d) t.extents[d] = x[batch + d];
  t.slice = size_t(extent_product(x, batch + t.depth, x.rank()));
  return t;
}

size_t check_tuples(InferContext& c, size_t batch) {
  const Shape &x = c.shape(0), &indices = c.shape(1);
  bool good = x.rank() >= 1 && indices.rank() >= 1 && batch < std::min(x.rank(), indices.rank());
  for (size_t d = 0; good && d < batch; ++d) good = is_symbolic(x[d]) || is_symbolic(indices[d]) || x[d] == indices[d];
  if (good && is_symbolic(indices.back())) throw NotYetKnown{};
  if (!good || indices.back() > int64_t(x.rank() - batch))
    fail(ErrorCode::invalid_argument, "indices of shape {} do not match data of shape {} with {} batch axes",
         c.dims().text(indices), c.dims().text(x), batch);
  require(indices.back() <= int64_t(kernels::TupleIndices::kMaxDepth), ErrorCode::not_implemented,
          "index tuples have {} elements, expected at most {}; remove axes of extent 1, or use a Reshape",
          indices.back(), kernels::TupleIndices::kMaxDepth);
  return size_t(indices.back());
}

void check_elements(InferContext& c, size_t axis) {
  const Shape &x = c.shape(0), &indices = c.shape(1);
  bool good = x.rank() == indices.rank();
  for (size_t d = 0; good && d < x.rank(); ++d)
    good = d == axis || is_symbolic(x[d]) || is_symbolic(indices[d]) || indices[d] <= x[d];
  if (!good)
    fail(ErrorCode::invalid_argument, "indices of shape {} exceed data of shape {}", c.dims().text(indices),
         c.dims().text(x));
}

}  // namespace retort::ops
