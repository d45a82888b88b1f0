// SpaceToDepth: every block of pixels becomes a group of blocksize² channels; the inverse of DepthToSpace.
#include "ops/shape/common/depth_space.h"

namespace retort::ops {
namespace {

struct SpaceToDepth : DepthSpace {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const auto fits = [&](Dim extent) { return is_symbolic(extent) || extent % blocksize == 0; };
    if (x.rank() != 4 || !fits(x[2]) || !fits(x[3]))
      fail(ErrorCode::invalid_argument, "input has shape {}, expected four axes with multiples of {} pixels",
           c.dims().text(x), blocksize);
    DimTable& d = c.dims();
    c.set(0, c.dtype(0),
          Shape{x[0], d.mul(x[1], blocksize * blocksize), d.div(x[2], blocksize), d.div(x[3], blocksize)});
  }
  void run(RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    copy_box(box(x[0], x[1], y[2], y[3], false), c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_space_to_depth;
constinit const OpDef op_space_to_depth = define<SpaceToDepth>({
    .name = "SpaceToDepth",
    .since = {1, 13, 28},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
