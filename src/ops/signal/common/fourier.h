// The discrete Fourier transform of one line.
#pragma once
#include <complex>
#include <span>
#include <vector>

#include "base/parallel.h"

namespace retort::ops {

/// Transforms of one length, with their tables.
class Fourier {
 public:
  explicit Fourier(size_t length);
  /// Transforms x in place; it has `length` elements. The inverse is divided by the length. Leaves x unfinished once
  /// `run` is cancelled.
  void transform(std::span<std::complex<double>> x, bool inverse, const Parallel& run = {}) const;
  size_t length() const { return roots_.size(); }

 private:
  std::vector<std::complex<double>> roots_;  ///< e^(-2πi k / length)
};

}  // namespace retort::ops
