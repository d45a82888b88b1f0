// GridSample: samples the image at the positions of a grid, where -1 and 1 are its borders; any number of spatial axes.
#include <cmath>

#include "base/checked.h"
#include "kernels/sample/sample.h"
#include "ops/complex_parts.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace {

enum class Mode : uint8_t { linear, nearest, cubic };
enum class Outside : uint8_t { zeros, border, reflection };

/// The elements along one axis that contribute to a value; index -1 stands for zero.
template <typename F>
struct Taps {
  size_t count = 0;
  std::array<int64_t, 4> index;
  std::array<F, 4> weight;
};

struct GridSample {
  bool align_corners = false;
  std::string mode = "linear", padding_mode = "zeros";
  static constexpr std::tuple attributes{attr("align_corners", &GridSample::align_corners),
                                         attr("mode", &GridSample::mode),
                                         attr("padding_mode", &GridSample::padding_mode)};
  static constexpr size_t kMostAxes = 6;

  Mode how() const {
    constexpr std::string_view kNames[] = {"linear", "nearest", "cubic"};
    const auto* found = std::ranges::find(kNames, mode);
    require(found != std::end(kNames), ErrorCode::invalid_argument, "mode \"{}\" is not one of linear, nearest, cubic",
            mode);
    return Mode(found - std::begin(kNames));
  }
  Outside outside() const {
    constexpr std::string_view kNames[] = {"zeros", "border", "reflection"};
    const auto* found = std::ranges::find(kNames, padding_mode);
    require(found != std::end(kNames), ErrorCode::invalid_argument,
            "padding_mode \"{}\" is not one of zeros, border, reflection", padding_mode);
    return Outside(found - std::begin(kNames));
  }
  void check() const {
    how();
    outside();
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const DType places = c.dtype(1);
    require(places == DType::undefined || is_float(places), ErrorCode::invalid_argument,
            "grid is {}, but the operator takes float32, float64, float16 or bfloat16; cast it", dtype_name(places));
    const Shape &x = c.shape(0), &grid = c.shape(1);
    require(x.rank() >= 3 && x.rank() <= kMostAxes + 2 && grid.rank() == x.rank() && may_equal(x[0], grid[0]) &&
                may_equal(grid.back(), int64_t(x.rank()) - 2),
            ErrorCode::invalid_argument, "the grid has shape {}, which does not match X of shape {}",
            c.dims().text(grid), c.dims().text(x));
    Shape y{x[0], x[1]};
    for (size_t d = 1; d + 1 < grid.rank(); ++d) y.push_back(grid[d]);
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext& c) const {
    const double along = how() == Mode::nearest ? 0 : how() == Mode::linear ? 2 : 4;
    return {.operations = 2 * c.out_count() * std::pow(along, double(c.rank(0)) - 2)};
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const Rules rules{how(), outside(), align_corners};
    const size_t axes = x.rank() - 2, channels = size_t(x[1]);
    const auto in = size_t(extent_product(x, 2, x.rank())), out = size_t(extent_product(y, 2, y.rank()));
    const std::vector<double> grid = load_floats(c, 1);
    for (size_t point = 0; point < size_t(x[0]) * out && !c.parallel().cancelled(); ++point) {
      const size_t n = point / out;
      std::array<Taps<T>, kMostAxes> each;
      for (size_t d = 0; d < axes; ++d) each[d] = rules.taps(T(grid[point * axes + axes - 1 - d]), x[d + 2]);
      for (size_t channel = 0; channel < channels; ++channel) {
        const T* image = c.input<T>(0).data() + (n * channels + channel) * in;
        c.output<T>()[(n * channels + channel) * out + point % out] =
            weighted<T>(image, each, {x.begin() + 2, x.end()}, 0, 0);
      }
    }
  }

  size_t scratch(const RunContext& c) const {
    return c.dtype(0) == DType::f32 ? blocks(c).bytes() * size_t(c.parallel().workers()) : 0;
  }

