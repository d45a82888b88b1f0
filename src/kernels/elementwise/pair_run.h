// One run of a broadcast of two inputs: the argument of a binary kernel that is compiled per level.
#pragma once
#include <cstddef>

#include "base/parallel.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/elementwise/chunks.h"

namespace retort::kernels {

template <typename T, typename R = T>
struct PairRun {
  const T* a;
  size_t a_step;  ///< 1, or 0 if *a is repeated; at least one of both steps is 1
  const T* b;
  size_t b_step;
  R* y;
  size_t n;
};

/// Calls run(op, PairRun) for all runs of the plan, in chunks. `whole` has the starts of both inputs and of the output.
template <typename T, typename R, typename Op>
void spread_pairs(void (*run)(Op, const PairRun<T, R>&), Op op, const PairRun<T, R>& whole,
                  const BroadcastPlan<2>& plan, const Parallel& par) {
  if (plan.rank == 1) {  // one run: small models spend much of their time on finding it
    const size_t a = plan.step(0), b = plan.step(1);
    for_chunks(par, plan.count, [&](size_t begin, size_t end) {
      run(op, {whole.a + begin * a, a, whole.b + begin * b, b, whole.y + begin, end - begin});
    });
    return;
  }
  if (const ShortRuns runs(plan); runs.worth()) {
    const auto block = [&](const void* a, const void* b, size_t out, size_t n) {
      run(op, {static_cast<const T*>(a), 1, static_cast<const T*>(b), 1, whole.y + out, n});
    };
    return runs.run(whole.a, whole.b, sizeof(T), block, par);
  }
  const auto rows = [&](const PairRows& r) {
    PairRun<T, R> one{whole.a + r.starts[0], plan.step(0), whole.b + r.starts[1], plan.step(1), whole.y + r.out, r.n};
    for (size_t i = 0; i < r.rows; ++i, one.a += r.strides[0], one.b += r.strides[1], one.y += r.n) run(op, one);
  };
  for_pair_rows(plan, rows, par);
}

}  // namespace retort::kernels
