// Pad: adds elements before and after axes (or removes them if the number is negative): a constant, the reflection of
// the input, its edge, or the input repeated periodically.
#include "kernels/move/pad.h"
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Pad {
  std::string mode = "constant";
  static constexpr std::tuple attributes{attr("mode", &Pad::mode)};

  void check() const {
    require(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap", ErrorCode::invalid_argument,
            "mode '{}' is not one of constant, reflect, edge, wrap", mode);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    expect_rank(c, 3, 1);
    const Shape& x = c.shape(0);
    if (!c.ranked(1) || c.rank(1) != 2 || c.shape(1)[0] != 1) expect_rank(c, 1, 1);  // [1, n] is taken, too
    Shape y = x;
    if (!c.try_value(1) || (c.has(3) && !c.try_value(3))) {
      for (Dim& d : y) d = c.unknown_extent();
      c.set(0, c.dtype(0), y);
      throw NotYetKnown{};
    }
    const auto pads = c.value(1);
    const Shape axes = c.has(3) ? Shape(numbers(c, 3)) : Shape{};
    const size_t n = c.has(3) ? axes.size() : x.rank();
    if (c.has(3)) AxisSet::of(axes, x.rank());
    require(pads.size() == 2 * n, ErrorCode::invalid_argument,
            "pads has {} elements for {} axes, expected two for each", pads.size(), n);
    for (size_t i = 0; i < n; ++i) {
      const size_t d = c.has(3) ? c.axis(axes[i], x.rank()) : i;
      if (is_known(pads[i]) && is_known(pads[n + i])) check_pads(pads[i], pads[n + i], d);
      y[d] = c.dims().add(c.dims().add(x[d], pads[i]), pads[n + i]);
      if (is_known(y[d]) && is_known(x[d])) check_axis(x[d], pads[i], pads[n + i], d);
    }
    c.set(0, c.dtype(0), y);
  }

  void run(RunContext& c) const {
    if (c.out_count() == 0) return;
    const Shape &x = c.shape(0), pads = integers(c, 1), axes = c.has(3) ? integers(c, 3) : Shape{};
    Shape before, after;
    before.resize(x.rank());
    after.resize(x.rank());
    const size_t n = pads.size() / 2;
    for (size_t i = 0; i < n; ++i) {
      const size_t d = c.has(3) ? normalize_axis(axes[i], x.rank()) : i;
      before[d] = pads[i];
      after[d] = pads[n + i];
    }
    const void* value = c.has(2) && c.count(2) > 0 ? c.data(2) : zero(c.dtype(0));
    if (is_packed(c.dtype(0))) return pad_packed(c, before, value);
    const kernels::PadArgs args{x, before, after, kind(), value};
    const bool done = kernels::pad(mover_of(c.dtype(0)), args, c.data(0), c.out_data(), c.parallel());
    require(done, ErrorCode::not_implemented,
            "of {} axes, more than 16 cannot be merged with a neighbour; remove axes of extent 1", x.rank());
  }

 private:
  static void check_pads(int64_t before, int64_t after, size_t axis) {
    constexpr int64_t kMost = int64_t(1) << 48;  // sums with them do not overflow
    require(std::max(before, after) < kMost && std::min(before, after) > -kMost, ErrorCode::invalid_argument,
            "pads {} and {} of axis {} are beyond 2^48; pad by less", before, after, axis);
  }

  // Modes that repeat the input need at least one element.
  void check_axis(int64_t extent, int64_t before, int64_t after, size_t axis) const {
    if (mode == "constant" || (before <= 0 && after <= 0) || extent + before + after == 0) return;
    const int64_t left = extent + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    require(left > 0, ErrorCode::invalid_argument, "axis {} is empty and has no element to pad with", axis);
  }

  kernels::PadMode kind() const {
    using enum kernels::PadMode;
    return mode == "reflect" ? reflect : mode == "edge" ? edge : mode == "wrap" ? wrap : constant;
  }

  // The position within an axis of n elements that position i takes its element from; -1: none. Reflection repeats for
  // pads longer than the axis.
  int64_t source(int64_t i, int64_t n) const {
    if (mode == "constant") return i >= 0 && i < n ? i : -1;
    if (mode == "edge") return std::clamp<int64_t>(i, 0, n - 1);
    const int64_t period = mode == "wrap" ? n : std::max<int64_t>(1, 2 * (n - 1));
    const int64_t at = (i % period + period) % period;
    return at < n ? at : period - at;
  }

  void pad_packed(RunContext& c, const Shape& before, const void* value) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const size_t bits = dtype_bits(c.dtype(0));
    Shape at = y;
    std::fill(at.begin(), at.end(), 0);
    for (size_t i = 0; i < c.out_count(); ++i, next_position(at, y)) {
      int64_t from = 0;
      for (size_t d = 0; d < x.rank() && from >= 0; ++d) {
        const int64_t on_axis = source(at[d] - before[d], x[d]);
        from = on_axis < 0 ? -1 : from * x[d] + on_axis;
      }
      const auto* data = static_cast<const uint8_t*>(from < 0 ? value : c.data(0));
      set_packed(static_cast<uint8_t*>(c.out_data()), i, bits,
                 get_packed(data, size_t(std::max<int64_t>(from, 0)), bits));
    }
  }
};

}  // namespace

extern const OpDef op_pad;
constinit const OpDef op_pad = define<Pad>({
    .name = "Pad",
    .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
    .inputs = {"data: T", "pads: int64", "constant_value: T?", "axes: Tind?"},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
