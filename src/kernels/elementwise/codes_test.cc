#include "kernels/elementwise/codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "kernels/elementwise/code_table.h"

namespace retort::kernels {
namespace {

template <typename T>
T plain(float x, float scale, int32_t zero) {
  const float code = std::nearbyint(x / scale) + float(zero);
  const float low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
  return code >= high ? T(high) : code > low ? T(code) : T(low);
}

std::vector<float> numbers(size_t n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-9, 9);
  const float inf = std::numeric_limits<float>::infinity();
  const float odd[] = {NAN, inf, -inf, 0.0f, -0.0f, 0.25f, 0.75f, -0.25f, 1e30f, -1e30f, 1e-40f, 63.5f, -64.0f, 64.0f};
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = i % 3 == 0 ? odd[i / 3 % std::size(odd)] : values(random);
  return x;
}

template <typename T>
void check_quantize(size_t n, size_t step) {
  const std::vector<float> x = numbers(n);
  std::vector<float> scale(step ? n + 1 : 1, 0.5f);
  std::vector<int32_t> zero(scale.size(), 3);
  for (size_t i = 0; i < scale.size(); ++i) scale[i] += float(i % 5) * 0.1f, zero[i] = int32_t(i % 7) - 3;
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<T> y(n + 1, T(99));
    quantize(QuantizeRun<T>{x.data(), scale.data(), zero.data(), step, y.data(), n});
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], plain<T>(x[i], scale[i * step], zero[i * step])) << x[i];
    EXPECT_EQ(y[n], T(99));
  }
}

TEST(Codes, QuantizeRoundsAndHolds) {
  for (const size_t n : {0, 1, 7, 16, 33, 200}) {
    for (const size_t step : {0, 1}) {
      check_quantize<uint8_t>(n, step);
      check_quantize<int8_t>(n, step);
      check_quantize<uint16_t>(n, step);
      check_quantize<int16_t>(n, step);
    }
  }
}

// Numbers in the middle between two codes, and their neighbours, with scales down to the smallest.
TEST(Codes, QuantizeRoundsLikeADivision) {
  for (const float scale : {0.1f, 1.0f / 3, 7e-5f, 1e-39f, 1e-45f, 1e30f, 3e38f}) {
    std::vector<float> x;
    for (int code = -140; code <= 260; ++code) {
      float middle = (float(code) + 0.5f) * scale;
      for (int i = 0; i < 3; ++i) middle = std::nextafter(middle, -INFINITY);
      for (int i = 0; i < 7; ++i) x.push_back(middle), middle = std::nextafter(middle, INFINITY);
      x.push_back(float(code) * scale);
    }
    const int32_t zero = 7;
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      std::vector<uint8_t> y(x.size());
      quantize(QuantizeRun<uint8_t>{x.data(), &scale, &zero, 0, y.data(), x.size()});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], plain<uint8_t>(x[i], scale, zero)) << x[i] << " / " << scale;
    }
  }
}

