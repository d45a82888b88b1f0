#include "resample.h"

#include <algorithm>
#include <cmath>

namespace providers::cuda {
namespace {

template <typename E>
bool find_name(const std::vector<std::string>& names, const std::string& name, E& to) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) to = E(at - names.begin());
  return at != names.end();
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

// The first input position of the kernel, relative to the one left of the source position.
int64_t first_of(const Resampling& how, const AxisExtents& axis) {
  if (how.mode == Interpolation::nearest) return 0;
  const float reach = how.mode == Interpolation::cubic ? 2 : 1;
  return int64_t(std::floor(-reach / stretch_of(how, axis))) + 1;
}

// The position in the input, in pixels, of output position `o`.
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

}  // namespace

bool read_name(const std::string& name, Coordinates& to) {
  return find_name({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                    "tf_half_pixel_for_nn", "tf_crop_and_resize"},
                   name, to);
}
bool read_name(const std::string& name, Interpolation& to) {
  return find_name({"nearest", "linear", "cubic"}, name, to);
}
bool read_name(const std::string& name, Rounding& to) {
  return find_name({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, name, to);
}

bool keeps(const Resampling& how, const AxisExtents& axis) {
  return axis.in == axis.out && axis.scale == 1 && how.coordinates != Coordinates::tf_crop_and_resize;
}

AxisTable make_table(const Resampling& how, const AxisExtents& axis) {
  AxisTable t;
  const int64_t first = first_of(how, axis);
  t.taps = how.mode == Interpolation::nearest ? 1 : size_t(2 - 2 * first);
  t.index.reserve(size_t(axis.out) * t.taps);
  t.weight.reserve(size_t(axis.out) * t.taps);
  const float stretch = stretch_of(how, axis);
  for (int64_t o = 0; o < axis.out; ++o) {
    const double exact = source_position(how, axis, o), x = in_reach(exact);
    const int64_t left = how.mode == Interpolation::nearest ? nearest(how.rounding, x) : int64_t(std::floor(x));
    const size_t begin = t.weight.size();
    float sum = 0;
    for (int64_t k = 0; k < int64_t(t.taps); ++k) {
      const int64_t at = left + first + k;
      const bool inside = at >= 0 && at < axis.in;
      float w = how.mode == Interpolation::nearest ? 1.0f : kernel(how, float(double(at) - x) * stretch);
      if (!inside && how.exclude_outside) w = 0;
      t.index.push_back(int32_t(std::clamp<int64_t>(at, 0, axis.in - 1)));
      t.weight.push_back(w);
      sum += w;
    }
    const bool uneven = how.exclude_outside || how.antialias;
    for (size_t k = begin; uneven && sum != 0 && k < t.weight.size(); ++k) t.weight[k] /= sum;
    if (how.coordinates == Coordinates::tf_crop_and_resize && (exact < 0 || exact > double(axis.in - 1)))
      t.index[begin] = -1;
  }
  return t;
}

}  // namespace providers::cuda
