// MaxRoiPool: the largest elements of regions of images, each region divided into bins of one grid. A region is [image,
// left, top, right, bottom] with both ends inside; its bins overlap by a pixel if their number does not divide it.
// Empty bins are 0, and NaN wins.
#include <cmath>

#include "base/checked.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct MaxRoiPool {
  std::vector<int64_t> pooled_shape{};
  float spatial_scale = 1;
  static constexpr std::tuple attributes{required("pooled_shape", &MaxRoiPool::pooled_shape),
                                         attr("spatial_scale", &MaxRoiPool::spatial_scale)};
  enum Input : size_t { kX, kRois };

  void check() const {
    require(pooled_shape.size() == 2 && pooled_shape[0] > 0 && pooled_shape[1] > 0, ErrorCode::invalid_argument,
            "pooled_shape is {}; set it to a height and a width of at least 1", to_string(pooled_shape));
    require(std::isfinite(spatial_scale), ErrorCode::invalid_argument, "spatial_scale is {}", spatial_scale);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &rois = c.shape(kRois);
    require(x.rank() == 4 && rois.rank() == 2 && may_equal(rois[1], 5), ErrorCode::invalid_argument,
            "X and rois have shapes {} and {}, expected [N,C,H,W] and [regions,5]", c.dims().text(x),
            c.dims().text(rois));
    c.set(0, c.dtype(kX), {rois[0], x[1], pooled_shape[0], pooled_shape[1]});
  }
  // The sizes of the regions are data.
  Cost cost(const CostContext&) const { return {.operations = kUnknown}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& x = c.shape(kX);
    const auto y = c.output<T>();
    const int64_t bins = y.empty() ? 1 : pooled_shape[0] * pooled_shape[1];
    check_regions<T>(c);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto bin = int64_t(i) % bins, channel = int64_t(i) / bins % x[1], r = int64_t(i) / bins / x[1];
      const Region<T> region(*this, c, size_t(r));
      const auto [top, bottom] = region.rows.bin(bin / pooled_shape[1]);
      const auto [left, right] = region.columns.bin(bin % pooled_shape[1]);
      const T* const plane = c.input<T>(kX).data() + (region.image * x[1] + channel) * x[2] * x[3];
      y[i] = bottom > top && right > left ? plane[top * x[3] + left] : T(0);
      for (int64_t h = top; h < bottom; ++h) {
        for (int64_t w = left; w < right; ++w) y[i] = larger(y[i], plane[h * x[3] + w]);
      }
    }
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(kX) != DType::f32 || c.out_count() == 0 || c.count(kX) == 0) return 0;
    return checked_mul(line_bytes(c) + bins_bytes(), size_t(c.parallel().workers()), "lines of an image");
  }

  // Reduces the rows of a bin first, column by column, then the columns of each bin.
  void fast(RunContext& c, std::type_identity<float>) const {
    check_regions<float>(c);
    if (c.out_count() == 0) return;
    const Shape& x = c.shape(kX);
    if (c.count(kX) == 0) {
      std::ranges::fill(c.output<float>(), 0.0f);
      return;
    }
    const size_t pixels = size_t(x[2] * x[3]), bins = size_t(pooled_shape[0] * pooled_shape[1]);
    c.parallel().for_each(size_t(c.shape(kRois)[0]), [&](size_t r, int worker) {
      char* const room = static_cast<char*>(c.scratch()) + size_t(worker) * (line_bytes(c) + bins_bytes());
      auto* const line = reinterpret_cast<float*>(room);
      auto* const ends = reinterpret_cast<Ends*>(room + line_bytes(c));
      const Region<float> region(*this, c, r);
      for (int64_t i = 0; i < pooled_shape[0]; ++i) ends[i] = region.rows.bin(i);
      for (int64_t i = 0; i < pooled_shape[1]; ++i) ends[pooled_shape[0] + i] = region.columns.bin(i);
      const float* plane = c.input<float>(kX).data() + size_t(region.image * x[1]) * pixels;
      float* y = c.output<float>().data() + r * size_t(x[1]) * bins;
      for (int64_t channel = 0; channel < x[1] && !c.parallel().cancelled(); ++channel, plane += pixels, y += bins)
        pool(ends, x[3], plane, line, y);
    });
  }

 private:
  using Ends = std::pair<int64_t, int64_t>;

  /// One axis of a region: `start` and `size` of its bins, in pixels of an image of `extent`.
  template <typename T>
  struct Bins {
    T start, size;
    int64_t extent;
    Bins(T first, T last, int64_t count, int64_t pixels)
        : start(std::round(first)), size(std::max(std::round(last) - start + 1, T(1)) / T(count)), extent(pixels) {}
    int64_t clamped(T pixel) const { return int64_t(std::clamp(double(pixel) + double(start), 0.0, double(extent))); }
    Ends bin(int64_t i) const { return {clamped(std::floor(T(i) * size)), clamped(std::ceil(T(i + 1) * size))}; }
  };
  template <typename T>
  struct Region {
    int64_t image;
    Bins<T> rows, columns;
    Region(const MaxRoiPool& op, const RunContext& c, size_t r) : Region(op, c.shape(kX), &c.input<T>(kRois)[r * 5]) {}
    Region(const MaxRoiPool& op, const Shape& x, const T* roi)
        : image(int64_t(roi[0])),
          rows(roi[2] * T(op.spatial_scale), roi[4] * T(op.spatial_scale), op.pooled_shape[0], x[2]),
          columns(roi[1] * T(op.spatial_scale), roi[3] * T(op.spatial_scale), op.pooled_shape[1], x[3]) {}
  };

  template <typename T>
  static T larger(T a, T b) {
    return b > a || b != b ? b : a;
  }

  template <typename T>
  void check_regions(const RunContext& c) const {
    const auto rois = c.input<T>(kRois);
    for (size_t r = 0; r + 5 <= rois.size(); r += 5) {
      require(rois[r] >= 0 && double(rois[r]) < double(c.shape(kX)[0]), ErrorCode::invalid_argument,
              "region {} is of image {}, which is outside of [0, {})", r / 5, double(rois[r]), c.shape(kX)[0]);
      for (size_t i = 1; i < 5; ++i)
        require(std::abs(double(rois[r + i]) * double(spatial_scale)) < 1e18, ErrorCode::invalid_argument,
                "region {} ends at {}; coordinates must be finite numbers below 1e18", r / 5, double(rois[r + i]));
    }
  }

  static size_t line_bytes(const RunContext& c) { return round_up(size_t(c.shape(kX)[3]) * sizeof(float), 64); }
  size_t bins_bytes() const {
    const size_t bins = checked_add(size_t(pooled_shape[0]), size_t(pooled_shape[1]), "rows and columns of bins");
    return round_up(checked_mul(bins, sizeof(Ends), "ends of bins"), 64);
  }

  /// `bins` holds those of the rows, then those of the columns.
  void pool(const Ends* bins, int64_t width, const float* plane, float* line, float* y) const {
    const Ends* const columns = bins + pooled_shape[0];
    const int64_t begin = columns[0].first, end = columns[pooled_shape[1] - 1].second;
    for (int64_t i = 0; i < pooled_shape[0]; ++i, y += pooled_shape[1]) {
      const auto [top, bottom] = bins[i];
      if (bottom <= top) {
        std::fill_n(y, pooled_shape[1], 0.0f);
        continue;
      }
      std::copy(plane + top * width + begin, plane + top * width + end, line + begin);
      for (int64_t h = top + 1; h < bottom; ++h) {
        for (int64_t w = begin; w < end; ++w) line[w] = larger(line[w], plane[h * width + w]);
      }
      bool nan = false;
      for (int64_t w = begin; w < end; ++w) nan |= line[w] != line[w];
      const auto each = [&](const auto& most_of) {
        for (int64_t j = 0; j < pooled_shape[1]; ++j) {
          const auto [left, right] = columns[j];
          y[j] = left < right ? line[left] : 0.0f;
          for (int64_t w = left + 1; w < right; ++w) y[j] = most_of(y[j], line[w]);
        }
      };
      nan ? each(larger<float>) : each([](float a, float b) { return a < b ? b : a; });
    }
  }
};

}  // namespace

extern const OpDef op_max_roi_pool;
constinit const OpDef op_max_roi_pool = define<MaxRoiPool>({
    .name = "MaxRoiPool",
    .since = {1, 22},
    .inputs = {"X: T", "rois: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
