// Tile: the input repeated along every axis.
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Tile {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    expect_rank(c, 1, 1);
    const Shape& x = c.shape(0);
    Shape y = x;
    const auto repeats = c.try_value(1);
    for (size_t d = 0; d < x.rank(); ++d) {
      if (repeats && d < repeats->size())
        y[d] = c.dims().mul(x[d], (*repeats)[d]);
      else
        y[d] = c.unknown_extent();
    }
    require(!repeats || repeats->size() == x.rank(), ErrorCode::invalid_argument, "repeats has {} entries for {} axes",
            repeats ? repeats->size() : 0, x.rank());
    c.set(0, c.dtype(0), y);
    if (!repeats) throw NotYetKnown{};
    const auto content = c.try_value(0);
    if (!content || !all_known(x) || !all_known(y)) return;
    if (const auto room = c.new_value(0, element_count(y)))
      copy_box(box(x, Shape(*repeats)), content->data(), room->data());
  }

  void run(RunContext& c) const {
    copy_box(box(c.shape(0), integers(c, 1)), c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }

 private:
  // Every axis becomes two: the repetition, whose stride in the input is 0, and the axis itself.
  static StridedBox box(const Shape& x, const Shape& repeats) {
    Shape y = x;
    for (size_t d = 0; d < x.rank(); ++d) y[d] *= repeats[d];
    const Shape from = row_major_strides(x), to = row_major_strides(y);
    StridedBox b;
    for (size_t d = 0; d < x.rank(); ++d) {
      b.push(repeats[d], 0, x[d] * to[d]);
      b.push(x[d], from[d], to[d]);
    }
    return b;
  }
};

}  // namespace

extern const OpDef op_tile;
constinit const OpDef op_tile = define<Tile>({
    .name = "Tile",
    .since = {1, 6, 13},
    .inputs = {"input: T", "repeats: int64"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
