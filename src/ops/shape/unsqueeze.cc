// Unsqueeze: inserts axes of extent 1 at the given positions of the output.
#include "ops/integers.h"
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Unsqueeze {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const auto given = numbers(c, 1);
    const size_t rank = x.rank() + given.size();
    const AxisSet axes = AxisSet::of(given, rank);
    Shape y;
    for (size_t i = 0, next = 0; i < rank; ++i) y.push_back(axes.contains(i) ? 1 : x[next++]);
    infer_view(c, y);
  }
  void run(RunContext& c) const { run_view(c); }
};

}  // namespace

extern const OpDef op_unsqueeze;
constinit const OpDef op_unsqueeze = define<Unsqueeze>({
    .name = "Unsqueeze",
    .since = {1, 11, 13, 21, 23, 24, 25},
    .inputs = {"data: T", "axes: int64"},
    .outputs = {"expanded: T"},
    .traits = kView | kMayAliasInput0,
});

}  // namespace retort::ops
