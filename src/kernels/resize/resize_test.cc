// Tests resampling against the plain loop, at every instruction level.
#include "kernels/resize/planes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace retort::kernels {
namespace {

constexpr float kGuard = 12345.0f;

// A table of random positions and weights that add up to 1.
struct Table {
  std::vector<int32_t> index;
  std::vector<float> weight;

  Table(size_t in, size_t out, size_t taps, bool weights) {
    std::mt19937 random(unsigned(in * 7 + out));
    for (size_t i = 0; i < out * taps; ++i) index.push_back(int32_t(random() % in));
    for (size_t i = 0; weights && i < out * taps; ++i)
      weight.push_back(2 * float(i % taps + 1) / float(taps * (taps + 1)));
  }
  ResizeAxis axis(size_t out, size_t taps) const {
    return {out, taps, index.data(), weight.empty() ? nullptr : weight.data()};
  }
};

std::vector<float> random_floats(size_t n) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

std::vector<float> fresh_output(const ResizeArgs& a) {
  return std::vector<float>(a.batch * a.rows.size * a.columns.size * a.out_pixel_stride + 32, kGuard);
}

std::vector<float> run(ResizeArgs a, const Parallel& par) {
  std::vector<float> output = fresh_output(a);
  a.output = output.data();
  resize_nhwc(a, par);
  return output;
}

void check_resize(ResizeArgs a) {
  std::vector<float> want = fresh_output(a);
  a.output = want.data();
  resize_reference(a);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const std::vector<float> got = run(a, Parallel());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const bool exact = want[i] == kGuard || !a.rows.weight;
      if (std::isnan(want[i])) {
        wrong += !std::isnan(got[i]);
      } else {
        wrong += exact ? want[i] != got[i] : !(std::fabs(want[i] - got[i]) < 2e-6f);
      }
    }
    EXPECT_EQ(wrong, 0u) << cat("channels {} taps {}x{} {}", a.channels, a.rows.taps, a.columns.taps,
                                isa_name(current_isa()));
  }
}

TEST(Resize, EveryTableAndChannelCount) {
  for (const size_t channels : {1, 3, 16, 17, 24, 33, 64}) {
    for (const size_t taps : {1, 2, 4, 5}) {
      for (const bool weights : {false, true}) {
        if (taps > 1 && !weights) continue;
        const Table rows(6, 9, taps, weights), columns(5, 13, taps, weights);
        ResizeArgs a{.batch = 2, .in_h = 6, .in_w = 5, .channels = channels};
        a.in_pixel_stride = channels + 2;
        a.out_pixel_stride = channels + 5;
        a.rows = rows.axis(9, taps);
        a.columns = columns.axis(13, taps);
        const std::vector<float> input = random_floats(a.batch * a.in_h * a.in_w * a.in_pixel_stride);
        a.input = input.data();
        check_resize(a);
      }
    }
  }
}

TEST(Resize, AxesWithDifferentTaps) {
  const Table rows(6, 9, 2, true), columns(5, 4, 3, true);
  const std::vector<float> input = random_floats(6 * 5 * 20);
  check_resize({1, 6, 5, 20, 20, 20, rows.axis(9, 2), columns.axis(4, 3), input.data(), nullptr});
}

TEST(Resize, NanStaysInItsChannel) {
  const Table rows(6, 9, 2, true), columns(5, 4, 2, true);
  std::vector<float> input = random_floats(6 * 5 * 20);
  input[2 * 5 * 20 + 7] = std::numeric_limits<float>::quiet_NaN();
  check_resize({1, 6, 5, 20, 20, 20, rows.axis(9, 2), columns.axis(4, 2), input.data(), nullptr});
}

TEST(Resize, EmptyBatch) {
  const Table rows(6, 9, 2, true), columns(5, 4, 2, true);
  check_resize({0, 6, 5, 20, 20, 20, rows.axis(9, 2), columns.axis(4, 2), nullptr, nullptr});
}

TEST(Resize, SameBitsForAnyNumberOfThreads) {
  const Table rows(40, 80, 2, true), columns(40, 81, 2, true);
  const std::vector<float> input = random_floats(2 * 40 * 40 * 33);
  const ResizeArgs a{2, 40, 40, 33, 33, 33, rows.axis(80, 2), columns.axis(81, 2), input.data(), nullptr};
  const std::vector<float> once = run(a, Parallel());
  for (const int threads : {2, 3, 4, 7}) {
    ThreadPool pool({.threads = threads});
    const std::vector<float> again = run(a, Parallel(&pool, nullptr));
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
  }
}

// The order of the columns in a table for planes.
enum class Order : uint8_t { any, holes, ascending };

struct ColumnTable {
  std::vector<int32_t> index;
  std::vector<float> weight;
  PlaneColumns columns;

  ColumnTable(size_t in, size_t out, size_t taps, bool weights, Order order) {
    std::mt19937 random(unsigned(in * 7 + out));
    columns = {.size = out, .taps = taps, .stride = round_up(out, kPlaneColumns)};
    index.assign(taps * columns.stride, -1);
    for (size_t j = 0; j < taps; ++j) {
      for (size_t x = 0; x < columns.stride; ++x) {
        int32_t& to = index[j * columns.stride + x];
        if (order == Order::ascending)
          to = int32_t(std::min(in - 1, std::min(x, out - 1) * in / out + j));
        else if (x < out)
          to = order == Order::holes && random() % 3 == 0 ? -1 : int32_t(random() % in);
        if (weights) weight.push_back(float(random() % 17) / 16);
      }
    }
    columns.index = index.data();
    columns.weight = weights ? weight.data() : nullptr;
    columns.last = in;
    columns.ascending = order == Order::ascending;
  }
};

void check_planes(size_t in_w, size_t out_w, size_t taps, Order order) {
  const bool weights = taps > 0;
  taps = std::max<size_t>(taps, 1);
  const Table rows(6, 11, taps, weights);
  const ColumnTable columns(in_w, out_w, taps, weights, order);
  PlaneResize a{.planes = 3, .in_w = in_w, .in_stride = 6 * in_w + 1, .out_stride = 11 * out_w + 2};
  a.rows = rows.axis(11, taps);
  a.columns = columns.columns;
  const std::vector<float> input = random_floats(a.planes * a.in_stride);
  a.input = input.data();
  std::vector<float> want(a.planes * a.out_stride + 32, kGuard), lines(plane_line_floats(0, in_w));
  a.output = want.data();
  resize_planes_reference(a);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<float> got(want.size(), kGuard);
    a.output = got.data();
    resize_planes(a, lines.data(), Parallel());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); ++i)
      wrong += want[i] == kGuard || !weights ? want[i] != got[i] : !(std::fabs(want[i] - got[i]) < 5e-6f);
    EXPECT_EQ(wrong, 0u) << cat("{} to {} taps {} order {} {}", in_w, out_w, taps, int(order), isa_name(current_isa()));
  }
}

TEST(ResizePlanes, WidthsTapsOrders) {
  for (const size_t in_w : {1, 5, 16, 23, 40}) {
    for (const size_t out_w : {1, 7, 16, 33, 80}) {
      for (const size_t taps : {0, 1, 2, 4, 7}) {  // 0 means copies
        check_planes(in_w, out_w, taps, Order::any);
        check_planes(in_w, out_w, taps, Order::ascending);
        if (taps > 0) check_planes(in_w, out_w, taps, Order::holes);
      }
    }
  }
}

}  // namespace
}  // namespace retort::kernels
