// CumSum: running sums along an axis; exclusive ones leave the element itself out, reverse ones start at the end.
// Integers wrap around.
#include "kernels/move/sequence.h"
#include "ops/elementwise.h"
#include "ops/integers.h"
#include "ops/math/arithmetic.h"

namespace retort::ops {
namespace {

struct CumSum {
  bool exclusive = false, reverse = false;
  static constexpr std::tuple attributes{attr("exclusive", &CumSum::exclusive), attr("reverse", &CumSum::reverse)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
    if (const auto axis = c.try_value(1); axis && all_known(*axis)) c.axis(scalar_value(c, 1), c.rank(0));
  }

  template <typename T>
  void reference(RunContext& c) const {
    using S = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const Shape& shape = c.shape(0);
    const size_t axis = normalize_axis(integer(c, 1), shape.rank());
    const size_t n = size_t(shape[axis]), inner = size_t(extent_product(shape, axis + 1, shape.rank()));
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size() / std::max<size_t>(n, 1); ++i) {
      const size_t begin = i / inner * n * inner + i % inner;
      S sum = 0;
      for (size_t k = 0; k < n; ++k) {
        const size_t at = begin + (reverse ? n - 1 - k : k) * inner;
        const S before = sum;
        sum = wrap_add(sum, S(x[at]));
        y[at] = T(exclusive ? before : sum);
      }
    }
  }

  template <OneOf<float, double, int32_t, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const Shape& shape = c.shape(0);
    const size_t axis = normalize_axis(integer(c, 1), shape.rank());
    const kernels::CumSum args{.outer = size_t(extent_product(shape, 0, axis)),
                               .extent = size_t(shape[axis]),
                               .inner = size_t(extent_product(shape, axis + 1, shape.rank())),
                               .exclusive = exclusive,
                               .reverse = reverse};
    kernels::cumsum(args, c.input<T>(0).data(), c.output<T>().data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_cum_sum;
constinit const OpDef op_cum_sum = define<CumSum>({
    .name = "CumSum",
    .since = {11, 14},
    .inputs = {"x: T", "axis: T2"},
    .outputs = {"y: T"},
    .types = kNumeric,
});

}  // namespace retort::ops
