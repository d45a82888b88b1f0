// Slice: elements start, start + step, … before end, on the given axes (all if omitted).
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/slicing.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Slice {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    for (size_t i = 1; i < 5; ++i) expect_rank(c, i, 1);
    const Shape& x = c.shape(0);
    Shape y = x;
    if (!bounds_known(c)) {
      infer_untouched(c, y);
      throw NotYetKnown{};
    }
    const auto starts = c.value(1), ends = c.value(2);
    const Shape axes = optional_list(c, 3), steps = optional_list(c, 4);
    check(starts.size(), ends.size(), c.has(3) ? axes.size() : starts.size(), c.has(4) ? steps.size() : starts.size());
    if (c.has(3)) AxisSet::of(axes, x.rank());  // slicing an axis twice would read outside the input
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t d = c.axis(c.has(3) ? axes[i] : int64_t(i), x.rank());
      y[d] = slice_extent(c.dims(), starts[i], ends[i], c.has(4) ? steps[i] : 1, x[d]);
    }
    c.set(0, c.dtype(0), y);
    const auto content = c.try_value(0);
    if (!content || !all_known(x) || !all_known(starts) || !all_known(ends)) return;
    const auto room = c.new_value(0, element_count(y));
    if (room)
      copy_box(box(x, row_major_strides(x), Shape(starts), Shape(ends), axes, steps), content->data(), room->data());
  }
  Cost cost(const CostContext&) const { return {.access = Access::part}; }

  void run(RunContext& c) const {
    StridedBox b = box(c, strides_of(c.in_slot(0)));
    b.to_strides = strides_of(c.out_slot(0));
    copy_box(b, c.dtype(0), c.data(0), c.out_data(), c.parallel());
  }

  bool reads_rows(const RunContext&, size_t i) const { return i == 0; }
  bool writes_rows(const RunContext&) const { return true; }
  std::optional<Piece> piece(const RunContext& c, size_t) const {
    const StridedBox b = box(c, row_major_strides(c.shape(0)));
    return piece_of(b.extents, b.from_strides, b.from_offset);
  }

 private:
  static bool bounds_known(InferContext& c) {
    return c.try_value(1) && c.try_value(2) && (!c.has(3) || c.try_value(3)) && (!c.has(4) || c.try_value(4));
  }
  static Shape optional_list(InferContext& c, size_t i) { return c.has(i) ? Shape(numbers(c, i)) : Shape{}; }

  // The bounds are unknown, but the rank is known, and so are extents of axes that are not sliced.
  static void infer_untouched(InferContext& c, Shape& y) {
    const auto axes = c.has(3) ? c.try_value(3) : std::nullopt;
    for (size_t d = 0; d < y.rank(); ++d) {
      bool sliced = !axes;
      for (size_t i = 0; axes && i < axes->size(); ++i) sliced = sliced || c.axis((*axes)[i], y.rank()) == d;
      if (sliced) y[d] = c.unknown_extent();
    }
    c.set(0, c.dtype(0), y);
  }

  static void check(size_t starts, size_t ends, size_t axes, size_t steps) {
    require(starts == ends && axes == starts && steps == starts, ErrorCode::invalid_argument,
            "{} starts, {} ends, {} axes, {} steps: their numbers must be equal", starts, ends, axes, steps);
  }

  static StridedBox box(const RunContext& c, const Shape& from) {
    const Shape axes = c.has(3) ? integers(c, 3) : Shape{}, steps = c.has(4) ? integers(c, 4) : Shape{};
    return box(c.shape(0), from, integers(c, 1), integers(c, 2), axes, steps);
  }

  static StridedBox box(const Shape& x, const Shape& from, const Shape& starts, const Shape& ends, const Shape& axes,
                        const Shape& steps) {
    StridedBox b;
    b.extents = x;
    b.from_strides = from;
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t d = normalize_axis(axes.empty() ? int64_t(i) : axes[i], x.rank());
      const AxisSlice s = slice_axis(starts[i], ends[i], steps.empty() ? 1 : steps[i], x[d]);
      b.extents[d] = s.count;
      b.from_offset += s.start * b.from_strides[d];
      if (s.count > 1) b.from_strides[d] *= s.step;
    }
    b.to_strides = row_major_strides(b.extents);
    return b;
  }
};

}  // namespace

extern const OpDef op_slice;
constinit const OpDef op_slice = define<Slice>({
    .name = "Slice",
    .since = {1, 10, 11, 13},
    .inputs = {"data: T", "starts: Tind", "ends: Tind", "axes: Tind?", "steps: Tind?"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
