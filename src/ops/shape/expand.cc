// Expand: the input broadcast to the shape of the second input (which may itself broadcast to the first's).
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Expand {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const Shape y = broadcast_shapes(c.dims(), x, Shape(c.value(1)));
    c.set(0, c.dtype(0), y);
    const auto content = c.try_value(0);
    if (!content || !all_known(y)) return;
    if (const auto room = c.new_value(0, element_count(y)))
      copy_box(broadcast_box(x, y), content->data(), room->data());
  }

  void run(RunContext& c) const {
    copy_box(broadcast_box(c.shape(0), c.out_shape()), c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_expand;
constinit const OpDef op_expand = define<Expand>({
    .name = "Expand",
    .since = {8, 13},
    .inputs = {"input: T", "shape: int64"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
