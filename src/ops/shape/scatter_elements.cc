// ScatterElements: the data with y[…, indices[i, j, …], …] set to, or combined with, updates[i, j, …], with the index
// on `axis`; of several updates to one element, the last wins.
#include "kernels/move/gather.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"
#include "ops/shape/common/scatter.h"
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct ScatterElements : ScatterBase {
  int64_t axis = 0;
  static constexpr std::tuple attributes{attr("axis", &ScatterElements::axis),
                                         attr("reduction", &ScatterElements::reduction)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    c.set(0, c.dtype(0), x);
    const size_t along = c.axis(axis, x.rank());
    if (!c.ranked(1) || !c.ranked(2)) return;
    check_elements(c, along);
    const Shape &indices = c.shape(1), &updates = c.shape(2);
    bool good = updates.rank() == x.rank();
    for (size_t d = 0; good && d < x.rank(); ++d)
      good = is_symbolic(indices[d]) || is_symbolic(updates[d]) || indices[d] == updates[d];
    if (!good)
      fail(ErrorCode::invalid_argument, "updates have shape {}, but indices have shape {}", c.dims().text(updates),
           c.dims().text(indices));
  }

  void run(RunContext& c) const {
    run_view(c);
    const kernels::ElementIndices at{c.shape(0), c.shape(1), normalize_axis(axis, c.shape(0).rank())};
    with_indices(c, [&](const auto* indices) {
      if (replaces()) return kernels::scatter_elements(mover_of(c.dtype(0)), at, indices, c.data(2), c.out_data());
      std::optional<kernels::BadIndex> bad;
      combine(c, 1, [&](Updates put) { bad = kernels::for_element_blocks(at.data, at.shape, at.axis, indices, put); });
      return bad;
    });
  }
};

}  // namespace

extern const OpDef op_scatter_elements;
constinit const OpDef op_scatter_elements = define<ScatterElements>({
    .name = "ScatterElements",
    .since = {11, 13, 16, 18},
    .inputs = {"data: T", "indices: Tind", "updates: T"},
    .outputs = {"output: T"},
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
