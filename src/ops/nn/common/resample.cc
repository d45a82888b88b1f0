#include "ops/nn/common/resize_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/resize/nearest.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace {

template <typename E, size_t N>
std::optional<E> lookup(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return E(i);
  }
  return std::nullopt;
}

int64_t nearest(Rounding rounding, double x) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return int64_t(std::ceil(x - 0.5));
    case Rounding::prefer_ceil:
      return int64_t(std::floor(x + 0.5));
    case Rounding::floor:
      return int64_t(std::floor(x));
    case Rounding::ceil:
      return int64_t(std::ceil(x));
  }
  return 0;
}

// Clamps a position that a region of the model puts far outside, so that it fits 64-bit arithmetic; it reads the border
// in any case.
double in_reach(double x) { return std::isnan(x) ? 0 : std::clamp(x, -0x1p32, 0x1p32); }

// Keys' cubic convolution (IEEE Trans. ASSP 29, 1981) with parameter a.
float cubic(float x, float a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

float kernel(const Resampling& how, float x) {
  return how.mode == Interpolation::linear ? std::max(0.0f, 1 - std::abs(x)) : cubic(x, how.cubic_a);
}

// With antialias, the kernel is as wide as one output pixel if the axis shrinks.
float stretch_of(const Resampling& how, const AxisExtents& axis) {
  return how.antialias ? std::min(axis.scale, 1.0f) : 1.0f;
}

bool is_outside(const Resampling& how, const AxisExtents& axis, int64_t o) {
  const double x = source_position(how, axis, o);
  return x < 0 || x > double(axis.in - 1);
}

// Outputs [first, second) are those inside: positions ascend or descend. The second is 0 if there are none.
std::pair<size_t, size_t> inside(const Resampling& how, const AxisExtents& axis) {
  std::pair<size_t, size_t> range{size_t(axis.out), 0};
  const bool whole = keeps(how, axis);
  for (size_t o = 0; o < size_t(axis.out); ++o) {
    if (whole || !is_outside(how, axis, int64_t(o))) range = {std::min(range.first, o), o + 1};
  }
  return range;
}

// The first input position of the kernel, relative to the one left of the source position.
int64_t first_of(const Resampling& how, const AxisExtents& axis) {
  if (how.mode == Interpolation::nearest) return 0;
  const float reach = how.mode == Interpolation::cubic ? 2 : 1;
  return int64_t(std::floor(-reach / stretch_of(how, axis))) + 1;
}

}  // namespace

std::optional<Coordinates> coordinates_of(std::string_view name) {
  return lookup<Coordinates>(
      std::array<std::string_view, 7>{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                      "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"},
      name);
}
std::optional<Interpolation> interpolation_of(std::string_view name) {
  return lookup<Interpolation>(std::array<std::string_view, 3>{"nearest", "linear", "cubic"}, name);
}
std::optional<Rounding> rounding_of(std::string_view name) {
  return lookup<Rounding>(std::array<std::string_view, 4>{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                          name);
}

double source_position(const Resampling& how, const AxisExtents& axis, int64_t o) {
  const float x = float(o), in = float(axis.in), out = float(axis.out);
  switch (how.coordinates) {
    case Coordinates::half_pixel:
      return (x + 0.5f) / axis.scale - 0.5f;
    case Coordinates::half_pixel_symmetric:
      // The standard's formula, written so that positions on the border of two pixels are exact.
      return double(axis.in - 1) / 2 + double(2 * o + 1 - axis.out) / (2 * double(axis.scale));
    case Coordinates::pytorch_half_pixel:
      return axis.out > 1 ? (x + 0.5f) / axis.scale - 0.5f : 0.0f;
    case Coordinates::align_corners:
      return axis.out > 1 ? x * (in - 1) / (axis.length - 1) : 0.0f;
    case Coordinates::asymmetric:
      return x / axis.scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (x + 0.5f) / axis.scale;
    case Coordinates::tf_crop_and_resize:
      return axis.out > 1 ? axis.roi_begin * (in - 1) + x * (axis.roi_end - axis.roi_begin) * (in - 1) / (out - 1)
                          : 0.5f * (axis.roi_begin + axis.roi_end) * (in - 1);
  }
  return x;
}

bool keeps(const Resampling& how, const AxisExtents& axis) {
  const bool crops = how.coordinates == Coordinates::tf_crop_and_resize;
  return axis.in == axis.out && axis.scale == 1 && (!crops || (axis.roi_begin == 0 && axis.roi_end == 1));
}

size_t taps_of(const Resampling& how, const AxisExtents& axis) {
  return how.mode == Interpolation::nearest ? 1 : size_t(2 - 2 * first_of(how, axis));
}

void fill_table(const Resampling& how, const AxisExtents& axis, int32_t* index, float* weight) {
  const int64_t first = first_of(how, axis), taps = int64_t(taps_of(how, axis));
  const float stretch = stretch_of(how, axis);
  for (int64_t o = 0; o < axis.out; ++o, index += taps, weight += taps) {
    const double x = in_reach(source_position(how, axis, o));
    const int64_t left = how.mode == Interpolation::nearest ? nearest(how.rounding, x) : int64_t(std::floor(x));
    float sum = 0;
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t at = left + first + k;
      const bool inside = at >= 0 && at < axis.in;
      float w = how.mode == Interpolation::nearest ? 1.0f : kernel(how, float(double(at) - x) * stretch);
      if (!inside && how.exclude_outside) w = 0;
      index[k] = int32_t(std::clamp<int64_t>(at, 0, axis.in - 1));
      weight[k] = w;
      sum += w;
    }
    const bool uneven = how.exclude_outside || how.antialias;
    for (int64_t k = 0; uneven && sum != 0 && k < taps; ++k) weight[k] /= sum;
  }
}

