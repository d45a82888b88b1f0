// Reads values at scattered positions of planes in single precision. Every plane is read at the same positions, which
// the caller provides as tables of taps.
//
//   sample_sum: out[c, p] = sum over t of weight[t, p] · in[c, index[t, p]]
//   sample_max: out[c, p] = the largest of those products
//
// Sums have one fixed order. Thread-safe, serial, no allocation; the caller must have checked the tables.
#pragma once
#include <cstddef>
#include <cstdint>

namespace retort::kernels {

inline constexpr size_t kSamplePoints = 16;  ///< tables are padded to a multiple of this number of points

struct SampleArgs {
  size_t planes = 0, points = 0, taps = 0;
  size_t in_stride = 0, out_stride = 0;  ///< floats from one plane to the next; planes of the input have at least one
  size_t table_stride = 0;               ///< entries from one tap to the next: number of points, padded
  const int32_t* index = nullptr;        ///< [taps, table_stride]; -1 (and in the padding) is read as 0
  const float* weight = nullptr;         ///< [taps, table_stride], finite
  const float* input = nullptr;
  float* output = nullptr;
};

void sample_sum(const SampleArgs& args) noexcept;

/// Taps come in groups of four. In each group the first one that no other exceeds counts, and then the first of those
/// of all groups. NaN is never larger and is never exceeded. With `more`, the present content of the output is compared
/// first.
void sample_max(const SampleArgs& args, bool more) noexcept;

/// The reference: plain loops.
void sample_sum_reference(const SampleArgs& args) noexcept;
void sample_max_reference(const SampleArgs& args, bool more) noexcept;

}  // namespace retort::kernels
