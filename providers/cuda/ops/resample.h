// Resampling along one axis as a table: which input positions contribute to each output position, with which weights.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace providers::cuda {

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

/// Set their argument and return true if the name is one of ONNX.
bool read_name(const std::string& name, Coordinates& to);
bool read_name(const std::string& name, Interpolation& to);
bool read_name(const std::string& name, Rounding& to);

struct Resampling {
  Interpolation mode = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  float cubic_a = -0.75f;
  bool exclude_outside = false, antialias = false;
};

struct AxisExtents {
  int64_t in = 1, out = 1;
  float scale = 1;   ///< out / in, as given by the model
  float length = 1;  ///< out or, if the model gives a scale, in * scale, of which out is the whole part
  float roi_begin = 0, roi_end = 1;
};

/// Output o is the sum over t < taps of weight[o * taps + t] * input[index[o * taps + t]].
struct AxisTable {
  size_t taps = 1;
  std::vector<int32_t> index;  ///< -1 in the first tap: the position is outside (tf_crop_and_resize)
  std::vector<float> weight;
};
/// Whether the axis is unchanged.
bool keeps(const Resampling& how, const AxisExtents& axis);
/// For an axis with elements.
AxisTable make_table(const Resampling& how, const AxisExtents& axis);

}  // namespace providers::cuda
