#include "ops/logic/compare.h"

namespace retort::ops {

std::optional<Dim> always_equal(DimTable& dims, Dim a, Dim b) {
  if (a == b) return 1;
  if (always_less(dims, a, b) == 1 || always_less(dims, b, a) == 1) return 0;
  return std::nullopt;
}

std::optional<Dim> always_less(DimTable& dims, Dim a, Dim b) {
  if (a == b) return 0;
  if (is_known(a) && a < 0 && dims.nonnegative(b)) return 1;
  if (is_known(b) && b <= 0 && dims.nonnegative(a)) return 0;
  const Dim difference = is_symbolic(a) && is_symbolic(b) ? dims.sub(a, b) : kSymbolBase;
  return is_known(difference) ? std::optional<Dim>(difference < 0) : std::nullopt;
}

template <typename T>
void run_compare(kernels::Compare op, RunContext& c) {
  const T *a = c.input<T>(0).data(), *b = c.input<T>(1).data();
  bool* y = c.output<bool>().data();
  if (const auto plan = kernels::BroadcastPlan<2>::make({c.shape(0), c.shape(1)}))
    return kernels::compare(op, a, b, y, *plan, c.parallel());
  const auto one = *kernels::BroadcastPlan<2>::make({});
  for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1), [&](size_t i, size_t ia, size_t ib) {
    kernels::compare(op, a + ia, b + ib, y + i, one, c.parallel());
  });
}
template void run_compare<float>(kernels::Compare, RunContext&);
template void run_compare<double>(kernels::Compare, RunContext&);
template void run_compare<int32_t>(kernels::Compare, RunContext&);
template void run_compare<int64_t>(kernels::Compare, RunContext&);
template void run_compare<uint8_t>(kernels::Compare, RunContext&);
template void run_compare<bool>(kernels::Compare, RunContext&);

}  // namespace retort::ops
