#include "ops/elementwise.h"

#include "kernels/elementwise/broadcast.h"
#include "kernels/elementwise/chunks.h"

namespace retort::ops {

void for_each_broadcast(const Shape& out, const Shape& a, const Shape& b, FunctionRef<void(size_t, size_t, size_t)> f) {
  const size_t rank = out.rank(), total = element_count(out);
  Shape index;
  index.resize(rank);
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

void for_output_chunks(const RunContext& c, FunctionRef<void(size_t, size_t)> f) {
  kernels::for_chunks(c.parallel(), c.out_count(), [&](size_t begin, size_t end) { f(begin, end); });
}

void for_pair_runs(const RunContext& c, FunctionRef<void(const PairRun&)> f) {
  const auto plan = kernels::BroadcastPlan<2>::make({c.shape(0), c.shape(1)});
  if (!plan) {  // broadcasting alternates between too many axes: one element at a time
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1), [&](size_t out, size_t a, size_t b) {
      f({out, a, b, 1, 0, 0});
    });
    return;
  }
  kernels::for_chunks(c.parallel(), plan->count, [&](size_t begin, size_t end) {
    kernels::for_runs(*plan, begin, end, [&](size_t out, const std::array<size_t, 2>& at, size_t n) {
      f({out, at[0], at[1], n, plan->step(0), plan->step(1)});
    });
  });
}

}  // namespace retort::ops
