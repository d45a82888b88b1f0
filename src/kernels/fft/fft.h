// Discrete Fourier transforms of many lines of one length, any length. Numbers are kept as planes of real and imaginary
// parts. A length n = n1 · n2 is done as columns of length n1, a turn by the roots of unity, a transposition and columns
// of length n2: every pass (Stockham's, radix 2 to 31) then has whole vectors of columns. Where n does not split well or
// lines do not lie in one piece, a batch of lines makes the columns. Lengths with a larger prime factor become a
// convolution (Bluestein). A real signal of even length, or the half spectrum of one, is half as many complex numbers.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

/// How lines of one length are transformed. Its roots of unity lie in a table of the caller's.
struct FftPlan {
  static constexpr size_t kMaxPasses = 48, kMaxRadix = 31;
  /// Passes that together make transforms of one length.
  struct Chain {
    size_t length = 1, count = 0;
    std::array<uint8_t, kMaxPasses> radices{};
  };

  /// `real`: the lines are real signals (forward) or half spectra of such (inverse). length > 0.
  FftPlan(size_t length, bool real);

  size_t length;        ///< n
  bool packed;          ///< a real line of even length, done as n / 2 complex numbers
  size_t numbers;       ///< complex numbers to transform: n or n / 2
  size_t convolution;   ///< length of the transforms that convolve for Bluestein; 0: none
  Chain first, second;  ///< of `numbers` or `convolution`; second.length = 1 where that does not split

  bool splits() const { return second.length > 1; }
  size_t core() const { return first.length * second.length; }
  static size_t pass_floats(size_t radix, size_t columns);  ///< of the table: the constants of a pass and its twiddles
  size_t core_floats() const;
  size_t table_floats() const;
  /// Rows of a plane of the working memory.
  size_t rows() const;
  /// Working memory of one worker that transforms `lines` lines at once.
  size_t scratch_floats(size_t lines) const;
};

/// Fills a table: roots computed in double and rounded. `scratch`: plan.scratch_floats(1) floats.
void fft_fill_table(const FftPlan& plan, float* table, float* scratch) noexcept;

/// Where the numbers of the lines lie, strides in floats.
struct FftLines {
  size_t count = 0;  ///< numbers of a line
  size_t parts = 2;  ///< of a number: 1 real, 2 complex (side by side)
  size_t group_stride = 0, line_stride = 0, stride = 0;
};

struct FftArgs {
  const FftPlan* plan = nullptr;
  const float* table = nullptr;
  bool inverse = false;  ///< divided by the length
  bool half = false;     ///< inverse: the input is the first half of a spectrum, the output real; as told to the plan
  size_t groups = 1, lines = 1;  ///< groups of lines
  const float* input = nullptr;
  FftLines in;                    ///< lines shorter than a transform are filled up with zeros, longer ones cut off
  const float* window = nullptr;  ///< [min(in.count, n)] weights of the numbers, or null
  float* output = nullptr;        ///< may not overlap the input
  FftLines out;                   ///< its count: the first so many numbers are wanted
};

/// Floats of working memory.
size_t fft_scratch_floats(const FftArgs& args, int workers);
/// Error: a few 1e-7 of the largest output. Allocates nothing.
void fft(const FftArgs& args, float* scratch, const Parallel& parallel) noexcept;

}  // namespace retort::kernels
