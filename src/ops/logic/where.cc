// Where: x where the condition is true, otherwise y, with numpy broadcasting of all three.
#include "kernels/elementwise/logic.h"
#include "ops/elementwise.h"

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
    require(plan.has_value(), ErrorCode::not_implemented, "broadcasting {}, {} and {} alternates between too many axes",
            c.shape(0).rank(), c.shape(1).rank(), c.shape(2).rank());
    switch (dtype_bits(c.dtype(1))) {
      case 8:
        return select<uint8_t>(c, *plan);
      case 16:
        return select<uint16_t>(c, *plan);
      case 32:
        return select<uint32_t>(c, *plan);
      case 64:
        return select<uint64_t>(c, *plan);
      case 128:
        return select<std::array<uint64_t, 2>>(c, *plan);
      default:
        return select<std::string>(c, *plan);
    }
  }

 private:
  template <typename E>
  static void select(RunContext& c, const kernels::BroadcastPlan<3>& plan) {
    const bool* condition = c.input<bool>(0).data();
    const E *x = c.input<E>(1).data(), *y = c.input<E>(2).data();
    if constexpr (std::is_integral_v<E>)
      kernels::where(condition, x, y, c.output<E>().data(), plan, c.parallel());
    else
      kernels::where_serial(condition, x, y, c.output<E>().data(), plan);
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
