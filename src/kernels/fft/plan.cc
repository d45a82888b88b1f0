#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "base/checked.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/transform.h"

namespace retort::kernels {
namespace {

using Complex = std::complex<double>;
constexpr size_t kMinFactor = 8;  // of a length that is split: a vector of columns

bool smooth(size_t n) {
  for (size_t p = 2; p <= FftPlan::kMaxRadix; ++p) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

// The shortest good length of a cyclic convolution of two lines of n.
size_t convolution_length(size_t n) {
  size_t best = SIZE_MAX;
  for (size_t length : {8, 10, 12}) {
    while (length < 2 * n - 1) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

FftPlan::Chain chain_of(size_t n) {
  FftPlan::Chain chain{.length = n};
  const auto take = [&](size_t radix) {
    for (; n % radix == 0; n /= radix) chain.radices[chain.count++] = uint8_t(radix);
  };
  take(4);
  for (size_t p = 2; p <= FftPlan::kMaxRadix; ++p) take(p);
  return chain;
}

size_t divisor_near_root(size_t n) {
  auto d = size_t(std::sqrt(double(n)));
  while (n % d != 0) --d;
  return d;
}

// e^(-2πi k / n)
Complex root(size_t k, size_t n) {
  const double angle = -2 * std::numbers::pi * double(k) / double(n);
  return {std::cos(angle), std::sin(angle)};
}

// Powers of `factor` · root(step, n), computed by multiplication with occasional exact values.
void fill_roots(float* re, float* im, size_t count, size_t step, size_t n, Complex factor = 1) {
  const Complex turn = root(step, n);
  Complex power = factor;
  for (size_t i = 0; i < count; ++i) {
    power = i % 32 == 0 ? factor * root(i * step % n, n) : power * turn;
    re[i] = float(power.real());
    im[i] = float(power.imag());
  }
}

float* fill_chain(const FftPlan::Chain& chain, float* table) {
  size_t columns = chain.length;
  for (size_t pass = 0; pass < chain.count; ++pass) {
    const size_t radix = chain.radices[pass], length = columns;
    columns /= radix;
    float* to = table;
    if (radix % 2 == 1) {
      fill_roots(to, to + radix, radix, 1, radix);
      to += 2 * radix;
    }
    for (size_t p = 1; p < columns; ++p) {
      for (size_t k = 1; k < radix; ++k) {
        const Complex twiddle = root(p * k, length);
        *to++ = float(twiddle.real());
        *to++ = float(twiddle.imag());
      }
    }
    table += FftPlan::pass_floats(radix, columns);
  }
  return table;
}

// Sets e^(-πi k² / n), and the transform of the sequence that lines are convolved with.
void fill_bluestein(const FftPlan& plan, const float* core, float* table, float* scratch) {
  const size_t n = plan.numbers, m = plan.convolution;
  float *re = table, *im = re + n, *spectrum = im + n;
  std::fill_n(spectrum, 2 * m, 0.0f);
  for (size_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
    const Complex chirp = root(square, 2 * n);
    re[k] = float(chirp.real());
    im[k] = float(chirp.imag());
    for (const size_t at : {k, (m - k) % m}) {
      spectrum[at] = re[k] / float(m);
      spectrum[m + at] = -im[k] / float(m);
    }
  }
  fft_core(plan, core, spectrum, scratch);
}

}  // namespace

FftPlan::FftPlan(size_t n, bool real)
    : length(n), packed(real && n % 2 == 0), numbers(packed ? n / 2 : n), convolution(0) {
  if (!smooth(numbers)) convolution = convolution_length(numbers);
  const size_t whole = convolution ? convolution : numbers, factor = divisor_near_root(whole);
  first = chain_of(factor < kMinFactor ? whole : factor);
  second = chain_of(whole / first.length);
}

size_t FftPlan::pass_floats(size_t radix, size_t columns) {
  return (radix % 2 == 1 ? 2 * radix : 0) + 2 * (columns - 1) * (radix - 1);
}

size_t FftPlan::core_floats() const {
  size_t floats = splits() ? 2 * core() : 0;
  for (const Chain* chain : {&first, &second}) {
    size_t columns = chain->length;
    for (size_t pass = 0; pass < chain->count; ++pass) {
      columns /= chain->radices[pass];
      floats += pass_floats(chain->radices[pass], columns);
    }
  }
  return floats;
}

size_t FftPlan::table_floats() const {
  return core_floats() + (packed ? 2 * (numbers + 1) : 0) + (convolution ? 2 * (numbers + convolution) : 0);
}

size_t FftPlan::rows() const { return std::max(core(), length); }

size_t FftPlan::scratch_floats(size_t lines) const { return 4 * round_up(rows() * lines, 16); }

// Fills the table in the order of use: first chain, twiddles between the chains, second chain; the roots that fold a
// real spectrum; Bluestein's sequences.
void fft_fill_table(const FftPlan& plan, float* table, float* scratch) noexcept {
  float* to = fill_chain(plan.first, table);
  if (plan.splits()) {
    const size_t rows = plan.first.length, columns = plan.second.length;
    for (size_t k = 0; k < rows; ++k, to += columns) fill_roots(to, to + plan.core(), columns, k, plan.core());
    to += plan.core();
  }
  to = fill_chain(plan.second, to);
  if (plan.packed) {
    fill_roots(to, to + plan.numbers + 1, plan.numbers + 1, 1, plan.length, Complex(0, -1));
    to += 2 * (plan.numbers + 1);
  }
  if (plan.convolution) fill_bluestein(plan, table, to, scratch);
}

}  // namespace retort::kernels
