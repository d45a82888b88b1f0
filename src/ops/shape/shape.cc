// Shape: the extents [start, end) of the input as a vector.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct ShapeOp {
  int64_t start = 0;
  std::optional<int64_t> end;
  static constexpr std::tuple attributes{attr("start", &ShapeOp::start), attr("end", &ShapeOp::end)};

  // The requested part of a shape: bounds count from the end if negative, and are clamped.
  std::span<const Dim> part(const Shape& x) const {
    const int64_t rank = int64_t(x.rank());
    const auto bound = [&](int64_t b) { return std::clamp<int64_t>(b < 0 ? b + rank : b, 0, rank); };
    const int64_t first = bound(start), last = end ? bound(*end) : rank;
    return std::span<const Dim>(x).subspan(size_t(first), size_t(std::max<int64_t>(last - first, 0)));
  }

  void infer(InferContext& c) const {
    c.set(0, DType::i64);
    const auto extents = part(c.shape(0));
    c.set(0, DType::i64, Shape{int64_t(extents.size())});
    c.set_value(0, extents);
  }
  void run(RunContext& c) const {
    const auto extents = part(c.shape(0));
    std::copy(extents.begin(), extents.end(), c.output<int64_t>().begin());
  }
};

}  // namespace

extern const OpDef op_shape;
constinit const OpDef op_shape = define<ShapeOp>({
    .name = "Shape",
    .since = {1, 13, 15, 19, 21, 23, 24, 25},
    .inputs = {"data: T"},
    .outputs = {"shape: int64"},
});

}  // namespace retort::ops
