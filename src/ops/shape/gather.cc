// Gather: whole slices of the input along `axis`, chosen by indices of any shape.
#include "kernels/move/gather.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"

namespace retort::ops {
namespace {

struct Gather {
  int64_t axis = 0;
  static constexpr std::tuple attributes{attr("axis", &Gather::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape &x = c.shape(0), &indices = c.shape(1);
    const size_t along = c.axis(axis, x.rank());
    Shape y;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (d != along) y.push_back(x[d]);
      for (size_t i = 0; d == along && i < indices.rank(); ++i) y.push_back(indices[i]);
    }
    c.set(0, c.dtype(0), y);
    infer_content(c, x, indices);
  }

  void run(RunContext& c) const {
    const Shape& x = c.shape(0);
    const size_t along = normalize_axis(axis, x.rank());
    const kernels::GatherArgs args{.outer = size_t(extent_product(x, 0, along)),
                                   .extent = x[along],
                                   .inner = size_t(extent_product(x, along + 1, x.rank())),
                                   .count = c.count(1)};
    with_indices(c, [&](const auto* indices) {
      return kernels::gather(mover_of(c.dtype(0)), args, c.data(0), indices, c.out_data(), c.parallel());
    });
  }

 private:
  // Content of vectors, the form that shape arithmetic takes.
  static void infer_content(InferContext& c, const Shape& x, const Shape& indices) {
    const auto content = c.try_value(0), index = c.try_value(1);
    if (!content || !index || x.rank() != 1 || !all_known(indices) || !all_known(*index)) return;
    const auto room = c.new_value(0, index->size());
    const int64_t extent = int64_t(content->size());
    for (size_t i = 0; room && i < index->size(); ++i) {
      const int64_t at = (*index)[i];
      require(at >= -extent && at < extent, ErrorCode::invalid_argument, "index {} is outside [-{}, {}) of the axis",
              at, extent, extent);
      (*room)[i] = (*content)[size_t(at < 0 ? at + extent : at)];
    }
  }
};

}  // namespace

extern const OpDef op_gather;
constinit const OpDef op_gather = define<Gather>({
    .name = "Gather",
    .since = {1, 11, 13},
    .inputs = {"data: T", "indices: Tind"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
