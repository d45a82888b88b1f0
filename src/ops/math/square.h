// Operators on square matrices.
#pragma once
#include "ops/op.h"

namespace retort::ops {

/// The shape of input 0, [..., n, n]; throws invalid_argument if it is known to be another one.
inline const Shape& square_matrices(const InferContext& c) {
  const Shape& x = c.shape(0);
  const size_t rank = x.rank();
  require(rank >= 2 && may_equal(x[rank - 1], x[rank - 2]), ErrorCode::invalid_argument,
          "X has shape {}, expected square matrices", c.dims().text(x));
  return x;
}

}  // namespace retort::ops
