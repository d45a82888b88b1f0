// Tests sampling against the plain loops, at every instruction level.
#include "kernels/sample/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/error.h"

namespace retort::kernels {
namespace {

constexpr float kGuard = 12345.0f;

// Random positions in planes of 37 floats, some of them -1.
struct Table {
  std::vector<int32_t> index;
  std::vector<float> weight, input;
  SampleArgs args;

  Table(size_t planes, size_t points, size_t taps) {
    std::mt19937 random{unsigned(planes * 100 + points)};
    std::normal_distribution<float> normal;
    args = {.planes = planes, .points = points, .taps = taps, .in_stride = 37, .out_stride = points + 3};
    args.table_stride = round_up(points, kSamplePoints);
    for (size_t i = 0; i < taps * args.table_stride; ++i) {
      index.push_back(i % args.table_stride < points ? int32_t(random() % 38) - 1 : -1);
      weight.push_back(normal(random));
    }
    for (size_t i = 0; i < planes * 37; ++i) input.push_back(normal(random));
    args.index = index.data();
    args.weight = weight.data();
    args.input = input.data();
  }
};

void check(const Table& table) {
  for (const int kind : {0, 1, 2}) {  // sum, max, and max with `more`
    if (kind > 0 && table.args.taps % 4 != 0) continue;
    const auto run = [&](auto sum, auto max) {
      std::vector<float> output(table.args.planes * table.args.out_stride + 32, kGuard);
      SampleArgs a = table.args;
      a.output = output.data();
      kind == 0 ? sum(a) : max(a, kind == 2);
      return output;
    };
    const std::vector<float> want = run(sample_sum_reference, sample_max_reference);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      const std::vector<float> got = run(sample_sum, sample_max);
      size_t wrong = 0;
      for (size_t i = 0; i < want.size(); ++i) {
        const float limit = kind == 0 && want[i] != kGuard ? 1e-5f : 0;
        wrong += std::isnan(want[i]) ? !std::isnan(got[i]) : !(std::fabs(want[i] - got[i]) <= limit);
      }
      EXPECT_EQ(wrong, 0u) << cat("kind {} planes {} points {} taps {} {}", kind, table.args.planes, table.args.points,
                                  table.args.taps, isa_name(current_isa()));
    }
  }
}

TEST(Sample, PlanesPointsTaps) {
  for (const size_t planes : {0, 1, 2, 3, 4, 7, 9}) {
    for (const size_t points : {1, 5, 16, 31, 64}) {
      for (const size_t taps : {1, 2, 4, 8, 16}) check(Table(planes, points, taps));
    }
  }
}

TEST(Sample, NanAffectsOnlyItsReaders) {
  Table table(5, 40, 4);
  table.input[0] = std::numeric_limits<float>::quiet_NaN();  // taps with index -1 must not read this element
  table.input[37 + 5] = std::numeric_limits<float>::quiet_NaN();
  check(table);
}

}  // namespace
}  // namespace retort::kernels
