// Resampling along one axis as a table: which input positions contribute to each output position, with which weights.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace retort::ops {

enum class Coordinates : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};
enum class Interpolation : uint8_t { nearest, linear, cubic };
enum class Rounding : uint8_t { prefer_floor, prefer_ceil, floor, ceil };

std::optional<Coordinates> coordinates_of(std::string_view name);
std::optional<Interpolation> interpolation_of(std::string_view name);
std::optional<Rounding> rounding_of(std::string_view name);

struct Resampling {
  Interpolation mode = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
};

struct AxisExtents {
  int64_t in = 1, out = 1;
  float scale = 1;   ///< out / in, as given by the model
  float length = 1;  ///< out or, if the model gives a scale, in * scale, of which out is the whole part
  float roi_begin = 0, roi_end = 1;
};

/// Whether the axis is unchanged.
bool keeps(const Resampling& how, const AxisExtents& axis);
/// The position in the input, in pixels, of output position `o`.
double source_position(const Resampling& how, const AxisExtents& axis, int64_t o);

/// Number of input positions that contribute to one output position.
size_t taps_of(const Resampling& how, const AxisExtents& axis);
/// Output o is the sum over t < taps of weight[o·taps + t] · input[index[o·taps + t]]; both of axis.out · taps
/// elements.
void fill_table(const Resampling& how, const AxisExtents& axis, int32_t* index, float* weight);

/// The result of fill_table with memory of its own; empty if the axis is unchanged.
struct AxisTable {
  size_t taps = 1;
  std::vector<int32_t> index;
  std::vector<float> weight;
  std::vector<bool> outside;  ///< tf_crop_and_resize: whether the position lies outside the input; otherwise empty
  bool identity = true;
};
AxisTable make_table(const Resampling& how, const AxisExtents& axis);

/// tf_crop_and_resize: the first and the last position, in parts of the extent, on the i-th of `axes` axes, of input 1.
std::pair<float, float> region(const RunContext& c, size_t i, size_t axes);

/// An output in floats: planes [rows][columns][channels], or without rows.
struct Pixels {
  float* data;
  size_t planes, channels;
};
/// tf_crop_and_resize: sets pixels whose positions on the last one or two axes lie outside of the input to `value`.
void fill_outside(const Resampling& how, std::span<const AxisExtents> axes, float value, const Pixels& y);

/// Output 0 = input 0 at the positions of these tables of one tap, one for each axis; elements have whole bytes. Allocates.
void move_nearest(RunContext& c, std::span<const AxisTable> all);

}  // namespace retort::ops
