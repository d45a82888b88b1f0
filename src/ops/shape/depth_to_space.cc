// DepthToSpace: every group of blocksize² channels becomes a block of pixels. In mode DCR the position in the block is
// the outer part of the channel index, in mode CRD the inner part.
#include "ops/shape/common/depth_space.h"

namespace retort::ops {
namespace {

struct DepthToSpace : DepthSpace {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    if (x.rank() != 4 || (is_known(x[1]) && x[1] % (blocksize * blocksize) != 0))
      fail(ErrorCode::invalid_argument, "input has shape {}, expected four axes with a multiple of {} channels",
           c.dims().text(x), blocksize * blocksize);
    DimTable& d = c.dims();
    c.set(0, c.dtype(0),
          Shape{x[0], d.div(x[1], blocksize * blocksize), d.mul(x[2], blocksize), d.mul(x[3], blocksize)});
  }
  void run(RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    copy_box(box(x[0], y[1], x[2], x[3], true), c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_depth_to_space;
constinit const OpDef op_depth_to_space = define<DepthToSpace>({
    .name = "DepthToSpace",
    .since = {1, 11, 13, 28},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
