// GatherND: slices of the data at index tuples, which are the last axis of the indices.
#include "kernels/move/gather.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"

namespace retort::ops {
namespace {

struct GatherND {
  int64_t batch_dims = 0;
  static constexpr std::tuple attributes{attr("batch_dims", &GatherND::batch_dims)};

  void check() const { require(batch_dims >= 0, ErrorCode::invalid_argument, "batch_dims is {}", batch_dims); }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const size_t batch = size_t(batch_dims), tuple = check_tuples(c, batch);
    const Shape &x = c.shape(0), &indices = c.shape(1);
    Shape y;
    for (size_t d = 0; d + 1 < indices.rank(); ++d) y.push_back(indices[d]);
    for (size_t d = batch + tuple; d < x.rank(); ++d) y.push_back(x[d]);
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext&) const { return {.access = Access::rows}; }
  void run(RunContext& c) const {
    const kernels::TupleIndices tuples = tuple_indices(c, size_t(batch_dims));
    ops::check(kernels::gather_nd(mover_of(c.dtype(0)), tuples, c.data(0), c.input<int64_t>(1).data(), c.out_data()));
  }
};

}  // namespace

extern const OpDef op_gather_nd;
constinit const OpDef op_gather_nd = define<GatherND>({
    .name = "GatherND",
    .since = {11, 12, 13},
    .inputs = {"data: T", "indices: int64"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
