// Squeeze: removes the given axes, whose extents must be 1; without axes, removes all of extent 1.
#include "ops/integers.h"
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Squeeze {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const bool given = c.has(1);
    if (!given && !all_known(x)) throw NotYetKnown{};  // a symbol may prove to be 1
    const AxisSet axes = given ? AxisSet::of(numbers(c, 1), x.rank()) : AxisSet::all(x.rank());
    Shape y;
    for (size_t i = 0; i < x.rank(); ++i) {
      if (given && axes.contains(i) && is_known(x[i]) && x[i] != 1)
        fail(ErrorCode::invalid_argument, "axis {} of shape {} cannot be squeezed: its extent is not 1", i,
             c.dims().text(x));
      if (!axes.contains(i) || (!given && x[i] != 1)) y.push_back(x[i]);
    }
    infer_view(c, y);
  }
  void run(RunContext& c) const { run_view(c); }
};

}  // namespace

extern const OpDef op_squeeze;
constinit const OpDef op_squeeze = define<Squeeze>({
    .name = "Squeeze",
    .since = {1, 11, 13, 21, 23, 24, 25},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"squeezed: T"},
    .traits = kView | kMayAliasInput0,
});

}  // namespace retort::ops
