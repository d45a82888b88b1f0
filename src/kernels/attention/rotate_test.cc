#include "kernels/attention/rotate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/cpu.h"

namespace retort::kernels {
namespace {

std::vector<float> numbers(size_t n, float phase) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = std::sin(phase + 1.7f * float(i)) * 3;
  return x;
}

std::vector<float> plainly(const RotateArgs& a, const std::vector<float>& x) {
  std::vector<float> y = x;
  for (size_t i = 0; i < a.half; ++i) {
    const size_t re = a.interleaved ? 2 * i : i, im = a.interleaved ? 2 * i + 1 : a.half + i;
    y[re] = a.cos[i] * x[re] - a.sin[i] * x[im];
    y[im] = a.sin[i] * x[re] + a.cos[i] * x[im];
  }
  return y;
}

void expect_same(const std::vector<float>& y, const std::vector<float>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(y[i])) << i;
    else
      EXPECT_EQ(y[i], wanted[i]) << i;
  }
}

TEST(Rotate, HasTheBitsOfPlainLoops) {
  for (const size_t half : {0, 1, 3, 4, 7, 8, 15, 16, 17, 32, 33, 64}) {
    for (const size_t rest : {0, 1, 16}) {
      for (const bool interleaved : {false, true}) {
        std::vector<float> x = numbers(2 * half + rest, 1);
        if (half > 2) x[2] = std::numeric_limits<float>::infinity(), x[half] = NAN;
        const std::vector<float> cos = numbers(half, 2), sin = numbers(half, 3);
        const RotateArgs args{cos.data(), sin.data(), half, x.size(), interleaved};
        const std::vector<float> wanted = plainly(args, x);
        for (int level = 0; level <= int(best_isa()); ++level) {
          const ScopedIsa isa{Isa(level)};
          std::vector<float> y(x.size() + 1, -99.0f), inside = x;
          rotate(args, x.data(), y.data());
          expect_same(y, wanted);
          EXPECT_EQ(y.back(), -99.0f);
          rotate(args, inside.data(), inside.data());
          expect_same(inside, wanted);
        }
      }
    }
  }
}

}  // namespace
}  // namespace retort::kernels
