#include "ops/math/reduce.h"

namespace retort::ops {

AxisSet ReduceAttributes::axes(std::span<const int64_t> given, size_t rank) const {
  if (rank == 0) return AxisSet::all(rank);
  if (!given.empty() || noop_with_empty_axes) return AxisSet::of(given, rank, AxisSet::Twice::allowed);
  return AxisSet::all(rank);
}

void ReduceAttributes::infer_reduce(InferContext& c, FunctionRef<std::optional<Dim>(std::span<const Dim>)> fold) const {
  c.set(0, c.dtype(0));
  expect_rank(c, 1, 1);
  const Shape& x = c.shape(0);
  const AxisSet reduced = axes(c.has(1) ? numbers(c, 1) : std::span<const Dim>{}, x.rank());
  Shape y;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!reduced.contains(d)) y.push_back(x[d]);
    if (reduced.contains(d) && keepdims == 1) y.push_back(1);
  }
  c.set(0, c.dtype(0), y);
  const auto content = c.try_value(0);
  if (!content || x.rank() != 1 || !reduced.contains(0)) return;
  const std::optional<Dim> value = fold(*content);
  if (value && (is_known(*value) || !all_known(*content))) c.set_value(0, std::array{*value});
}

ReduceLayout::ReduceLayout(const RunContext& c, const ReduceAttributes& attributes) {
  const Shape& x = c.shape(0);
  const AxisSet reduced = attributes.axes(c.has(1) ? integers(c, 1) : Shape{}, x.rank());
  int64_t stride = 1;
  Shape all;
  all.resize(x.rank());
  for (size_t d = x.rank(); d-- > 0; stride *= x[d]) all[d] = stride;
  for (size_t d = 0; d < x.rank(); ++d) {
    (reduced.contains(d) ? extents : kept_extents).push_back(x[d]);
    (reduced.contains(d) ? strides : kept_strides).push_back(all[d]);
  }
  count = element_count(extents);
}

template <typename T>
bool run_reduce(kernels::Reduce op, const ReduceAttributes& attributes, RunContext& c) {
  const Shape& x = c.shape(0);
  const AxisSet reduced = attributes.axes(c.has(1) ? integers(c, 1) : Shape{}, x.rank());
  Shape axes;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (reduced.contains(d)) axes.push_back(int64_t(d));
  }
  const auto plan = kernels::ReducePlan::make(x, axes);
  if (plan) kernels::reduce(op, c.input<T>(0).data(), c.output<T>().data(), *plan, c.parallel());
  return plan.has_value();
}
template bool run_reduce<float>(kernels::Reduce, const ReduceAttributes&, RunContext&);
template bool run_reduce<double>(kernels::Reduce, const ReduceAttributes&, RunContext&);
template bool run_reduce<int8_t>(kernels::Reduce, const ReduceAttributes&, RunContext&);
template bool run_reduce<uint8_t>(kernels::Reduce, const ReduceAttributes&, RunContext&);
template bool run_reduce<int32_t>(kernels::Reduce, const ReduceAttributes&, RunContext&);
template bool run_reduce<uint32_t>(kernels::Reduce, const ReduceAttributes&, RunContext&);
template bool run_reduce<int64_t>(kernels::Reduce, const ReduceAttributes&, RunContext&);

int64_t ReduceLayout::locate(size_t index, const Shape& extents, const Shape& strides) {
  int64_t offset = 0;
  for (size_t d = extents.rank(), rest = index; d-- > 0; rest /= size_t(extents[d]))
    offset += int64_t(rest % size_t(extents[d])) * strides[d];
  return offset;
}

}  // namespace retort::ops