// All pairs of codes, in rows with gaps: scales whose quotients are small, large, equal, or not usual.
void check_sums(float a_scale, float b_scale, float y_scale, bool is_signed, int32_t zero) {
  constexpr size_t kRows = 256, kColumns = 256 - 3, kGap = 5;
  std::vector<uint8_t> a(kRows * 256), b(a.size()), y(kRows * (kColumns + kGap));
  for (size_t i = 0; i < a.size(); ++i) a[i] = uint8_t(i), b[i] = uint8_t(i / 256 + i % 256);
  const CodeRun left{a.data(), is_signed, zero, a_scale}, right{b.data(), false, 255 - zero, b_scale};
  const auto number = [](const CodeRun& run, uint8_t code) {
    return float((run.is_signed ? int8_t(code) : code) - run.zero) * run.scale;
  };
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::fill(y.begin(), y.end(), uint8_t(99));
    add_codes(left, right, {y.data(), is_signed, zero, y_scale}, {kRows, kColumns, 256, 256, kColumns + kGap});
    for (size_t row = 0; row < kRows; ++row) {
      const uint8_t* of_row = y.data() + row * (kColumns + kGap);
      for (size_t i = 0; i < kColumns; ++i) {
        const size_t at = row * 256 + i;
        const float sum = number(left, a[at]) + number(right, b[at]);
        const uint8_t want =
            is_signed ? uint8_t(plain<int8_t>(sum, y_scale, zero)) : plain<uint8_t>(sum, y_scale, zero);
        ASSERT_EQ(want, of_row[i]) << a_scale << " " << b_scale << " " << y_scale << " " << level << " " << at;
      }
      for (size_t i = kColumns; i < kColumns + kGap; ++i) ASSERT_EQ(99, of_row[i]);
    }
  }
}
TEST(Codes, AddsAllPairs) {
  struct Scales {
    float a, b, y;
  };
  for (const Scales s : {Scales{0.02f, 0.05f, 0.06f},
                         {0.0313f, 0.0087f, 0.0201f},
                         {1, 1, 1},
                         {0.5f, 0.25f, 1},
                         {0.1f, 0.1f, 0.2f},
                         {7e-4f, 3e-6f, 0.1f},
                         {2, 1e-7f, 1},
                         {0.3f, 0.29f, 2e-3f},
                         {1, 3, 1e-3f},
                         {1e-20f, 2e-20f, 3e-20f},
                         {1e30f, 1, 1e29f},
                         {0.1f, NAN, 1}}) {
    check_sums(s.a, s.b, s.y, false, 131);
    check_sums(s.a, s.b, s.y, true, -3);
    check_sums(s.b, s.a, s.y, false, 0);
  }
}

// Of both halves of the range: a quotient is rounded once, also where it has few digits after the point.
template <typename T>
void check_words(float scale, int32_t zero) {
  std::vector<float> x;
  for (int code = -70001; code <= 70000; code += 37) {
    const float middle = (float(code) + 0.5f) * scale;
    for (const float v : {std::nextafter(middle, -INFINITY), middle, std::nextafter(middle, INFINITY)}) x.push_back(v);
  }
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<T> y(x.size());
    quantize(QuantizeRun<T>{x.data(), &scale, &zero, 0, y.data(), x.size()});
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], plain<T>(x[i], scale, zero)) << x[i] << " / " << scale;
  }
}
TEST(Codes, QuantizesToWords) {
  for (const float scale : {1.0f, 0.1f, 7e-5f, 1e-39f, 1e30f}) {
    check_words<uint16_t>(scale, 32000);
    check_words<uint16_t>(scale, 0);
    check_words<int16_t>(scale, -200);
  }
}

TEST(Codes, MapLooksUp) {
  std::mt19937 random(3);
  std::vector<uint8_t> table(256), x(1000);
  for (uint8_t& v : table) v = uint8_t(random());
  for (size_t i = 0; i < x.size(); ++i) x[i] = uint8_t(i);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const size_t n : {0, 1, 63, 64, 257, 1000}) {
      std::vector<uint8_t> y(n + 1, 99), inside = x;
      map_codes(table.data(), x.data(), n, y.data());
      map_codes(table.data(), inside.data(), n, inside.data());
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(y[i], table[x[i]]);
        ASSERT_EQ(inside[i], table[x[i]]);
      }
      EXPECT_EQ(y[n], 99);
    }
  }
}

TEST(Codes, RangeHasZeroAndNoNan) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const size_t n : {0, 1, 5, 16, 37}) {
      std::vector<float> x(n, NAN);
      EXPECT_EQ(range_with_zero(x.data(), n), std::pair(0.0f, 0.0f));
      if (n == 0) continue;
      x[n / 2] = -3, x[n - 1] = n > 1 ? 5 : -3;
      EXPECT_EQ(range_with_zero(x.data(), n), std::pair(-3.0f, n > 1 ? 5.0f : 0.0f));
    }
  }
}

}  // namespace
}  // namespace retort::kernels
