// com.microsoft.CropAndResize: regions of images [y1, x1, y2, x2], whose corners 0 and 1 are the centres of the first
// and last pixels, sampled at points of even distance from edge to edge (one point: the middle). Points outside of the
// image are the extrapolation value.
#include <cmath>

#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct CropAndResize {
  std::string mode = "bilinear";
  float extrapolation = 0;
  static constexpr std::tuple attributes{attr("mode", &CropAndResize::mode),
                                         attr("extrapolation_value", &CropAndResize::extrapolation)};
  enum Input : size_t { kX, kRois, kImages, kSize };

  void check() const {
    require(mode == "bilinear" || mode == "nearest", ErrorCode::invalid_argument,
            "mode \"{}\" is neither bilinear nor nearest", mode);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &rois = c.shape(kRois), &images = c.shape(kImages), &size = c.shape(kSize);
    require(x.rank() == 4 && rois.rank() == 2 && may_equal(rois[1], 4) && images.rank() == 1 &&
                may_equal(images[0], rois[0]) && size.rank() == 1 && may_equal(size[0], 2),
            ErrorCode::invalid_argument, "X, rois, batch_indices and crop_size of shapes {}, {}, {} and {}",
            c.dims().text(x), c.dims().text(rois), c.dims().text(images), c.dims().text(size));
    Shape y{rois[0], x[1], c.try_value(kSize) ? c.value(kSize)[0] : c.unknown_extent(),
            c.try_value(kSize) ? c.value(kSize)[1] : c.unknown_extent()};
    for (size_t i = 2; i < 4; ++i)
      require(!is_known(y[i]) || y[i] > 0, ErrorCode::invalid_argument, "crop_size {} is not positive", y[i]);
    c.set(0, c.dtype(kX), y);
  }
  Cost cost(const CostContext& c) const { return {.operations = c.out_count() * (mode == "nearest" ? 1 : 9)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape &x = c.shape(kX), &y = c.out_shape();
    const auto images = c.input<int32_t>(kImages);
    for (size_t r = 0; r < images.size(); ++r)
      require(images[r] >= 0 && images[r] < x[0], ErrorCode::invalid_argument, "batch index {} is outside of [0, {})",
              images[r], x[0]);
    const size_t channels = size_t(x[1]), pixels = size_t(x[2] * x[3]), samples = size_t(y[2] * y[3]);
    if (channels == 0) return;
    c.parallel().for_each(images.size() * size_t(y[2]), [&](size_t task, int) {
      const size_t r = task / size_t(y[2]);
      const T* roi = c.input<T>(kRois).data() + r * 4;
      const int64_t row = int64_t(task % size_t(y[2]));
      const Place v = place(roi[0], roi[2], row, y[2], x[2]);
      const T* image = c.input<T>(kX).data() + size_t(images[r]) * channels * pixels;
      T* to = c.output<T>().data() + r * channels * samples + size_t(row * y[3]);
      for (int64_t column = 0; column < y[3]; ++column) {
        const Place u = place(roi[1], roi[3], column, y[3], x[3]);
        for (size_t k = 0; k < channels; ++k) to[k * samples + size_t(column)] = sample(image + k * pixels, u, v, x[3]);
      }
    });
  }

 private:
  // A point on an axis: pixels around it, and how far it is from the lower one.
  struct Place {
    bool inside = false;
    int64_t low = 0, high = 0, nearest = 0;
    double part = 0;
  };
  template <typename T>
  static Place place(T begin, T end, int64_t i, int64_t count, int64_t extent) {
    const T last = T(extent - 1);
    T at = begin * last + T(i) * ((end - begin) * last / T(std::max<int64_t>(count - 1, 1)));
    if (i == 0) at = begin * last;
    if (i == count - 1) at = end * last;
    if (count == 1) at = T(0.5 * double(begin + end) * double(last));
    if (!(at >= 0 && at <= last)) return {};
    const T low = std::floor(at);
    return {true, int64_t(low), int64_t(std::ceil(at)), int64_t(std::round(at)), double(at - low)};
  }
  template <typename T>
  T sample(const T* image, const Place& u, const Place& v, int64_t width) const {
    if (!u.inside || !v.inside) return T(extrapolation);
    if (mode == "nearest") return image[v.nearest * width + u.nearest];
    const auto line = [&](int64_t row) {
      const T left = image[row * width + u.low], right = image[row * width + u.high];
      return left + (right - left) * T(u.part);
    };
    const T top = line(v.low);
    return top + (line(v.high) - top) * T(v.part);
  }
};

}  // namespace

extern const OpDef op_crop_and_resize;
constinit const OpDef op_crop_and_resize = define<CropAndResize>({
    .name = "CropAndResize",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "rois: T", "batch_indices: int32", "crop_size: int32"},
    .outputs = {"Y: T"},
    .types = kFloats & ~types({DType::bf16}),
});

}  // namespace retort::ops
