// AffineGrid: the positions to which an affine map moves the elements of an image, for GridSample.
#include "kernels/elementwise/chunks.h"
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct AffineGrid {
  bool align_corners = false;
  static constexpr std::tuple attributes{attr("align_corners", &AffineGrid::align_corners)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    expect_rank(c, 1, 1);
    const Shape& theta = c.shape(0);
    const auto size = c.value(1);
    const size_t axes = size.size() - 2;
    require((size.size() == 4 || size.size() == 5) && theta.rank() == 3 && may_equal(theta[0], size[0]) &&
                may_equal(theta[1], int64_t(axes)) && may_equal(theta[2], int64_t(axes) + 1),
            ErrorCode::invalid_argument, "theta has shape {}, which does not match an image of shape {}",
            c.dims().text(theta), c.dims().text(size));
    Shape y{size[0]};
    for (size_t d = 0; d < axes; ++d) y.push_back(size[d + 2]);
    y.push_back(int64_t(axes));
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.out_count() * c.extent(0, -1)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& y = c.out_shape();
    const size_t axes = y.rank() - 2, pixels = size_t(extent_product(y, 1, axes + 1));
    const T* theta = c.input<T>(0).data();
    T* to = c.output<T>().data();
    for (size_t i = 0; i < size_t(y[0]) * pixels; ++i) {
      const T* row = theta + i / pixels * axes * (axes + 1);
      std::array<T, 4> position{};  // the last axis is first
      size_t rest = i % pixels;
      for (size_t d = axes; d-- > 0;) {
        const auto n = size_t(y[d + 1]), at = rest % n;
        rest /= n;
        position[axes - 1 - d] = place<T>(at, n);
      }
      for (size_t d = 0; d < axes; ++d, row += axes + 1) {
        T sum = row[axes];
        for (size_t k = 0; k < axes; ++k) sum += row[k] * position[k];
        *to++ = sum;
      }
    }
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32 || c.out_count() == 0) return 0;  // an empty grid may have any width
    return size_t(c.out_shape()[c.out_shape().rank() - 2]) * sizeof(float);
  }

  // Computes lines of the innermost axis, whose coordinates are computed once.
  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.out_count() == 0) return;
    const Shape& y = c.out_shape();
    const size_t axes = y.rank() - 2, width = size_t(y[axes]);
    const size_t rows = size_t(y[axes - 1]), slices = axes == 3 ? size_t(y[1]) : 1;
    auto* places = static_cast<float*>(c.scratch());
    for (size_t x = 0; x < width; ++x) places[x] = place<float>(x, width);
    kernels::for_chunks(
        c.parallel(), size_t(y[0]) * slices * rows,
        [&](size_t begin, size_t end) {
          for (size_t line = begin; line < end; ++line) {
            const float* theta = c.input<float>(0).data() + line / rows / slices * axes * (axes + 1);
            const auto row = place<float>(line % rows, rows), slice = place<float>(line / rows % slices, slices);
            float* to = c.output<float>().data() + line * width * axes;
            axes == 2 ? fill_line<2>(theta, places, {row, slice}, {to, width * axes})
                      : fill_line<3>(theta, places, {row, slice}, {to, width * axes});
          }
        },
        std::max<size_t>(kernels::kChunk / std::max<size_t>(width, 1), 1));
  }

 private:
  // The coordinate, between -1 and 1, of element i of n.
  template <typename T>
  T place(size_t i, size_t n) const {
    return align_corners ? 2 * T(i) / T(std::max<size_t>(n - 1, 1)) - 1 : (2 * T(i) + 1) / T(n) - 1;
  }

  // Computes element by element in the order of the reference.
  template <size_t kAxes>
  static void fill_line(const float* theta, const float* places, std::array<float, 2> outer, std::span<float> y) {
    std::array<std::array<float, kAxes + 1>, kAxes> rows;
    for (size_t d = 0; d < kAxes; ++d) std::copy_n(theta + d * (kAxes + 1), kAxes + 1, rows[d].begin());
    for (size_t x = 0; x < y.size() / kAxes; ++x) {
      for (size_t d = 0; d < kAxes; ++d) {
        float sum = rows[d][kAxes] + rows[d][0] * places[x];
        for (size_t k = 1; k < kAxes; ++k) sum += rows[d][k] * outer[k - 1];
        y[x * kAxes + d] = sum;
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
