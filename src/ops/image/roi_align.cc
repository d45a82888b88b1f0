// RoiAlign: pools regions of an image to one size, from values interpolated within each region's bins.
#include <cmath>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct RoiAlign {
  std::string coordinates = "half_pixel", mode = "avg";
  int64_t height = 1, width = 1, ratio = 0;
  float scale = 1;
  static constexpr std::tuple attributes{attr("coordinate_transformation_mode", &RoiAlign::coordinates),
                                         attr("mode", &RoiAlign::mode),
                                         attr("output_height", &RoiAlign::height),
                                         attr("output_width", &RoiAlign::width),
                                         attr("sampling_ratio", &RoiAlign::ratio),
                                         attr("spatial_scale", &RoiAlign::scale)};
  enum Input : size_t { kX, kRois, kImages };
  static constexpr double kMostSamples = 1 << 20;

  void check() const {
    require(mode == "avg" || mode == "max", ErrorCode::invalid_argument, "mode \"{}\" is neither avg nor max", mode);
    require(coordinates == "half_pixel" || coordinates == "output_half_pixel", ErrorCode::invalid_argument,
            "coordinate_transformation_mode \"{}\" is neither half_pixel nor output_half_pixel", coordinates);
    require(height > 0 && width > 0 && ratio >= 0, ErrorCode::invalid_argument,
            "output_height {}, output_width {}, sampling_ratio {}", height, width, ratio);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &rois = c.shape(kRois), &images = c.shape(kImages);
    require(x.rank() == 4 && rois.rank() == 2 && may_equal(rois[1], 4) && images.rank() == 1 &&
                may_equal(images[0], rois[0]),
            ErrorCode::invalid_argument, "X, rois and batch_indices of shapes {}, {} and {}", c.dims().text(x),
            c.dims().text(rois), c.dims().text(images));
    c.set(0, c.dtype(kX), {rois[0], x[1], height, width});
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& x = c.shape(kX);
    const auto channels = size_t(x[1]), pixels = size_t(x[2] * x[3]);
    T* to = c.output<T>().data();
    for (size_t r = 0; r < size_t(c.shape(kRois)[0]); ++r) {
      const int64_t image = c.input<int64_t>(kImages)[r];
      require(image >= 0 && image < x[0], ErrorCode::invalid_argument, "batch index {} is outside of [0, {})", image,
              x[0]);
      const Region<T> region = region_of(c.input<T>(kRois).data() + r * 4);
      for (size_t channel = 0; channel < channels && !c.parallel().cancelled(); ++channel) {
        const T* plane = c.input<T>(kX).data() + (size_t(image) * channels + channel) * pixels;
        for (int64_t i = 0; i < height * width; ++i) *to++ = pooled(region, plane, x[2], x[3], i / width, i % width);
      }
    }
  }

 private:
  template <typename T>
  struct Region {
    T top, left, bin_height, bin_width;
    int64_t rows, columns;  // samples of a bin
  };
  template <typename T>
  Region<T> region_of(const T* roi) const {
    const bool shifted = coordinates == "half_pixel";
    const T shift = shifted ? T(0.5) : T(0);
    const T left = roi[0] * T(scale) - shift, top = roi[1] * T(scale) - shift;
    T w = roi[2] * T(scale) - shift - left, h = roi[3] * T(scale) - shift - top;
    if (!shifted) {
      w = std::max(w, T(1));
      h = std::max(h, T(1));
    }
    Region<T> r{top, left, h / T(height), w / T(width), ratio, ratio};
    if (ratio > 0) return r;
    require(std::abs(double(r.bin_height)) < kMostSamples && std::abs(double(r.bin_width)) < kMostSamples,
            ErrorCode::invalid_argument, "a region of {} by {} pixels", double(h), double(w));
    r.rows = int64_t(std::ceil(r.bin_height));
    r.columns = int64_t(std::ceil(r.bin_width));
    return r;
  }

  template <typename T>
  T pooled(const Region<T>& r, const T* plane, int64_t h, int64_t w, int64_t row, int64_t column) const {
    const bool largest = mode == "max";
    T value = 0;
    bool any = false;
    for (int64_t i = 0; i < r.rows * r.columns; ++i) {
      const T y = r.top + T(row) * r.bin_height + (T(i / r.columns) + T(0.5)) * r.bin_height / T(r.rows);
      const T x = r.left + T(column) * r.bin_width + (T(i % r.columns) + T(0.5)) * r.bin_width / T(r.columns);
      const T sample = interpolated(plane, h, w, y, x, largest);
      value = largest ? (any ? std::max(value, sample) : sample) : value + sample;
      any = true;
    }
    return largest ? value : value / T(std::max<int64_t>(r.rows * r.columns, 1));
  }
  // Of four neighbours; the largest mode takes the largest weighted one, as the operator is defined by its first
  // implementation.
  template <typename T>
  static T interpolated(const T* plane, int64_t h, int64_t w, T y, T x, bool largest) {
    if (!(y >= -1 && y <= T(h) && x >= -1 && x <= T(w)) || h == 0 || w == 0) return 0;
    y = std::max(y, T(0));
    x = std::max(x, T(0));
    const int64_t top = std::min(int64_t(y), h - 1), left = std::min(int64_t(x), w - 1);
    const int64_t bottom = std::min(top + 1, h - 1), right = std::min(left + 1, w - 1);
    const T dy = top == h - 1 ? T(0) : y - T(top), dx = left == w - 1 ? T(0) : x - T(left);
    const T parts[] = {(1 - dy) * (1 - dx) * plane[top * w + left], (1 - dy) * dx * plane[top * w + right],
                       dy * (1 - dx) * plane[bottom * w + left], dy * dx * plane[bottom * w + right]};
    if (largest) return *std::max_element(std::begin(parts), std::end(parts));
    return parts[0] + parts[1] + parts[2] + parts[3];
  }
};

}  // namespace

extern const OpDef op_roi_align;
constinit const OpDef op_roi_align = define<RoiAlign>({
    .name = "RoiAlign",
    .since = {10, 16, 22},
    .inputs = {"X: T", "rois: T", "batch_indices: int64"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
