// What elementwise operators share.
#pragma once
#include "ops/op.h"

namespace retort::ops {

/// One input, one output of the same type and shape; content is not propagated.
struct UnaryElementwise {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
  }
};

/// Calls f(output index, a index, b index) for every element of the broadcast of two inputs; for references.
template <typename F>
void for_each_broadcast(const Shape& out, const Shape& a, const Shape& b, F&& f) {
  const size_t rank = out.rank();
  Shape index;
  index.resize(rank);
  const size_t total = element_count(out);
  for (size_t i = 0; i < total; ++i) {
    size_t ia = 0, ib = 0;
    for (size_t d = 0; d < rank; ++d) {
      if (d + a.rank() >= rank) {
        const size_t e = d + a.rank() - rank;
        ia = ia * size_t(a[e]) + (a[e] == 1 ? 0 : size_t(index[d]));
      }
      if (d + b.rank() >= rank) {
        const size_t e = d + b.rank() - rank;
        ib = ib * size_t(b[e]) + (b[e] == 1 ? 0 : size_t(index[d]));
      }
    }
    f(i, ia, ib);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < out[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace retort::ops
