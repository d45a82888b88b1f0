#include "ops/signal/common/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace retort::ops {
namespace {

using Complex = std::complex<double>;

// For lengths that are a power of two: butterflies over ever longer parts of a line in bit-reversed order.
void radix2(std::span<Complex> x, const std::vector<Complex>& roots, bool inverse) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex root = roots[k * (n / (2 * half))],
                      odd = x[begin + half + k] * (inverse ? std::conj(root) : root);
        x[begin + half + k] = x[begin + k] - odd;
        x[begin + k] += odd;
      }
    }
  }
}

void by_definition(std::span<Complex> x, const std::vector<Complex>& roots, bool inverse, const Parallel& run) {
  const std::vector<Complex> in(x.begin(), x.end());
  for (size_t k = 0; k < x.size() && !run.cancelled(); ++k) {
    Complex sum = 0;
    for (size_t i = 0, at = 0; i < x.size(); ++i, at = (at + k) % x.size())
      sum += in[i] * (inverse ? std::conj(roots[at]) : roots[at]);
    x[k] = sum;
  }
}

}  // namespace

Fourier::Fourier(size_t length) : roots_(length) {
  for (size_t k = 0; k < length; ++k) {
    const double angle = -2 * std::numbers::pi * double(k) / double(length);
    roots_[k] = {std::cos(angle), std::sin(angle)};
  }
}

void Fourier::transform(std::span<Complex> x, bool inverse, const Parallel& run) const {
  std::has_single_bit(x.size()) ? radix2(x, roots_, inverse) : by_definition(x, roots_, inverse, run);
  if (!inverse) return;
  for (Complex& v : x) v /= double(x.size());
}

}  // namespace retort::ops
