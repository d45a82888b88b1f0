#include "kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"

namespace retort::kernels {
namespace {

using Complex = std::complex<double>;

// Computes the transform by its definition, in double.
std::vector<Complex> transformed(const std::vector<Complex>& x, bool inverse) {
  const size_t n = x.size();
  std::vector<Complex> roots(n), y(n);
  for (size_t k = 0; k < n; ++k)
    roots[k] = std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * double(k) / double(n));
  for (size_t k = 0; k < n; ++k) {
    double re = 0, im = 0;
    for (size_t i = 0, at = 0; i < n; ++i, at = at + k < n ? at + k : at + k - n) {
      re += x[i].real() * roots[at].real() - x[i].imag() * roots[at].imag();
      im += x[i].real() * roots[at].imag() + x[i].imag() * roots[at].real();
    }
    y[k] = Complex(re, im) / (inverse ? double(n) : 1);
  }
  return y;
}

struct Form {
  size_t length, given, parts = 2, made, out_parts = 2;
  bool inverse = false, half = false, window = false, strided = false;
  size_t groups = 1, lines = 1;
};

struct Lines {
  FftLines layout;
  std::vector<float> numbers;
  Lines(const Form& f, size_t count, size_t parts) : layout{.count = count, .parts = parts} {
    layout.group_stride = f.lines * count * parts;
    layout.line_stride = f.strided ? parts : count * parts;
    layout.stride = f.strided ? f.lines * parts : parts;
    numbers.assign(f.groups * layout.group_stride, 0);
  }
  size_t at(size_t group, size_t line, size_t i) const {
    return group * layout.group_stride + line * layout.line_stride + i * layout.stride;
  }
};

std::vector<Complex> expected(const Form& f, const Lines& in, const std::vector<float>& window, size_t group,
                              size_t line) {
  std::vector<Complex> x(f.length);
  for (size_t i = 0; i < std::min(f.given, f.half ? f.length / 2 + 1 : f.length); ++i) {
    const float* p = in.numbers.data() + in.at(group, line, i);
    x[i] = double(f.window ? window[i] : 1) * Complex(double(p[0]), f.parts == 2 ? double(p[1]) : 0);
    if (f.half && i > 0 && i < f.length - i) x[f.length - i] = std::conj(x[i]);
  }
  return transformed(x, f.inverse);
}

void expect_transform(const Form& f) {
  SCOPED_TRACE(cat("length {} of {} numbers of {} parts to {} of {}; inverse {} half {} strided {}; {} lines {}",
                   f.length, f.given, f.parts, f.made, f.out_parts, f.inverse, f.half, f.strided, f.lines,
                   isa_name(current_isa())));
  std::mt19937 random(unsigned(f.length + f.given));
  std::uniform_real_distribution<float> uniform(-1, 1);
  Lines in(f, f.given, f.parts), out(f, f.made, f.out_parts);
  std::vector<float> window(f.given);
  for (float& x : in.numbers) x = uniform(random);
  for (float& x : window) x = uniform(random);

  const FftPlan plan(f.length, f.inverse ? f.half : f.parts == 1);
  std::vector<float> table(plan.table_floats()), scratch(plan.scratch_floats(1));
  fft_fill_table(plan, table.data(), scratch.data());
  const FftArgs args{.plan = &plan,
                     .table = table.data(),
                     .inverse = f.inverse,
                     .half = f.half,
                     .groups = f.groups,
                     .lines = f.lines,
                     .input = in.numbers.data(),
                     .in = in.layout,
                     .window = f.window ? window.data() : nullptr,
                     .output = out.numbers.data(),
                     .out = out.layout};
  scratch.assign(fft_scratch_floats(args, 1), NAN);
  fft(args, scratch.data(), {});

  for (size_t group = 0; group < f.groups; ++group) {
    for (size_t line = 0; line<f.lines; line += f.lines> 3 ? 6 : 1) {
      const std::vector<Complex> y = expected(f, in, window, group, line);
      double largest = 0, error = 0;
      for (const Complex& v : y) largest = std::max(largest, std::abs(v));
      for (size_t k = 0; k < f.made; ++k) {
        const float* p = out.numbers.data() + out.at(group, line, k);
        error = std::max(error, std::abs(double(p[0]) - y[k].real()));
        if (f.out_parts == 2) error = std::max(error, std::abs(double(p[1]) - y[k].imag()));
        if (std::isnan(p[0]) || (f.out_parts == 2 && std::isnan(p[1]))) error = NAN;
      }
      ASSERT_LE(error, 5e-7 * largest) << "line " << line;
    }
  }
}

// Tests complex, real and half spectra, along a line and for strided lines that are transformed together.
void expect_forms(size_t n, size_t groups, size_t lines) {
  const size_t half = n / 2 + 1;
  for (const bool strided : {false, true}) {
    const Form f{.length = n, .given = n, .made = n, .strided = strided, .groups = groups, .lines = lines};
    const auto with = [&](auto change) {
      Form g = f;
      change(g);
      expect_transform(g);
    };
    for (const bool inverse : {false, true}) {
      with([&](Form& g) { g.inverse = inverse; });
      with([&](Form& g) { g.inverse = inverse, g.parts = 1; });
    }
    with([&](Form& g) { g.parts = 1, g.made = half, g.window = true; });
    with([&](Form& g) { g.made = half, g.window = true; });
    with([&](Form& g) { g.inverse = g.half = true, g.given = half, g.out_parts = 1; });
    with([&](Form& g) { g.inverse = g.half = true, g.given = n, g.out_parts = 1; });
    with([&](Form& g) { g.parts = 1, g.given = (n + 1) / 2; });
    with([&](Form& g) { g.given = n / 3; });
    with([&](Form& g) { g.parts = 1, g.given = 2 * n + 1; });
  }
}

TEST(Fft, OfAnyLengthAndForm) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (size_t n = 1; n <= 75; ++n) expect_forms(n, 1, n % 3 == 0 ? 19 : n % 3);
    for (const size_t n : {96, 121, 128, 200, 202, 256, 331, 400, 512}) expect_forms(n, 2, 2);
  }
}

TEST(Fft, OfLongLines) {
  for (const size_t n : {961, 1000, 1009, 1024, 2310, 4096}) {
    expect_transform({.length = n, .given = n, .made = n});
    expect_transform({.length = n, .given = n, .parts = 1, .made = n / 2 + 1});
  }
}

}  // namespace
}  // namespace retort::kernels
