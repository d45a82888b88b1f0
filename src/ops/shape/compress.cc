// Compress: the slices along an axis (or the elements of the flattened input) for which the condition is true. Excess
// slices or conditions are ignored.
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct Compress {
  std::optional<int64_t> axis;
  static constexpr std::tuple attributes{attr("axis", &Compress::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    Shape y = c.shape(0);
    if (axis)
      y[c.axis(*axis, y.rank())] = c.unknown_extent();
    else
      y = Shape{c.unknown_extent()};
    c.set(0, c.dtype(0), y);
  }

  void run(RunContext& c) const {
    Shape x = c.shape(0);
    if (!axis) x = Shape{int64_t(c.count(0))};
    const size_t along = axis ? normalize_axis(*axis, x.rank()) : 0;
    const auto condition = c.input<bool>(1);
    const size_t extent = size_t(x[along]), limit = std::min(condition.size(), extent);
    const int64_t kept = std::count(condition.begin(), condition.begin() + ptrdiff_t(limit), true);
    const size_t outer = size_t(extent_product(x, 0, along)), inner = size_t(extent_product(x, along + 1, x.rank()));
    Shape y = x;
    y[along] = kept;
    void* to = c.allocate(0, c.dtype(0), y);
    const kernels::Mover& mover = mover_of(c.dtype(0));
    size_t next = 0;
    for (size_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < limit; ++i) {
        if (!condition[i]) continue;
        mover.copy(mover.at(to, ptrdiff_t(next)), mover.at(c.data(0), ptrdiff_t((o * extent + i) * inner)), inner);
        next += inner;
      }
    }
  }
};

}  // namespace

extern const OpDef op_compress;
constinit const OpDef op_compress = define<Compress>({
    .name = "Compress",
    .since = {9, 11, 28},
    .inputs = {"input: T", "condition: bool"},
    .outputs = {"output: T"},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
