// Discrete Fourier transforms of many lines of one length, any length. Numbers are kept as planes of real and imaginary
// parts. A length n = n1 · n2 is transformed as columns of length n1, a multiplication by the roots of unity, a
// transposition and columns of length n2: every pass (Stockham's, radix 2 to 31) then has whole vectors of columns. If
// n does not split well, or lines are not contiguous, a batch of lines makes the columns. Lengths with a larger prime
// factor become a convolution (Bluestein). A real signal of even length, or its half spectrum, is transformed as half
// as many complex numbers.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

/// The plan for lines of one length. The caller keeps its roots of unity in a table.
struct FftPlan {
  static constexpr size_t kMaxPasses = 48, kMaxRadix = 31;
  /// Passes that together transform one length.
  struct Chain {
    size_t length = 1, count = 0;
    std::array<uint8_t, kMaxPasses> radices{};
  };

  /// `real`: the lines are real signals (forward) or their half spectra (inverse). length > 0.
  FftPlan(size_t length, bool real);

  size_t length;        ///< n
  bool packed;          ///< a real line of even length, transformed as n / 2 complex numbers
  size_t numbers;       ///< number of complex numbers to transform: n or n / 2
  size_t convolution;   ///< length of the transforms for Bluestein's convolution; 0: none
  Chain first, second;  ///< for `numbers` or `convolution`; second.length = 1 if that does not split

  bool splits() const { return second.length > 1; }
  size_t core() const { return first.length * second.length; }
  /// Floats of the table: the constants of a pass and its twiddles.
  static size_t pass_floats(size_t radix, size_t columns);
  size_t core_floats() const;
  size_t table_floats() const;
  /// Rows of a plane of the working memory.
  size_t rows() const;
  /// Working memory of one worker that transforms `lines` lines at once.
  size_t scratch_floats(size_t lines) const;
};

/// Fills a table; roots are computed in double and rounded. `scratch` has plan.scratch_floats(1) floats.
void fft_fill_table(const FftPlan& plan, float* table, float* scratch) noexcept;

/// The positions of the numbers of the lines; strides are in floats.
struct FftLines {
  size_t count = 0;  ///< number of numbers in a line
  size_t parts = 2;  ///< parts of a number: 1 real, 2 complex (interleaved)
  size_t group_stride = 0, line_stride = 0, stride = 0;
};

struct FftArgs {
  const FftPlan* plan = nullptr;
  const float* table = nullptr;
  bool inverse = false;  ///< the result is divided by the length
  bool half = false;     ///< inverse: the input is the first half of a spectrum and the output is real; as in the plan
  size_t groups = 1, lines = 1;  ///< number of groups, and of lines per group
  const float* input = nullptr;
  FftLines in;                    ///< lines shorter than a transform are padded with zeros, longer ones truncated
  const float* window = nullptr;  ///< [min(in.count, n)] weights of the numbers, or null
  float* output = nullptr;        ///< may not overlap the input
  FftLines out;                   ///< its count is the number of leading numbers that are needed
};

/// Floats of working memory.
size_t fft_scratch_floats(const FftArgs& args, int workers);
/// The error is a few 1e-7 of the largest output. Allocates nothing.
void fft(const FftArgs& args, float* scratch, const Parallel& parallel) noexcept;

}  // namespace retort::kernels
