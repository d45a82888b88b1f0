// com.microsoft.UnfoldTensor: windows of `size` elements, `step` apart, along an axis; their elements are a new last
// axis.
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct UnfoldTensor {
  int64_t dim = -1, size = 0, step = 1;
  static constexpr std::tuple attributes{attr("dim", &UnfoldTensor::dim), required("size", &UnfoldTensor::size),
                                         attr("step", &UnfoldTensor::step)};

  void check() const {
    require(size >= 0 && step > 0, ErrorCode::invalid_argument, "size {} and step {}; 0 and 1 are the least", size,
            step);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    Shape y = c.shape(0);
    const size_t axis = c.axis(dim, y.rank());
    require(!is_known(y[axis]) || y[axis] >= size, ErrorCode::invalid_argument,
            "axis {} of shape {} is shorter than the size {}", axis, c.dims().text(y), size);
    y[axis] = c.dims().add(c.dims().div(c.dims().sub(y[axis], size), step), 1);
    y.push_back(size);
    c.set(0, c.dtype(0), y);
  }

  void run(RunContext& c) const {
    const Shape& x = c.shape(0);
    const size_t axis = normalize_axis(dim, x.rank());
    const Shape from = row_major_strides(x), to = row_major_strides(c.out_shape());
    StridedBox box;
    for (size_t i = 0; i < x.rank(); ++i) box.push(c.out_shape()[i], from[i] * (i == axis ? step : 1), to[i]);
    box.push(size, from[axis], 1);
    copy_box(box, c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_unfold_tensor;
constinit const OpDef op_unfold_tensor = define<UnfoldTensor>({
    .name = "UnfoldTensor",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kFixedSize | kString,
});

}  // namespace retort::ops
