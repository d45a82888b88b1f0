// Resize: resampling along some or all axes, one axis after the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <tuple>

#include "base/checked.h"
#include "kernels/resize/narrow.h"
#include "kernels/resize/nearest.h"
#include "kernels/resize/planes.h"
#include "ops/complex_parts.h"
#include "ops/nn/common/resize_reference.h"

namespace retort::ops {

extern const OpDef op_resize;

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
    const auto expect = [](bool known, std::string_view attribute, std::string_view value) {
      require(known, ErrorCode::invalid_argument, "{} is '{}', which the standard does not have", attribute, value);
    };
    expect(interpolation_of(mode).has_value(), "mode", mode);
    expect(coordinates_of(coordinate_transformation_mode).has_value(), "coordinate_transformation_mode",
           coordinate_transformation_mode);
    expect(rounding_of(nearest_mode).has_value(), "nearest_mode", nearest_mode);
    expect(stretches() || keep_aspect_ratio_policy == "not_larger" || keep_aspect_ratio_policy == "not_smaller",
           "keep_aspect_ratio_policy", keep_aspect_ratio_policy);
  }

  // The axes that scales, sizes and roi refer to.
  Shape resized_axes(size_t rank) const {
    Shape list;
    for (size_t i = 0; i < (axes.empty() ? rank : axes.size()); ++i)
      list.push_back(int64_t(axes.empty() ? i : normalize_axis(axes[i], rank)));
    return list;
  }
  static void check_length(size_t given, size_t wanted, std::string_view what) {
    require(given == wanted, ErrorCode::invalid_argument, "{} {} for {} axes", given, what, wanted);
  }
  /// A scale as size / extent, of which a half is told from what lies beside it.
  struct Ratio {
    int64_t size = 0, extent = 1;
    float value() const { return float(size) / float(extent); }
    bool above(const Ratio& other) const {
      return checked_mul(size, other.extent, "a scale") > checked_mul(other.size, extent, "a scale");
    }
    /// Half up.
    Dim times(int64_t x) const {
      const int64_t product = checked_mul(checked_mul(x, size, "an extent"), int64_t(2), "an extent");
      return checked_add(product, extent, "an extent") / checked_mul(extent, int64_t(2), "an extent");
    }
  };
  // The single scale that keeps the aspect ratio: the smallest or largest of sizes / extents.
  Ratio common_scale(const Shape& x, std::span<const Dim> sizes) const {
    const auto list = resized_axes(x.rank());
    Ratio scale;
    for (size_t i = 0; i < list.size(); ++i) {
      const Ratio r{sizes[i], x[size_t(list[i])]};
      require(r.size >= 0 && r.extent > 0, ErrorCode::invalid_argument, "an extent of {} cannot be resized to {}",
              r.extent, r.size);
      if (i == 0 || r.above(scale) == (keep_aspect_ratio_policy == "not_smaller")) scale = r;
    }
    return scale;
  }
  bool stretches() const { return keep_aspect_ratio_policy == "stretch"; }

  static bool given(const InferContext& c, size_t i) {  // an empty tensor counts as an omitted one
    return c.has(i) && !(c.ranked(i) && c.rank(i) == 1 && c.shape(i)[0] == 0);
  }

  static Dim scaled(DimTable& dims, Dim extent, float scale) {
    require(scale > 0 && std::isfinite(scale), ErrorCode::invalid_argument,
            "a scale is {}, expected a finite number above 0", scale);
    if (is_known(extent)) {
      const float out = std::floor(float(extent) * scale);
      require(out < 0x1p62f, ErrorCode::invalid_argument, "extent {} times {}", extent, scale);
      return int64_t(out);
    }
    if (scale == std::floor(scale) && scale < 0x1p31f) return dims.mul(extent, int64_t(scale));
    return dims.fresh_extent();
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    const auto list = resized_axes(x.rank());
    Shape y = x;
    if (given(c, 3)) {
      require(c.dtype(3) == DType::i64, ErrorCode::invalid_argument, "sizes are of type {}, expected int64",
              dtype_name(c.dtype(3)));
      const auto sizes = c.try_value(3);
      if (sizes) check_length(sizes->size(), list.size(), "sizes");
      const bool known = sizes && all_known(x) && all_known(*sizes);
      for (size_t i = 0; i < list.size(); ++i) {
        const auto a = size_t(list[i]);
        y[a] = !sizes        ? c.unknown_extent()
               : stretches() ? (*sizes)[i]
               : known       ? common_scale(x, *sizes).times(x[a])
                             : c.dims().fresh_extent();
      }
    } else if (const auto scales = c.try_floats(2)) {
      check_length(scales->size(), list.size(), "scales");
      for (size_t i = 0; i < list.size(); ++i) {
        const auto a = size_t(list[i]);
        y[a] = scaled(c.dims(), x[a], (*scales)[i]);
      }
    } else {
      require(c.has(2), ErrorCode::invalid_argument, "neither scales nor sizes are given");
      for (const Dim a : list) y[size_t(a)] = c.unknown_extent();
    }
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext& c) const {
    if (mode == "nearest") return {};
    double taps = 1;
    for (size_t d = 0; d < c.rank(0); ++d) {
      const double in = c.extent(0, int(d)), out = c.out_extent(0, int(d));
      if (in != out) taps *= (mode == "linear" ? 2 : 4) * (antialias ? std::max(per(in, out), 1.0) : 1);
    }
    return {.operations = taps == 1 ? 0 : 2 * c.out_count() * taps};
  }

  bool crops() const { return coordinate_transformation_mode == "tf_crop_and_resize"; }
  static bool by_size(const RunContext& c) { return c.count(3) != 0; }
  Resampling how() const {
    return {*interpolation_of(mode),
            *coordinates_of(coordinate_transformation_mode),
            *rounding_of(nearest_mode),
            cubic_coeff_a,
            exclude_outside,
            antialias};
  }

  // Axis `a`, the i-th that scales and sizes refer to.
  AxisExtents extents(const RunContext& c, size_t i, size_t a) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    if (x[a] <= 0 || x[a] >= INT32_MAX) fail(ErrorCode::invalid_argument, "an extent of {} cannot be resized", x[a]);
    AxisExtents axis{.in = x[a], .out = y[a]};
    axis.scale = !by_size(c)   ? c.input<float>(2)[i]
                 : stretches() ? float(y[a]) / float(x[a])
                               : common_scale(x, c.input<int64_t>(3)).value();
    axis.length = by_size(c) ? float(y[a]) : axis.scale * float(x[a]);
    if (crops()) std::tie(axis.roi_begin, axis.roi_end) = region(c, i, axes.empty() ? x.rank() : axes.size());
    return axis;
  }

  std::vector<AxisTable> tables(const RunContext& c) const {
    const Shape list = resized_axes(c.shape(0).rank());
    std::vector<AxisTable> result(c.shape(0).rank());
    for (size_t i = 0; i < list.size(); ++i)
      result[size_t(list[i])] = make_table(how(), extents(c, i, size_t(list[i])));
    return result;
  }

  template <typename T>
  void reference(RunContext& c) const {
    if (c.out_count() == 0) return;
    const auto all = tables(c);
    const bool moves = mode == "nearest" || std::ranges::all_of(all, &AxisTable::identity);
    moves ? gather<T>(c, all) : interpolate<T>(c, all, antialias);
    if (crops()) extrapolate<T>(c, all, extrapolation_value);
  }

  // Whether rows of this type are floats, or become floats: copies of others are moved. Integers of 16 bits need more
  // digits than sums of floats have.
  bool has_rows(DType type) const {
    const bool is_narrow = type == DType::f16 || type == DType::bf16 || type == DType::i8 || type == DType::u8;
    return type == DType::f32 || (is_narrow && mode != "nearest" && !crops());
  }
  // The one axis that changes, or two neighbours. The axes before them are a batch, those after them channels.
  struct Plane {
    size_t first = 0, count = 0;
    std::array<AxisExtents, 2> axes;
    bool innermost(const RunContext& c) const { return first + count == c.shape(0).rank(); }
  };
  std::optional<Plane> plane(const RunContext& c) const {
    if (!has_rows(c.dtype(0)) || (by_size(c) && !stretches()) || c.out_count() == 0) return std::nullopt;
    const size_t rank = c.shape(0).rank();
    const Shape list = resized_axes(rank);
    size_t first = rank, last = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto a = size_t(list[i]);
      if (keeps(how(), extents(c, i, a))) continue;
      first = std::min(first, a);
      last = std::max(last, a + 1);
    }
    if (first >= last || last - first > 2) return std::nullopt;
    Plane p{.first = first, .count = last - first};
    for (size_t i = 0; i < list.size(); ++i) {
      const auto a = size_t(list[i]);
      if (a >= first && a < last) p.axes[a - first] = extents(c, i, a);
    }
    return p;
  }

  // Regions are only known in the run.
  size_t scratch(const RunContext& c) const { return crops() ? 0 : space(c); }
  size_t space(const RunContext& c) const {
    const auto p = plane(c);
    size_t bytes = 0;
    for (size_t d = 0; p && d < p->count; ++d)
      bytes = checked_add(bytes, table_bytes(p->axes[d]), "the tables of axes");
    if (p && c.dtype(0) != DType::f32) {
      const size_t floats = kernels::narrow_resize_floats(narrow(c, *p), c.parallel().workers());
      bytes = checked_add(bytes, checked_mul(floats, sizeof(float), "rows of floats"), "rows of floats");
    }
    if (!p || !p->innermost(c)) return bytes;
    const AxisExtents& columns = p->axes[p->count - 1];
    bytes = checked_add(bytes, padded_bytes(columns), "the tables of axes");
    return bytes + kernels::plane_line_floats(0, size_t(columns.in)) * sizeof(float) * size_t(c.parallel().workers());
  }

  // Rows of the last axis are supported if they are the channels of a pixel.
  bool writes_rows(const RunContext& c) const {
    const auto p = c.dtype(0) == DType::f32 && !crops() ? plane(c) : std::nullopt;
    return p && p->first + p->count + 1 == c.shape(0).rank();
  }
  bool reads_rows(const RunContext& c, size_t i) const { return i == 0 && writes_rows(c); }

  template <typename T>
  requires(!std::is_same_v<T, std::string>) void fast(RunContext& c, std::type_identity<T>) const { resize(c); }

 private:
  void resize(RunContext& c) const {
    if (c.out_count() == 0) return;
    const Shape& y = c.out_shape();
    if (const auto p = plane(c)) {
      std::vector<char> own(crops() ? space(c) : 0);
      resize_rows(c, *p, crops() ? own.data() : static_cast<char*>(c.scratch()));
      const size_t last = p->first + p->count, channels = size_t(extent_product(y, last, y.rank()));
      if (crops())
        fill_outside(how(), std::span(p->axes).first(p->count), extrapolation_value,
                     {c.output<float>().data(), size_t(extent_product(y, 0, p->first)), channels});
      return;
    }
    const auto all = tables(c);
    if (std::ranges::all_of(all, &AxisTable::identity)) {  // graphs whose sizes are parameters have such nodes
      std::memcpy(c.out_data(), c.data(0), dtype_bytes(c.dtype(0), c.out_count()));
    } else {
      mode == "nearest" && !crops() ? move_nearest(c, all) : run_reference(op_resize, this, c, c.dtype(0));
    }
  }

  void resize_rows(RunContext& c, const Plane& p, char* memory) const {
    static constexpr int32_t kFirst = 0;
    static constexpr float kWhole = 1;
    const bool copies = mode == "nearest";
    std::array<kernels::ResizeAxis, 2> axes{kernels::ResizeAxis{1, 1, &kFirst, copies ? nullptr : &kWhole}};
    for (size_t d = 0; d < p.count; memory += table_bytes(p.axes[d++])) {
      const size_t taps = taps_of(how(), p.axes[d]), size = size_t(p.axes[d].out);
      auto* index = reinterpret_cast<int32_t*>(memory);
      auto* weight = reinterpret_cast<float*>(index + size * taps);
      fill_table(how(), p.axes[d], index, weight);
      axes[d + 2 - p.count] = {size, taps, index, copies ? nullptr : weight};
    }
    p.innermost(c) ? resize_planes(c, p, axes, memory) : resize_pixels(c, p, axes, memory);
  }

  // What resize_narrow() needs but the table of rows.
  kernels::NarrowResize narrow(const RunContext& c, const Plane& p) const {
    const Shape& x = c.shape(0);
    const size_t last = p.first + p.count, inner = size_t(extent_product(x, last, x.rank()));
    kernels::NarrowResize args{.type = c.dtype(0), .images = size_t(extent_product(x, 0, p.first))};
    if (p.count == 2) {
      args.in_h = size_t(x[p.first]);
      args.rows = {size_t(p.axes[0].out), taps_of(how(), p.axes[0])};
    }
    args.in_line = size_t(x[last - 1]) * inner;
    args.out_line = size_t(c.out_shape()[last - 1]) * inner;
    args.rounds = antialias;
    args.input = c.data(0);
    return args;
  }
  void resize_narrow(RunContext& c, const Plane& p, const kernels::ResizeAxis& rows, float* memory,
                     kernels::MakeRows make) const {
    kernels::NarrowResize args = narrow(c, p);
    args.rows = rows;
    args.output = c.out_data();
    kernels::resize_narrow(args, make, memory, c.parallel());
  }

  // For channels after the last axis that changes.
  void resize_pixels(RunContext& c, const Plane& p, std::span<const kernels::ResizeAxis> axes, char* memory) const {
    const Shape& x = c.shape(0);
    const size_t last = p.first + p.count;
    kernels::ResizeArgs args{.batch = size_t(extent_product(x, 0, p.first)), .in_w = size_t(x[last - 1])};
    args.in_h = p.count == 2 ? size_t(x[p.first]) : 1;
    args.channels = args.in_pixel_stride = args.out_pixel_stride = size_t(extent_product(x, last, x.rank()));
    args.rows = axes[0];
    args.columns = axes[1];
    if (c.dtype(0) != DType::f32) {
      const auto make = [&](size_t row0, size_t row1, const float* in, float* out, int) {
        kernels::ResizeArgs part = args;
        const size_t first = row0 * args.rows.taps;
        part.batch = 1;
        part.rows = {row1 - row0, args.rows.taps, args.rows.index + first, args.rows.weight + first};
        part.input = in;
        part.output = out;
        kernels::resize_nhwc(part, {});
      };
      return resize_narrow(c, p, args.rows, reinterpret_cast<float*>(memory), make);
    }
    if (last + 1 == x.rank()) {
      args.in_pixel_stride = c.row_step(0);
      args.out_pixel_stride = c.out_row_step();
    }
    args.input = c.input<float>(0).data();
    args.output = c.output<float>().data();
    kernels::resize_nhwc(args, c.parallel());
  }

  // For planes without channels after them: resizes columns tap by tap, then the lines of each worker.
  void resize_planes(RunContext& c, const Plane& p, std::span<const kernels::ResizeAxis> axes, char* memory) const {
    const AxisExtents& extents = p.axes[p.count - 1];
    const kernels::ResizeAxis& from = axes[1];
    const Shape& x = c.shape(0);
    const size_t planes = size_t(extent_product(x, 0, p.first)), in_h = p.count == 2 ? size_t(x[p.first]) : 1;
    const std::span columns(from.index, from.size);
    if (!from.weight && kernels::doubles(columns, size_t(extents.in))) {
      const std::span rows(axes[0].index, axes[0].size);
      return kernels::resize_nearest({planes, in_h, size_t(extents.in), rows, columns, sizeof(float),
                                      c.input<float>(0).data(), c.output<float>().data()},
                                     c.parallel());
    }
    const size_t stride = round_up(from.size, kernels::kPlaneColumns), entries = from.taps * stride;
    auto* index = reinterpret_cast<int32_t*>(memory);
    auto* weight = reinterpret_cast<float*>(index + entries);
    bool ascending = true;
    for (size_t i = 0; i < entries; ++i) {
      const size_t tap = i / stride, at = std::min(i % stride, from.size - 1) * from.taps + tap;
      index[i] = from.index[at];
      if (from.weight) weight[i] = from.weight[at];
      ascending =
          ascending && (i % stride == 0 || index[i - 1] <= index[i]) && (tap == 0 || index[i - stride] <= index[i]);
    }
    kernels::PlaneResize args{.planes = planes, .in_w = size_t(extents.in)};
    args.in_stride = args.in_w * in_h;
    args.out_stride = axes[0].size * from.size;
    args.rows = axes[0];
    args.columns = {from.size, from.taps, stride, index, from.weight ? weight : nullptr, 0, args.in_w, ascending};
    if (c.dtype(0) != DType::f32) {
      const size_t line = kernels::plane_line_floats(0, args.in_w);
      const auto make = [&](size_t row0, size_t row1, const float* in, float* out, int worker) {
        kernels::PlaneResize part = args;
        part.input = in;
        part.output = out - row0 * from.size;
        kernels::resize_plane_rows(part, row0, row1, weight + entries + size_t(worker) * line);
      };
      return resize_narrow(c, p, args.rows, weight + entries + line * size_t(c.parallel().workers()), make);
    }
    args.input = c.input<float>(0).data();
    args.output = c.output<float>().data();
    kernels::resize_planes(args, weight + entries, c.parallel());
  }

  size_t padded_bytes(const AxisExtents& columns) const {
    const size_t stride = round_up(size_t(columns.out), kernels::kPlaneColumns);
    return checked_mul(stride, taps_of(how(), columns) * (sizeof(int32_t) + sizeof(float)), "the table of an axis");
  }
  size_t table_bytes(const AxisExtents& axis) const {
    return checked_mul(size_t(axis.out), taps_of(how(), axis) * (sizeof(int32_t) + sizeof(float)),
                       "the table of an axis");
  }
};

}  // namespace

constinit const OpDef op_resize = with_complex<Resize>(define<Resize>({
    .name = "Resize",
    .since = {10, 11, 13, 18, 19},
    .inputs = {"X: T", "roi: T2?", "scales: float?", "sizes: int64?"},
    .outputs = {"Y: T"},
    .types = kNumeric | kBool,
}));

}  // namespace retort::ops