  // Taps and weights of a block of points are computed once for all channels.
  void fast(RunContext& c, std::type_identity<float>) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const size_t axes = x.rank() - 2, channels = size_t(x[1]);
    const auto in = size_t(extent_product(x, 2, x.rank())), out = size_t(extent_product(y, 2, y.rank()));
    if (c.dtype(1) != DType::f32 || in == 0 || in > INT32_MAX) return reference<float>(c);
    const Rules rules{how(), outside(), align_corners};
    const Blocks b = blocks(c);
    const size_t per_image = ceil_div(out, b.points);
    c.parallel().for_each(size_t(x[0]) * per_image, [&](size_t task, int worker) {
      const size_t n = task / per_image, first = task % per_image * b.points;
      auto* index = reinterpret_cast<int32_t*>(static_cast<char*>(c.scratch()) + size_t(worker) * b.bytes());
      auto* weight = reinterpret_cast<float*>(index + b.taps * b.points);
      kernels::SampleArgs args{.planes = channels, .points = std::min(b.points, out - first), .taps = b.taps};
      const float* place = c.input<float>(1).data() + (n * out + first) * axes;
      std::fill_n(index, b.taps * b.points, -1);
      std::fill_n(weight, b.taps * b.points, 0.0f);
      for (size_t p = 0; p < args.points; ++p) {
        const Column to{index + p, weight + p, b.points};
        if (axes == 2 && rules.mode != Mode::cubic) {
          spread_plane(rules, place + p * 2, {x[2], x[3]}, to);
          continue;
        }
        std::array<Taps<float>, kMostAxes> each;
        for (size_t d = 0; d < axes; ++d) each[d] = rules.taps(place[p * axes + axes - 1 - d], x[d + 2]);
        spread(each, {x.begin() + 2, x.end()}, to);
      }
      args.in_stride = in;
      args.out_stride = out;
      args.table_stride = b.points;
      args.index = index;
      args.weight = weight;
      args.input = c.input<float>(0).data() + n * channels * in;
      args.output = c.output<float>().data() + n * channels * out + first;
      kernels::sample_sum(args);
    });
  }

 private:
  // Computes taps from the attributes and a coordinate.
  struct Rules {
    Mode mode;
    Outside outside;
    bool align_corners;

    int64_t element(int64_t i, int64_t n) const {
      if (i >= 0 && i < n) return i;
      if (outside == Outside::zeros || n <= 0) return -1;
      if (outside == Outside::border) return std::clamp<int64_t>(i, 0, n - 1);
      const double low = align_corners ? 0 : -0.5, high = double(n) - 1 - low;
      return std::clamp<int64_t>(int64_t(mirrored(double(i), low, high)), 0, n - 1);
    }

    // Maps a coordinate to a position among n elements.
    template <typename F>
    F among(F position, int64_t n) const {
      const F low = align_corners ? F(0) : F(-0.5), high = F(n) - 1 - low;
      F x = align_corners ? (position + 1) / 2 * F(n - 1) : ((position + 1) * F(n) - 1) / 2;
      if (mode == Mode::nearest) x = std::nearbyint(x);
      if (mode != Mode::cubic && !(x >= low && x <= high)) {  // cubic interpolation handles each element separately
        if (outside == Outside::border) x = std::isnan(x) ? 0 : std::clamp(x, F(0), std::max(F(n - 1), F(0)));
        if (outside == Outside::reflection) x = std::isfinite(x) ? mirrored(x, low, high) : 0;
      }
      return x;
    }
    // For positions far outside or NaN: reads zeros.
    template <typename F>
    static bool is_lost(F x) {
      return !(std::abs(x) < F(1 << 30));
    }

    template <typename F>
    Taps<F> taps(F position, int64_t n) const {
      const F x = among(position, n);
      if (is_lost(x)) return {1, {-1}, {F(0)}};
      if (mode == Mode::nearest) return {1, {element(int64_t(std::nearbyint(x)), n)}, {F(1)}};
      const F base = std::floor(x), t = x - base;
      const auto first = int64_t(base);
      if (mode == Mode::linear) return {2, {element(first, n), element(first + 1, n)}, {1 - t, t}};
      Taps<F> all{4, {}, {}};
      constexpr F kA = F(-0.75);
      const auto near = [](F d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
      const auto far = [](F d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
      all.weight = {far(t + 1), near(t), near(1 - t), far(2 - t)};
      for (int64_t k = 0; k < 4; ++k) all.index[size_t(k)] = element(first - 1 + k, n);
      return all;
    }
  };

  template <typename F>
  static F mirrored(F x, F low, F high) {
    const F range = high - low;
    if (range <= 0) return low;
    const F distance = x < low ? low - x : x - high;
    const F turns = std::floor(distance / range), rest = distance - turns * range;
    const bool even = std::fmod(turns, F(2)) == 0;
    return (x < low) == even ? low + rest : high - rest;
  }

  // The division of points into tasks.
  struct Blocks {
    size_t taps, points;
    size_t bytes() const { return taps * points * (sizeof(int32_t) + sizeof(float)); }
  };
  Blocks blocks(const RunContext& c) const {
    constexpr size_t kEntries = 8192;  // tables of 64 KiB
    const size_t each = how() == Mode::nearest ? 1 : how() == Mode::linear ? 2 : 4;
    size_t taps = 1;
    for (size_t d = 2; d < c.shape(0).rank(); ++d) taps *= each;
    return {taps, std::clamp<size_t>(kEntries / taps / kernels::kSamplePoints, 1, 32) * kernels::kSamplePoints};
  }

  // One point's column of the tables: the products of its taps on each axis.
  struct Column {
    int32_t* index;
    float* weight;
    size_t stride;
  };
  static void spread(const std::array<Taps<float>, kMostAxes>& taps, std::span<const int64_t> extents, Column to) {
    const size_t axes = std::min(extents.size(), kMostAxes);
    std::array<size_t, kMostAxes> k{};
    for (bool more = true; more; to.index += to.stride, to.weight += to.stride) {
      int64_t at = 0;
      float weight = 1;
      bool inside = true;
      for (size_t d = 0; d < axes; ++d) {
        const int64_t i = taps[d].index[k[d]];
        inside = inside && i >= 0;
        at = at * extents[d] + i;
        weight *= taps[d].weight[k[d]];
      }
      if (inside) {
        *to.index = int32_t(at);
        *to.weight = weight;
      }
      more = false;
      for (size_t d = axes; d-- > 0 && !more;) {
        more = ++k[d] < taps[d].count;
        if (!more) k[d] = 0;
      }
    }
  }

  // The four neighbours in a two-dimensional image, the most common case, or the nearest one: two to three times as fast
  // as axis by axis.
  static void spread_plane(const Rules& rules, const float* place, std::array<int64_t, 2> extents, Column to) {
    const float y = rules.among(place[1], extents[0]), x = rules.among(place[0], extents[1]);
    if (Rules::is_lost(y) || Rules::is_lost(x)) return;
    const bool nearest = rules.mode == Mode::nearest;
    const float top = nearest ? std::nearbyint(y) : std::floor(y), left = nearest ? std::nearbyint(x) : std::floor(x);
    const float dy = nearest ? 0 : y - top, dx = nearest ? 0 : x - left;
    const auto row = int64_t(top), column = int64_t(left);
    const std::array rows{rules.element(row, extents[0]), rules.element(row + 1, extents[0])};
    const std::array columns{rules.element(column, extents[1]), rules.element(column + 1, extents[1])};
    const std::array<float, 2> down{1 - dy, dy}, across{1 - dx, dx};
    for (size_t i = 0; i < (nearest ? 1u : 4u); ++i) {
      if (rows[i / 2] < 0 || columns[i % 2] < 0) continue;
      to.index[i * to.stride] = int32_t(rows[i / 2] * extents[1] + columns[i % 2]);
      to.weight[i * to.stride] = down[i / 2] * across[i % 2];
    }
  }

  // Sums over the taps of axis d and of all later axes.
  template <typename T>
  static T weighted(const T* image, const std::array<Taps<T>, kMostAxes>& taps, std::span<const int64_t> extents,
                    size_t d, int64_t at) {
    if (d == extents.size()) return image[at];
    T sum = 0;
    for (size_t k = 0; k < taps[d].count; ++k) {
      const int64_t i = taps[d].index[k];
      if (i >= 0) sum += taps[d].weight[k] * weighted(image, taps, extents, d + 1, at * extents[d] + i);
    }
    return sum;
  }
};

}  // namespace

extern const OpDef op_grid_sample;
constinit const OpDef op_grid_sample = with_complex<GridSample>(define<GridSample>({
    .name = "GridSample",
    .since = {16, 20, 22},
    .inputs = {"X: T", "grid: T2"},
    .outputs = {"Y: T"},
    .types = kFloats,
}));

}  // namespace retort::ops
