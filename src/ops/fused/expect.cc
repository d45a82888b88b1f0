// retort.Expect: X, whose extents must be those that the definition of a lifted operator requires. It is a view, so it
// only checks shapes when a run is laid out.
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Expect {
  static constexpr int64_t kAny = -1, kAxis0 = -2, kLast = INT64_MIN;
  std::string name;  ///< of X, in messages
  /// Of each axis: its extent, kAny, kAxis0 - the axis of `like` that has the same one, or kLast for its last axis.
  std::vector<int64_t> dims;
  bool or_one = false;  ///< X may also be a scalar, or a vector of one element
  static constexpr std::tuple attributes{attr("name", &Expect::name), attr("dims", &Expect::dims),
                                         attr("or_one", &Expect::or_one)};

  static bool is_one(const Shape& x) { return x.rank() == 0 || (x.rank() == 1 && x[0] == 1); }
  // Without `dims`, the shape is that of `like`.
  Shape wanted(const InferContext& c) const {
    if (dims.empty()) return c.shape(1);
    require(!c.ranked(0) || c.rank(0) == dims.size(), ErrorCode::invalid_argument, "{} has {} axes, expected {}", name,
            c.rank(0), dims.size());
    Shape shape;
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t axis = dims[i] == kLast ? c.rank(1) - 1 : size_t(kAxis0 - dims[i]);
      require(dims[i] > kAxis0 || axis < c.rank(1), ErrorCode::invalid_graph, "like has no axis {}", axis);
      shape.push_back(dims[i] >= 0 ? Dim(dims[i]) : dims[i] == kAny ? c.shape(0)[i] : c.shape(1)[axis]);
    }
    return shape;
  }
  void infer(InferContext& c) const {
    c.set(0, c.type(0));
    if (or_one && (!c.ranked(0) || is_one(c.shape(0)))) return c.ranked(0) ? infer_view(c, c.shape(0)) : void();
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
