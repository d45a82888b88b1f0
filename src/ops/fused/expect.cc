// retort.Expect: X, whose extents must be those that the definition of a lifted operator requires. It is a view, so it
// only checks shapes when a run is laid out.
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Expect {
  static constexpr int64_t kAny = -1, kAxis0 = -2;
  std::string name;           ///< of X, in messages
  std::vector<int64_t> dims;  ///< of each axis: its extent, kAny, or kAxis0 - the axis of `like` that has the same one
  static constexpr std::tuple attributes{attr("name", &Expect::name), attr("dims", &Expect::dims)};

  // Without `dims`, the shape is that of `like`.
  Shape wanted(const InferContext& c) const {
    if (dims.empty()) return c.shape(1);
    require(!c.ranked(0) || c.rank(0) == dims.size(), ErrorCode::invalid_argument, "{} has {} axes, expected {}", name,
            c.rank(0), dims.size());
    Shape shape;
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto axis = size_t(kAxis0 - dims[i]);
      require(dims[i] > kAxis0 || axis < c.rank(1), ErrorCode::invalid_graph, "like has no axis {}", axis);
      shape.push_back(dims[i] >= 0 ? Dim(dims[i]) : dims[i] == kAny ? c.shape(0)[i] : c.shape(1)[axis]);
    }
    return shape;
  }
  void infer(InferContext& c) const {
    c.set(0, c.type(0));
    const Shape shape = wanted(c);
    if (!c.ranked(0)) return c.set(0, c.dtype(0), shape);
    expect_shape(c, 0, name, shape);
    Shape known = c.shape(0);
    for (size_t i = 0; i < known.rank(); ++i) known[i] = is_known(known[i]) ? known[i] : shape[i];
    infer_view(c, known);
  }
  void run(RunContext& c) const { run_view(c); }
};

}  // namespace

extern const OpDef op_expect;
constinit const OpDef op_expect = define<Expect>({
    .name = "Expect",
    .domain = "retort",
    .inputs = {"X: T", "like: V?"},
    .outputs = {"Y: T"},
    .traits = kInternal | kView | kMayAliasInput0,
});

}  // namespace retort::ops
