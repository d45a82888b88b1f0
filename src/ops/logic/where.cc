// Where: x where the condition holds, else y, with numpy broadcasting of all three.
#include "kernels/elementwise/logic.h"
#include "ops/elementwise.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct Where {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(1));
    const Shape shape = c.broadcast({0, 1, 2});
    c.set(0, c.dtype(1), shape);
    const auto condition = c.try_value(0), x = c.try_value(1), y = c.try_value(2);
    if (!condition || !x || !y || !all_known(shape)) return;
    const auto room = c.new_value(0, element_count(shape));
    if (!room) return;
    bool all = true;
    for_each_broadcast(shape, c.shape(0), c.shape(1), [&](size_t i, size_t at, size_t ix) {
      all = all && is_known((*condition)[at]);
      (*room)[i] = all && (*condition)[at] ? (*x)[ix] : kSymbolBase;
    });
    for_each_broadcast(shape, c.shape(0), c.shape(2), [&](size_t i, size_t at, size_t iy) {
      if (all && !(*condition)[at]) (*room)[i] = (*y)[iy];
    });
    if (!all) c.drop_value(0);
  }

  void run(RunContext& c) const {
    const auto plan = kernels::BroadcastPlan<3>::make({c.shape(0), c.shape(1), c.shape(2)});
    require(plan.has_value(), ErrorCode::not_implemented, "broadcasting {}, {} and {} alternates too often",
            c.shape(0).rank(), c.shape(1).rank(), c.shape(2).rank());
    const bool* condition = c.input<bool>(0).data();
    by_element(c.dtype(1), [&]<typename E>(std::type_identity<E>) {
      const E *x = c.input<E>(1).data(), *y = c.input<E>(2).data();
      E* out = c.output<E>().data();
      if constexpr (std::is_integral_v<E>)
        kernels::where(condition, x, y, out, *plan, c.parallel());
      else
        kernels::where_serial(condition, x, y, out, *plan);
    });
  }
};

}  // namespace

extern const OpDef op_where;
constinit const OpDef op_where = define<Where>({
    .name = "Where",
    .since = {9, 16},
    .inputs = {"condition: bool", "X: T", "Y: T"},
    .outputs = {"output: T"},
    .types = kFixedSize | kString,
    .traits = kElementwise,
});

}  // namespace retort::ops
