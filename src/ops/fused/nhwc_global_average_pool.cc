// retort.GlobalAveragePool: mean over all spatial axes of a channels-last image; their extents become 1.
#include "kernels/pool/pool.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct NhwcGlobalAveragePool {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    Shape y = c.shape(0);
    require(y.rank() >= 3, ErrorCode::invalid_argument, "input of rank {}", y.rank());
    for (size_t i = 1; i + 1 < y.rank(); ++i) y[i] = 1;
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }

  bool reads_rows(const RunContext&, size_t) const { return true; }

  static kernels::GlobalAverageArgs arguments(const RunContext& c) {
    const Shape& x = c.shape(0);
    kernels::GlobalAverageArgs a;
    a.batch = size_t(x[0]);
    a.pixels = size_t(extent_product(x, 1, x.rank() - 1));
    a.channels = a.out_stride = size_t(x.back());
    a.in_pixel_stride = c.row_step(0);
    a.input = static_cast<const float*>(c.data(0));
    a.output = static_cast<float*>(c.out_data());
    require(a.pixels > 0, ErrorCode::invalid_argument, "the mean of no pixels");
    return a;
  }
  size_t scratch(const RunContext& c) const {
    const kernels::GlobalAverageArgs a = arguments(c);
    return kernels::global_average_scratch_bytes(a.batch, a.pixels, a.channels);
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    kernels::global_average_nhwc(arguments(c), c.scratch(), c.parallel());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::global_average_reference(arguments(c));
  }
};

}  // namespace

extern const OpDef op_nhwc_global_average_pool;
constinit const OpDef op_nhwc_global_average_pool = define<NhwcGlobalAveragePool>({
    .name = "GlobalAveragePool",
    .domain = "retort",
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal | kImagewise,
});

}  // namespace retort::ops
