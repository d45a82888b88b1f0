// Resampling of images of bytes and 16-bit floats by the kernels for single precision: a few rows of the input at a time
// become floats, and the rows made of them become elements again, so that no image of floats is made.
#pragma once
#include "base/function_ref.h"
#include "kernels/resize/resize.h"
#include "tensor/dtype.h"

namespace retort::kernels {

struct NarrowResize {
  DType type = DType::u8;  ///< of both: an integer of 8 bits or a float of 16 bits
  size_t images = 0, in_h = 1;
  size_t in_line = 0, out_line = 0;  ///< elements of a row
  ResizeAxis rows;                   ///< with weights
  bool rounds = false;               ///< to the nearest integer, not towards zero
  const void* input = nullptr;
  void* output = nullptr;  ///< [images, rows.size, out_line]; may not overlap the input
};

/// Makes output rows [row0, row1) of an image: `in` would be its first row, if all were there, `out` is the first one
/// made.
using MakeRows = FunctionRef<void(size_t row0, size_t row1, const float* in, float* out, int worker)>;

/// Number of floats that resize_narrow() needs with this number of workers.
size_t narrow_resize_floats(const NarrowResize& args, int workers);
/// Numbers beyond those of the type become its smallest or largest.
void resize_narrow(const NarrowResize& args, MakeRows make, float* memory, const Parallel& par);

/// What a number is away from an integer at most that becomes that integer, and not the one before it on the way to zero.
/// Sums have errors, by which those of equal elements would otherwise be one less than the elements.
inline double share_of_integer(bool rounds) { return (rounds ? 0.5 : 0) + 0x1p-12; }
/// The smallest and largest number of an integer of 8 or 16 bits; infinite for other types.
std::pair<double, double> narrow_range(DType type);

}  // namespace retort::kernels
