#include "ops/math/binary.h"

namespace retort::ops {

Dim wrap_content(DType dtype, Dim number) {
  if (!is_known(number)) return number;
  if (dtype == DType::i32) return Dim(int32_t(number));
  return dtype == DType::boolean ? Dim(number != 0) : number;
}

void infer_binary(InferContext& c, DType out, FoldContent fold) {
  c.set(0, out);
  const Shape shape = c.broadcast({0, 1});
  c.set(0, out, shape);
  const auto a = c.try_value(0), b = c.try_value(1);
  if (!a || !b || !all_known(shape)) return;
  const auto room = c.new_value(0, element_count(shape));
  if (!room) return;
  bool all = true;
  for_each_broadcast(shape, c.shape(0), c.shape(1), [&](size_t i, size_t ia, size_t ib) {
    const std::optional<Dim> d = all ? fold((*a)[ia], (*b)[ib]) : std::nullopt;
    all = all && d && !(is_known((*a)[ia]) && is_known((*b)[ib]) && is_symbolic(*d));
    if (all) (*room)[i] = wrap_content(out, *d);
  });
  if (!all) c.drop_value(0);
}

namespace {

/// Calls f(plan, a, b, y) with the first elements of inputs and output, once if the shapes have a plan.
void for_plans(RunContext& c, FunctionRef<void(const kernels::BroadcastPlan<2>&, size_t, size_t, size_t)> f) {
  if (const auto plan = kernels::BroadcastPlan<2>::make({c.shape(0), c.shape(1)})) return f(*plan, 0, 0, 0);
  const auto one = *kernels::BroadcastPlan<2>::make({});
  for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1), [&](size_t i, size_t ia, size_t ib) { f(one, ia, ib, i); });
}

}  // namespace

template <typename T>
void run_binary(kernels::Binary op, RunContext& c) {
  const T *a = c.input<T>(0).data(), *b = c.input<T>(1).data();
  T* y = c.output<T>().data();
  for_plans(c, [&](const kernels::BroadcastPlan<2>& plan, size_t ia, size_t ib, size_t i) {
    kernels::binary(op, a + ia, b + ib, y + i, plan, c.parallel());
  });
}
template void run_binary<float>(kernels::Binary, RunContext&);
template void run_binary<double>(kernels::Binary, RunContext&);
template void run_binary<int32_t>(kernels::Binary, RunContext&);
template void run_binary<int64_t>(kernels::Binary, RunContext&);

void run_wrapping(kernels::Binary op, size_t bytes, RunContext& c) {
  const auto *a = static_cast<const char*>(c.data(0)), *b = static_cast<const char*>(c.data(1));
  auto* y = static_cast<char*>(c.out_data());
  for_plans(c, [&](const kernels::BroadcastPlan<2>& plan, size_t ia, size_t ib, size_t i) {
    kernels::wrapping_binary(op, bytes, a + ia * bytes, b + ib * bytes, y + i * bytes, plan, c.parallel());
  });
}

}  // namespace retort::ops
