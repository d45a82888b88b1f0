// Resize: resampling along some or all axes, one axis after the other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/nn/common/resample.h"

namespace retort::ops {
namespace {

struct Resize {
  bool antialias = false, exclude_outside = false;
  std::vector<int64_t> axes;
  std::string coordinate_transformation_mode = "half_pixel", keep_aspect_ratio_policy = "stretch", mode = "nearest",
              nearest_mode = "round_prefer_floor";
  float cubic_coeff_a = -0.75f, extrapolation_value = 0;
  static constexpr std::tuple attributes{
      attr("antialias", &Resize::antialias),
      attr("axes", &Resize::axes),
      attr("coordinate_transformation_mode", &Resize::coordinate_transformation_mode),
      attr("cubic_coeff_a", &Resize::cubic_coeff_a),
      attr("exclude_outside", &Resize::exclude_outside),
      attr("extrapolation_value", &Resize::extrapolation_value),
      attr("keep_aspect_ratio_policy", &Resize::keep_aspect_ratio_policy),
      attr("mode", &Resize::mode),
      attr("nearest_mode", &Resize::nearest_mode)};

  void check() const {
    require(coordinates_of(coordinate_transformation_mode) && interpolation_of(mode) && rounding_of(nearest_mode),
            ErrorCode::invalid_argument, "mode '{}', '{}', '{}' is not known", mode, coordinate_transformation_mode,
            nearest_mode);
    require(keep_aspect_ratio_policy == "stretch" || keep_aspect_ratio_policy == "not_larger" ||
                keep_aspect_ratio_policy == "not_smaller",
            ErrorCode::invalid_argument, "keep_aspect_ratio_policy '{}' is not known", keep_aspect_ratio_policy);
  }

  // The axes that scales, sizes and roi speak of.
  std::vector<size_t> resized_axes(size_t rank) const {
    std::vector<size_t> list(axes.empty() ? rank : axes.size());
    for (size_t i = 0; i < list.size(); ++i) list[i] = axes.empty() ? i : normalize_axis(axes[i], rank);
    return list;
  }
  static void check_length(size_t given, size_t wanted, std::string_view what) {
    require(given == wanted, ErrorCode::invalid_argument, "{} {} for {} axes", given, what, wanted);
  }
  // The one scale that keeps the aspect ratio; the smallest or largest of sizes / extents.
  float common_scale(const Shape& x, std::span<const Dim> sizes) const {
    const auto list = resized_axes(x.rank());
    float scale = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const float s = float(sizes[i]) / float(x[list[i]]);
      const bool first = i == 0, larger = s > scale;
      if (first || larger == (keep_aspect_ratio_policy == "not_smaller")) scale = s;
    }
    return scale;
  }
  bool stretches() const { return keep_aspect_ratio_policy == "stretch"; }

  static bool given(const InferContext& c, size_t i) {  // an empty tensor stands for an omitted one
    return c.has(i) && !(c.ranked(i) && c.rank(i) == 1 && c.shape(i)[0] == 0);
  }

  static Dim scaled(DimTable& dims, Dim extent, float scale) {
    require(scale > 0 && std::isfinite(scale), ErrorCode::invalid_argument, "a scale of {}", scale);
    if (is_known(extent)) {
      const float out = std::floor(float(extent) * scale);
      require(out < 0x1p62f, ErrorCode::invalid_argument, "extent {} times {}", extent, scale);
      return int64_t(out);
    }
    if (scale == std::floor(scale) && scale < 0x1p31f) return dims.mul(extent, int64_t(scale));
    return dims.fresh();
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const auto list = resized_axes(x.rank());
    Shape y = x;
    if (given(c, 3)) {
      const auto sizes = c.value(3);
      check_length(sizes.size(), list.size(), "sizes");
      const bool known = all_known(x) && all_known(sizes);
      for (size_t i = 0; i < list.size(); ++i) {
        const size_t a = list[i];
        y[a] = stretches() ? sizes[i]
               : known     ? int64_t(std::round(double(common_scale(x, sizes)) * double(x[a])))
                           : c.dims().fresh();
      }
    } else if (const auto scales = c.try_floats(2)) {
      check_length(scales->size(), list.size(), "scales");
      for (size_t i = 0; i < list.size(); ++i) y[list[i]] = scaled(c.dims(), x[list[i]], (*scales)[i]);
    } else {
      require(c.has(2), ErrorCode::invalid_argument, "neither scales nor sizes are given");
      throw NotYetKnown{};
    }
    c.set(0, c.dtype(0), y);
  }

