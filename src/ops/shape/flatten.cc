// Flatten: a matrix whose rows are the axes before `axis` and whose columns are the others.
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Flatten {
  int64_t axis = 1;
  static constexpr std::tuple attributes{attr("axis", &Flatten::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const size_t cut = axis == int64_t(x.rank()) ? x.rank() : c.axis(axis, x.rank());
    const std::span<const Dim> extents = x;
    infer_view(c, Shape{c.dims().product(extents.first(cut)), c.dims().product(extents.subspan(cut))});
  }
  void run(RunContext& c) const { run_view(c); }
};

}  // namespace

extern const OpDef op_flatten;
constinit const OpDef op_flatten = define<Flatten>({
    .name = "Flatten",
    .since = {1, 9, 11, 13, 21, 23, 24, 25},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .traits = kView | kMayAliasInput0,
});

}  // namespace retort::ops
