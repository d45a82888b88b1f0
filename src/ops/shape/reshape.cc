// Reshape: the same elements under the shape of the second input, where 0 keeps the input's extent (unless allowzero)
// and one -1 stands for the remaining elements. Kept extents do not count for the -1, so that an empty batch has one.
#include "ops/integers.h"
#include "ops/shape/common/view.h"

namespace retort::ops {
namespace {

struct Reshape {
  bool allowzero = false;
  static constexpr std::tuple attributes{attr("allowzero", &Reshape::allowzero)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    expect_rank(c, 1, 1);
    if (!c.try_value(1)) return infer_rank(c);
    const auto wanted = c.value(1);
    const Shape& x = c.shape(0);
    Shape y, given, others = x;   // the extents that y does not copy, and those of x that it does not copy
    size_t rest = wanted.size();  // index of the -1
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool copy = wanted[i] == 0 && !allowzero;
      if (copy && i >= x.rank()) reject(c, x, wanted, "its 0 copies an extent that the input does not have");
      if (is_known(wanted[i]) && wanted[i] < -1) reject(c, x, wanted, "it has a negative extent");
      if (wanted[i] == -1 && rest < wanted.size()) reject(c, x, wanted, "it has more than one -1");
      y.push_back(copy ? x[i] : wanted[i]);
      if (wanted[i] == -1)
        rest = i;
      else if (copy)
        others[i] = 1;
      else
        given.push_back(wanted[i]);
    }
    if (rest < wanted.size())
      y[rest] = remaining(c, y, others, given);
    else if (all_known(x) && all_known(y) && element_count(x) != element_count(y))
      reject(c, x, wanted, "the numbers of elements differ");
    infer_view(c, y);
  }

  void run(RunContext& c) const { run_view(c); }

 private:
  // The content of `shape` is unknown, but the rank may follow from its length.
  static void infer_rank(InferContext& c) {
    if (c.ranked(1) && c.rank(1) == 1 && is_known(c.shape(1)[0]) && c.shape(1)[0] <= 64) {
      Shape y;
      for (Dim i = 0; i < c.shape(1)[0]; ++i) y.push_back(c.unknown_extent());
      c.set(0, c.dtype(0), y);
    }
    throw NotYetKnown{};
  }

  // The product of `above` divided by that of `given`; equal extents cancel first. `y` is the target with its -1.
  static Dim remaining(InferContext& c, const Shape& y, Shape above, const Shape& given) {
    DimTable& dims = c.dims();
    Dim below = 1;
    for (const Dim extent : given) {
      const auto same = std::find(above.begin(), above.end(), extent);
      if (same != above.end() && extent != 0)
        *same = 1;
      else
        below = dims.mul(below, extent);
    }
    const Dim total = dims.product(above);
    const bool numbers = is_known(total) && is_known(below);
    if (below == 0 || (numbers && total % below != 0)) reject(c, c.shape(0), y, "no extent for -1 makes it fit");
    return dims.div(total, below);
  }

  [[noreturn]] static void reject(InferContext& c, const Shape& x, std::span<const Dim> wanted, const char* why) {
    fail(ErrorCode::invalid_argument, "an input of shape {} cannot be reshaped to {}: {}", c.dims().text(x),
         c.dims().text(wanted), why);
  }
};

}  // namespace

extern const OpDef op_reshape;
constinit const OpDef op_reshape = define<Reshape>({
    .name = "Reshape",
    .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
    .inputs = {"data: T", "shape: int64"},
    .outputs = {"reshaped: T"},
    .traits = kView | kMayAliasInput0,
});

}  // namespace retort::ops