  std::vector<AxisTable> tables(const RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const auto list = resized_axes(x.rank());
    const bool by_size = c.has(3) && c.count(3) != 0;
    const Resampling how{*interpolation_of(mode),
                         *coordinates_of(coordinate_transformation_mode),
                         *rounding_of(nearest_mode),
                         cubic_coeff_a,
                         exclude_outside,
                         antialias};
    std::vector<AxisTable> result(x.rank());
    for (AxisTable& t : result) t.identity = true;
    for (size_t i = 0; i < list.size(); ++i) {
      const size_t a = list[i];
      require(x[a] > 0 && x[a] < INT32_MAX, ErrorCode::invalid_argument, "an extent of {} cannot be resized", x[a]);
      AxisExtents axis{.in = x[a], .out = y[a]};
      axis.scale = !by_size      ? c.input<float>(2)[i]
                   : stretches() ? float(y[a]) / float(x[a])
                                 : common_scale(x, {c.input<int64_t>(3).data(), list.size()});
      if (how.coordinates == Coordinates::tf_crop_and_resize) {
        const std::vector<float> roi = load_roi(c, 2 * list.size());
        axis.roi_begin = roi[i];
        axis.roi_end = roi[i + list.size()];
      }
      result[a] = make_table(how, axis);
    }
    return result;
  }

  template <typename T>
  void reference(RunContext& c) const {
    if (c.out_count() == 0) return;
    const auto all = tables(c);
    if (mode == "nearest") {
      gather<T>(c, all);
    } else {
      interpolate<T>(c, all);
    }
    if (coordinate_transformation_mode == "tf_crop_and_resize") extrapolate<T>(c, all);
  }

 private:
  static std::vector<float> load_roi(const RunContext& c, size_t count) {
    require(c.has(1) && c.count(1) == count, ErrorCode::invalid_argument, "tf_crop_and_resize needs {} numbers in roi",
            count);
    std::vector<float> roi(count);
    for (size_t i = 0; i < count; ++i) {
      roi[i] = c.dtype(1) == DType::f64   ? float(c.input<double>(1)[i])
               : c.dtype(1) == DType::f16 ? float(c.input<float16>(1)[i])
                                          : c.input<float>(1)[i];
    }
    return roi;
  }

  // Calls f(output index, coordinates) for all output elements.
  template <typename F>
  static void for_each_output(const Shape& y, F&& f) {
    Shape at = y;
    std::fill(at.begin(), at.end(), 0);
    const size_t count = element_count(y);
    for (size_t i = 0; i < count; ++i) {
      f(i, at);
      for (size_t d = y.rank(); d-- > 0; at[d] = 0) {
        if (++at[d] < y[d]) break;
      }
    }
  }

  template <typename T>
  void gather(RunContext& c, const std::vector<AxisTable>& all) const {
    const T* x = c.input<T>(0).data();
    T* y = c.output<T>().data();
    for_each_output(c.out_shape(), [&](size_t i, const Shape& at) {
      int64_t from = 0;
      for (size_t d = 0; d < all.size(); ++d)
        from = from * c.shape(0)[d] + (all[d].identity ? at[d] : all[d].index[size_t(at[d])]);
      y[i] = x[from];
    });
  }

  template <typename T>
  void interpolate(RunContext& c, const std::vector<AxisTable>& all) const {
    const auto x = c.input<T>(0);
    std::vector<double> values(x.begin(), x.end()), next;
    Shape shape = c.shape(0);
    for (size_t d = shape.rank(); d-- > 0;) {
      if (all[d].identity) continue;
      const size_t outer = size_t(extent_product(shape, 0, d)),
                   inner = size_t(extent_product(shape, d + 1, shape.rank()));
      const size_t in = size_t(shape[d]), out = size_t(c.out_shape()[d]), taps = all[d].taps;
      next.assign(outer * out * inner, 0.0);
      for (size_t i = 0; i < outer * out * taps; ++i) {
        const size_t o = i / taps % out, row = i / (taps * out), entry = o * taps + i % taps;
        const double w = all[d].weight[entry];
        const double* from = values.data() + (row * in + size_t(all[d].index[entry])) * inner;
        double* to = next.data() + (row * out + o) * inner;
        for (size_t j = 0; j < inner; ++j) to[j] += w * from[j];
      }
      values.swap(next);
      shape[d] = c.out_shape()[d];
    }
    const auto y = c.output<T>();
    for (size_t i = 0; i < y.size(); ++i) y[i] = T(values[i]);
  }

  template <typename T>
  void extrapolate(RunContext& c, const std::vector<AxisTable>& all) const {
    T* y = c.output<T>().data();
    for_each_output(c.out_shape(), [&](size_t i, const Shape& at) {
      for (size_t d = 0; d < all.size(); ++d) {
        if (!all[d].outside.empty() && all[d].outside[size_t(at[d])]) y[i] = T(extrapolation_value);
      }
    });
  }
};

}  // namespace

extern const OpDef op_resize;
constinit const OpDef op_resize = define<Resize>({
    .name = "Resize",
    .since = {10, 11, 13, 18, 19},
    .inputs = {"X: T", "roi: T2?", "scales: S?", "sizes: I?"},
    .outputs = {"Y: T"},
    .types = kNumeric | kBool,
});

}  // namespace retort::ops
