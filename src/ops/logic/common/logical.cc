#include "ops/logic/logical.h"

namespace retort::ops {

void run_logic(kernels::Logic op, RunContext& c) {
  const bool *a = c.input<bool>(0).data(), *b = c.input<bool>(1).data();
  bool* y = c.output<bool>().data();
  if (const auto plan = kernels::BroadcastPlan<2>::make({c.shape(0), c.shape(1)}))
    return kernels::logic(op, a, b, y, *plan, c.parallel());
  const auto one = *kernels::BroadcastPlan<2>::make({});
  for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1), [&](size_t i, size_t ia, size_t ib) {
    kernels::logic(op, a + ia, b + ib, y + i, one, c.parallel());
  });
}

}  // namespace retort::ops
