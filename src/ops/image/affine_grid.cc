// AffineGrid: the positions that an affine map gives to the elements of an image; for GridSample.
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct AffineGrid {
  bool align_corners = false;
  static constexpr std::tuple attributes{attr("align_corners", &AffineGrid::align_corners)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& theta = c.shape(0);
    const auto size = c.value(1);
    const size_t axes = size.size() - 2;
    require((size.size() == 4 || size.size() == 5) && theta.rank() == 3 && may_equal(theta[0], size[0]) &&
                may_equal(theta[1], int64_t(axes)) && may_equal(theta[2], int64_t(axes) + 1),
            ErrorCode::invalid_argument, "theta of shape {} for an image of shape {}", c.dims().text(theta),
            c.dims().text(size));
    Shape y{size[0]};
    for (size_t d = 0; d < axes; ++d) y.push_back(size[d + 2]);
    y.push_back(int64_t(axes));
    c.set(0, c.dtype(0), y);
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& y = c.out_shape();
    const size_t axes = y.rank() - 2, pixels = size_t(extent_product(y, 1, axes + 1));
    const T* theta = c.input<T>(0).data();
    T* to = c.output<T>().data();
    for (size_t i = 0; i < size_t(y[0]) * pixels; ++i) {
      const T* row = theta + i / pixels * axes * (axes + 1);
      std::array<T, 4> place{};  // last axis first
      size_t rest = i % pixels;
      for (size_t d = axes; d-- > 0;) {
        const auto n = size_t(y[d + 1]), at = rest % n;
        rest /= n;
        place[axes - 1 - d] =
            align_corners ? T(2) * T(at) / T(std::max<size_t>(n - 1, 1)) - 1 : (2 * T(at) + 1) / T(n) - 1;
      }
      for (size_t d = 0; d < axes; ++d, row += axes + 1) {
        T sum = row[axes];
        for (size_t k = 0; k < axes; ++k) sum += row[k] * place[k];
        *to++ = sum;
      }
    }
  }
};

}  // namespace

extern const OpDef op_affine_grid;
constinit const OpDef op_affine_grid = define<AffineGrid>({
    .name = "AffineGrid",
    .since = {20},
    .inputs = {"theta: T", "size: int64"},
    .outputs = {"grid: T"},
    .types = kFloats,
});

}  // namespace retort::ops
