#include "ops/math/variadic.h"

#include "ops/shape/common/strided.h"

namespace retort::ops {

void infer_variadic(InferContext& c, FoldContent fold) {
  c.set(0, c.dtype(0));
  Shape shape = c.shape(0);
  for (size_t i = 1; i < c.input_count(); ++i) shape = broadcast_shapes(c.dims(), shape, c.shape(i));
  c.set(0, c.dtype(0), shape);
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.try_value(i) || !all_known(shape)) return;
  }
  const auto room = c.new_value(0, element_count(shape));
  bool all = room.has_value();
  for (size_t k = 0; all && k < c.input_count(); ++k) {
    const auto x = c.value(k);
    for_each_broadcast(shape, c.shape(k), c.shape(k), [&](size_t i, size_t from, size_t) {
      const std::optional<Dim> d = k == 0 ? x[from] : all ? fold((*room)[i], x[from]) : std::nullopt;
      all = all && d;
      (*room)[i] = d.value_or(0);
    });
  }
  if (!all) c.drop_value(0);
}

namespace {

// Whether the broadcast of a and b is already `out`.
bool reach(const Shape& a, const Shape& b, const Shape& out) {
  if (std::max(a.rank(), b.rank()) != out.rank()) return false;
  for (size_t d = 0; d < out.rank(); ++d) {
    const auto has = [&](const Shape& s) {
      return d + s.rank() >= out.rank() && s[d + s.rank() - out.rank()] == out[d];
    };
    if (!has(a) && !has(b)) return false;
  }
  return true;
}

}  // namespace

template <typename T>
void run_variadic(kernels::Binary op, RunContext& c) {
  T* y = c.output<T>().data();
  const auto combine = [&](const T* a, const Shape& a_shape, const T* b, const Shape& b_shape) {
    const auto plan = kernels::BroadcastPlan<2>::make({a_shape, b_shape});
    require(plan.has_value(), ErrorCode::not_implemented, "broadcasting alternates between too many axes");
    kernels::binary(op, a, b, y, *plan, c.parallel());
  };
  const Shape& out = c.out_shape();
  size_t next = 1;
  if (c.input_count() > 1 && reach(c.shape(0), c.shape(1), out)) {
    combine(c.input<T>(0).data(), c.shape(0), c.input<T>(1).data(), c.shape(1));
    next = 2;
  } else if (c.data(0) != y) {
    copy_box(broadcast_box(c.shape(0), out), c.dtype(0), c.data(0), y, c.parallel());
  }
  for (; next < c.input_count(); ++next) combine(y, out, c.input<T>(next).data(), c.shape(next));
}
template void run_variadic<float>(kernels::Binary, RunContext&);
template void run_variadic<double>(kernels::Binary, RunContext&);
template void run_variadic<int32_t>(kernels::Binary, RunContext&);
template void run_variadic<int64_t>(kernels::Binary, RunContext&);

}  // namespace retort::ops
