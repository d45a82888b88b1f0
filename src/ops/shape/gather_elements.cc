// GatherElements: y[i, j, …] = x[…, indices[i, j, …], …], with the index on `axis`.
#include "kernels/move/gather.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"

namespace retort::ops {
namespace {

struct GatherElements {
  int64_t axis = 0;
  static constexpr std::tuple attributes{attr("axis", &GatherElements::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    check_elements(c, c.axis(axis, c.rank(0)));
    c.set(0, c.dtype(0), c.shape(1));
  }
  Cost cost(const CostContext&) const { return {.access = Access::rows}; }
  void run(RunContext& c) const {
    const kernels::ElementIndices at{c.shape(0), c.shape(1), normalize_axis(axis, c.shape(0).rank())};
    with_indices(c, [&](const auto* indices) {
      return kernels::gather_elements(mover_of(c.dtype(0)), at, c.data(0), indices, c.out_data());
    });
  }
};

}  // namespace

extern const OpDef op_gather_elements;
constinit const OpDef op_gather_elements = define<GatherElements>({
    .name = "GatherElements",
    .since = {11, 13},
    .inputs = {"data: T", "indices: Tind"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
