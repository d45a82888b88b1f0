// ScatterND: the data with slices at index tuples (the last axis of the indices) replaced by updates or combined with
// them. Of several updates to one slice, the last wins.
#include "kernels/move/gather.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"
#include "ops/shape/common/scatter.h"
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct ScatterND : ScatterBase {
  static constexpr std::tuple attributes{attr("reduction", &ScatterND::reduction)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
    if (!c.ranked(1) || !c.ranked(2)) return;
    const size_t tuple = check_tuples(c, 0);
    const Shape &x = c.shape(0), &indices = c.shape(1), &updates = c.shape(2);
    Shape wanted;
    for (size_t d = 0; d + 1 < indices.rank(); ++d) wanted.push_back(indices[d]);
    for (size_t d = tuple; d < x.rank(); ++d) wanted.push_back(x[d]);
    bool good = wanted.rank() == updates.rank();
    for (size_t d = 0; good && d < wanted.rank(); ++d)
      good = is_symbolic(wanted[d]) || is_symbolic(updates[d]) || wanted[d] == updates[d];
    if (!good)
      fail(ErrorCode::invalid_argument,
           "updates have shape {}, expected {} for data of shape {} and indices of shape {}", c.dims().text(updates),
           c.dims().text(wanted), c.dims().text(x), c.dims().text(indices));
  }

  void run(RunContext& c) const {
    run_view(c);
    const kernels::TupleIndices tuples = tuple_indices(c, 0);
    const int64_t* indices = c.input<int64_t>(1).data();
    std::optional<kernels::BadIndex> bad;
    if (replaces())
      bad = kernels::scatter_nd(mover_of(c.dtype(0)), tuples, indices, c.data(2), c.out_data());
    else
      combine(c, tuples.slice, [&](Updates put) {
        bad = kernels::for_tuples(tuples, indices, [&](size_t n, int64_t offset) { put(n, &offset, 1); });
      });
    ops::check(bad);
  }
};

}  // namespace

extern const OpDef op_scatter_nd;
constinit const OpDef op_scatter_nd = define<ScatterND>({
    .name = "ScatterND",
    .since = {11, 13, 16, 18},
    .inputs = {"data: T", "indices: int64", "updates: T"},
    .outputs = {"output: T"},
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
