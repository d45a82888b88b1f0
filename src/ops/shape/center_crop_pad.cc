// CenterCropPad: crops each axis to its middle, or pads it with zeros on both sides.
#include <cstring>

#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct CenterCropPad {
  std::optional<std::vector<int64_t>> axes;
  static constexpr std::tuple attributes{attr("axes", &CenterCropPad::axes)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    expect_rank(c, 1, 1);
    Shape y = c.shape(0);
    const size_t count = axes ? axes->size() : y.rank();
    const auto wanted = c.try_value(1);
    require(!wanted || wanted->size() == count, ErrorCode::invalid_argument, "shape has {} extents for {} axes",
            wanted ? wanted->size() : 0, count);
    if (axes) AxisSet::of(*axes, y.rank());
    for (size_t i = 0; i < count; ++i) {
      const Dim extent = wanted ? (*wanted)[i] : c.unknown_extent();
      require(!is_known(extent) || extent >= 0, ErrorCode::invalid_argument, "an extent of {}", extent);
      y[axes ? c.axis((*axes)[i], y.rank()) : i] = extent;
    }
    c.set(0, c.dtype(0), y);
  }

  void run(RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const Shape from = row_major_strides(x), to = row_major_strides(y);
    if (c.dtype(0) == DType::string)
      std::ranges::fill(c.output<std::string>(), std::string());
    else if (c.out_count())
      std::memset(c.out_data(), 0, dtype_bytes(c.out_dtype(), c.out_count()));
    StridedBox box;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (x[d] > y[d]) box.from_offset += (x[d] - y[d]) / 2 * from[d];
      if (y[d] > x[d]) box.to_offset += (y[d] - x[d]) / 2 * to[d];
      box.push(std::min(x[d], y[d]), from[d], to[d]);
    }
    if (element_count(box.extents)) copy_box(box, c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_center_crop_pad;
constinit const OpDef op_center_crop_pad = define<CenterCropPad>({
    .name = "CenterCropPad",
    .since = {18},
    .inputs = {"input_data: T", "shape: I"},
    .outputs = {"output_data: T"},
});

}  // namespace retort::ops