AxisTable make_table(const Resampling& how, const AxisExtents& axis) {
  AxisTable t;
  t.identity = keeps(how, axis);
  if (t.identity) return t;
  t.taps = taps_of(how, axis);
  t.index.resize(size_t(axis.out) * t.taps);
  t.weight.resize(t.index.size());
  fill_table(how, axis, t.index.data(), t.weight.data());
  for (int64_t o = 0; o < axis.out && how.coordinates == Coordinates::tf_crop_and_resize; ++o) {
    t.outside.push_back(is_outside(how, axis, o));
  }
  return t;
}

std::pair<float, float> region(const RunContext& c, size_t i, size_t axes) {
  require(c.has(1) && c.count(1) == 2 * axes, ErrorCode::invalid_argument, "tf_crop_and_resize needs {} numbers in roi",
          2 * axes);
  const std::vector<double> all = load_floats(c, 1);
  return {float(all[i]), float(all[i + axes])};
}

void fill_outside(const Resampling& how, std::span<const AxisExtents> axes, float value, const Pixels& y) {
  const auto fill = [&](float* line, size_t begin, size_t end) {
    std::fill(line + begin * y.channels, line + end * y.channels, value);
  };
  const size_t width = size_t(axes.back().out), height = axes.size() > 1 ? size_t(axes[0].out) : 1;
  const auto columns = inside(how, axes.back());
  const auto rows = axes.size() > 1 ? inside(how, axes[0]) : std::pair<size_t, size_t>(0, 1);
  for (size_t i = 0; i < y.planes * height; ++i) {
    float* const line = y.data + i * width * y.channels;
    const bool within = i % height >= rows.first && i % height < rows.second;
    fill(line, 0, within ? columns.first : width);
    if (within) fill(line, columns.second, width);
  }
}

// Axes before the first that changes are planes, those after the last one are parts of an element.
void move_nearest(RunContext& c, std::span<const AxisTable> all) {
  const size_t bytes = dtype_bits(c.dtype(0)) / 8;
  const Shape &in = c.shape(0), &out = c.out_shape();
  size_t first = 0, last = in.rank();
  while (last > 0 && all[last - 1].identity) --last;
  while (first < last && all[first].identity) ++first;
  if (last == 0) return void(std::memcpy(c.out_data(), c.data(0), element_count(in) * bytes));
  // The axes from the first to the one before the last as one, of whose positions each has an input row.
  std::vector<int32_t> rows(size_t(extent_product(out, first, last - 1)));
  const int64_t in_rows = extent_product(in, first, last - 1);
  require(in_rows <= INT32_MAX, ErrorCode::not_implemented, "{} rows of an image", in_rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t rest = int64_t(i), row = 0, stride = 1;
    for (size_t d = last - 1; d-- > first; rest /= out[d], stride *= in[d]) {
      const int64_t at = rest % out[d];
      row += stride * (all[d].identity ? at : all[d].index[size_t(at)]);
    }
    rows[i] = int32_t(row);
  }
  kernels::resize_nearest(
      {size_t(extent_product(in, 0, first)), size_t(in_rows), size_t(in[last - 1]), rows, all[last - 1].index,
       bytes * size_t(extent_product(in, last, in.rank())), c.data(0), c.out_data()},
      c.parallel());
}

void for_each_output(const Shape& y, FunctionRef<void(size_t i, const Shape& at)> f) {
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

std::vector<double> resampled(std::vector<double> values, const Shape& from, const Shape& to,
                              const std::vector<AxisTable>& all) {
  std::vector<double> next;
  Shape shape = from;
  for (size_t d = shape.rank(); d-- > 0;) {
    if (all[d].identity) continue;
    const size_t outer = size_t(extent_product(shape, 0, d)),
                 inner = size_t(extent_product(shape, d + 1, shape.rank()));
    const size_t in = size_t(shape[d]), out = size_t(to[d]), taps = all[d].taps;
    next.assign(outer * out * inner, 0.0);
    for (size_t i = 0; i < outer * out * taps; ++i) {
      const size_t o = i / taps % out, row = i / (taps * out), entry = o * taps + i % taps;
      const double w = all[d].weight[entry];
      const double* first = values.data() + (row * in + size_t(all[d].index[entry])) * inner;
      double* sums = next.data() + (row * out + o) * inner;
      for (size_t j = 0; j < inner; ++j) sums[j] += w * first[j];
    }
    values.swap(next);
    shape[d] = to[d];
  }
  return values;
}

}  // namespace retort::ops
