// OneHot: a new axis of `depth` elements, of which only the one that the index names is on. Negative indices count from
// the end; for indices outside [-depth, depth), no element is on.
#include "kernels/elementwise/cast.h"
#include "kernels/move/fill.h"
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct OneHot {
  int64_t axis = -1;
  static constexpr std::tuple attributes{attr("axis", &OneHot::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(2));
    expect_shape_if_given(c, 2, "values", {2});
    require(!c.ranked(1) || c.rank(1) < 2, ErrorCode::invalid_argument, "depth has shape {}, expected a scalar",
            c.ranked(1) ? c.dims().text(c.shape(1)) : "");
    const Shape& indices = c.shape(0);
    const size_t at = c.axis(axis, indices.rank() + 1);
    Shape y;
    for (size_t d = 0; d <= indices.rank(); ++d) y.push_back(d == at ? depth(c) : indices[d - (d > at)]);
    c.set(0, c.dtype(2), y);
  }

  size_t scratch(const RunContext& c) const { return c.dtype(0) == DType::i64 ? 0 : c.count(0) * sizeof(int64_t); }

  void run(RunContext& c) const {
    const Shape &indices = c.shape(0), &y = c.out_shape();
    require(c.count(2) == 2, ErrorCode::invalid_argument, "values has {} elements, expected off and on", c.count(2));
    require(kernels::can_cast(c.dtype(0)), ErrorCode::not_implemented, "indices of type {}", dtype_name(c.dtype(0)));
    const size_t at = normalize_axis(axis, y.rank());
    if (c.dtype(0) != DType::i64)
      kernels::cast(c.data(0), c.dtype(0), c.scratch(), DType::i64, c.count(0), c.parallel());
    const kernels::Mover& mover = mover_of(c.dtype(2));
    const void* converted = c.dtype(0) == DType::i64 ? c.data(0) : c.scratch();
    const kernels::OneHot args{.outer = size_t(extent_product(indices, 0, at)),
                               .depth = size_t(y[at]),
                               .inner = size_t(extent_product(indices, at, indices.rank())),
                               .indices = static_cast<const int64_t*>(converted),
                               .off = c.data(2),
                               .on = mover.at(c.data(2), 1)};
    kernels::one_hot(mover, args, c.out_data(), c.parallel());
  }

 private:
  static Dim depth(InferContext& c) {
    if (c.try_value(1)) return scalar_value(c, 1);
    if (!c.data(1) || !kernels::can_cast(c.dtype(1))) return c.unknown_extent();
    const size_t count = element_count(c.shape(1));
    require(count == 1, ErrorCode::invalid_argument, "depth has {} elements, expected 1", count);
    int64_t depth = 0;
    kernels::cast(c.data(1), c.dtype(1), &depth, DType::i64, 1, {});
    return depth;
  }
};

}  // namespace

extern const OpDef op_one_hot;
constinit const OpDef op_one_hot = define<OneHot>({
    .name = "OneHot",
    .since = {9, 11, 28},
    .inputs = {"indices: T1", "depth: T2", "values: T3"},
    .outputs = {"output: T3"},
});

}  // namespace retort::ops
