// DeformConv: convolution with displaced taps. Each tap reads at its own position, shifted by an offset per output
// pixel and tap, interpolates linearly between pixels, and is weighted by its mask. Pixels outside the image are zero.
//
// offset is [N, offset_group · taps · axes, out…], mask [N, offset_group · taps, out…]; the channels of an offset group
// share offsets.
#include <cmath>

#include "base/checked.h"
#include "kernels/sample/sample.h"
#include "ops/nn/common/patches.h"
#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

struct DeformConv : WindowAttributes {
  int64_t group = 1, offset_group = 1;
  static constexpr std::tuple attributes{attr("dilations", &WindowAttributes::dilations),
                                         attr("group", &DeformConv::group),
                                         attr("kernel_shape", &WindowAttributes::kernel_shape),
                                         attr("offset_group", &DeformConv::offset_group),
                                         attr("pads", &WindowAttributes::pads),
                                         attr("strides", &WindowAttributes::strides)};
  enum Input : size_t { kX, kWeights, kOffset, kBias, kMask };

  void check() const {
    WindowAttributes::check();
    require(group > 0 && offset_group > 0, ErrorCode::invalid_argument,
            "group is {}, offset_group {}; set both to at least 1", group, offset_group);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &w = c.shape(kWeights);
    const Shape y = convolved_shape(c, *this, group);
    const size_t axes = x.rank() - 2;
    require(axes >= 1 && axes <= kMaxSpatial, ErrorCode::invalid_argument,
            "there are {} spatial axes, expected 1 to {}", axes, kMaxSpatial);
    for (size_t d = 0; d < axes && !kernel_shape.empty(); ++d)
      require(kernel_shape.size() == axes && may_equal(kernel_shape[d], w[d + 2]), ErrorCode::invalid_argument,
              "kernel_shape is {}, but the weights have shape {}", to_string(kernel_shape), c.dims().text(w));
    require(is_symbolic(x[1]) || x[1] % offset_group == 0, ErrorCode::invalid_argument,
            "{} channels cannot be divided into {} offset groups", c.dims().text(x[1]), offset_group);
    c.set(0, c.dtype(kX), y);
    check_maps(c, kOffset, "offset", int64_t(axes), y);
    if (c.has(kMask)) check_maps(c, kMask, "mask", 1, y);
    if (c.has(kBias) && c.ranked(kBias))
      require(c.rank(kBias) == 1 && may_equal(c.shape(kBias)[0], w[0]), ErrorCode::invalid_argument,
              "a bias of shape {} for {} outputs", c.dims().text(c.shape(kBias)), c.dims().text(w[0]));
  }
  // Each tap is interpolated between two pixels along every axis, then multiplied by its mask.
  Cost cost(const CostContext& c) const {
    Cost cost = convolution_cost(c, kWeights, c.has(kBias));
    const double taps = per(cost.multiply_adds, c.extent(kWeights, 0)) * double(group);
    const double pixels = std::exp2(double(c.rank(kX)) - 2);
    cost.operations += (2 * pixels + (c.has(kMask) ? 1 : 0)) * taps;
    return cost;
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Maps<T> m(*this, c);
    const int64_t in_c = c.shape(kX)[1], out_c = c.shape(kWeights)[0], group_in = in_c / group, taps = m.taps;
    const T *w = c.input<T>(kWeights).data(), *bias = c.optional<T>(kBias);
    T* y = c.output<T>().data();
    for (int64_t n = 0; c.out_count() > 0 && n < c.shape(kX)[0]; ++n) {
      for (int64_t o = 0; o < out_c; ++o) {
        const int64_t first = o / (out_c / group) * group_in;
        for_each_position(m.window, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
          double sum = bias ? bias[o] : 0;
          for (int64_t i = 0; i < group_in * taps; ++i)
            sum += double(m.sample(n, first + i / taps, i % taps, p, at)) * w[o * group_in * taps + i];
          y[(n * out_c + o) * m.out_px + p] = T(sum);
        });
      }
    }
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(kX) != DType::f32 || c.out_count() == 0) return 0;
    return stride(Maps<float>(*this, c), c.shape(kWeights)[1]) * size_t(c.parallel().workers());
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.out_count() == 0) return;
    const Maps<float> m(*this, c);
    if (m.in_px == 0 || m.in_px > INT32_MAX) return reference<float>(c);  // the tables cannot address these
    const int64_t group_in = c.shape(kWeights)[1];
    const PatchBlocks b(m.out_px, group_in * m.taps);
    const PatchProduct product{c.shape(kX)[0],
                               group,
                               c.shape(kWeights)[0] / group,
                               m.out_px,
                               c.input<float>(kWeights).data(),
                               c.optional<float>(kBias),
                               c.output<float>().data(),
                               c.scratch(),
                               stride(m, group_in)};
    multiply_patches(product, b, c.parallel(), [&](const PatchTask& t) {
      const int64_t width = int64_t(kernels::gemm_panel_width());
      if (t.n % width != 0) std::fill_n(t.packed + t.n / width * width * b.k, b.k * width, 0.0f);
      for (int64_t p = 0; p < t.n && !c.parallel().cancelled(); p += width)
        gather(m, b, t, p, std::min(width, t.n - p));
    });
  }

 private:
  /// The inputs of one run. Images and weights without elements may have any extents; there are no taps and no pixels
  /// then.
  template <typename T>
  struct Maps {
    Window window;
    int64_t taps = 0, in_px = 0, out_px = 0, channels = 0, offset_groups;
    const T *x, *offset, *mask;

    Maps(const DeformConv& op, const RunContext& c)
        : channels(c.shape(kX)[1]),
          offset_groups(op.offset_group),
          x(c.input<T>(kX).data()),
          offset(c.input<T>(kOffset).data()),
          mask(c.optional<T>(kMask)) {
      const Shape &in = c.shape(kX), &w = c.shape(kWeights), &y = c.out_shape();
      if (c.out_count() == 0) return;
      window = resolve_window(op, {in.begin() + 2, in.end()}, {w.begin() + 2, w.end()}, {y.begin() + 2, y.end()});
      out_px = window.out_pixels();
      if (c.count(kWeights) > 0) taps = window.taps();
      if (c.count(kX) > 0) in_px = window.in_pixels();
    }
    /// Offsets of tap `tap` in the maps of a group; those of different axes are out_px apart.
    const T* offsets(int64_t image, int64_t group, int64_t tap) const {
      return offset + ((image * offset_groups + group) * taps + tap) * int64_t(window.rank) * out_px;
    }
    const T* masks(int64_t image, int64_t group, int64_t tap) const {
      return mask ? mask + ((image * offset_groups + group) * taps + tap) * out_px : nullptr;
    }
    /// The value that a tap reads from a channel for output pixel `p`, whose coordinates are `at`.
    T sample(int64_t image, int64_t channel, int64_t tap, int64_t p, std::span<const int64_t> at) const {
      const int64_t g = channel / (channels / offset_groups);
      const T* const moved = offsets(image, g, tap) + p;
      const T* const plane = x + (image * channels + channel) * in_px;
      const T factor = mask ? masks(image, g, tap)[p] : T(1);
      T sum = 0;
      for (size_t corner = 0; corner < size_t(1) << window.rank; ++corner) {
        int64_t rest = tap, pixel = 0, pitch = 1;
        T weight = factor;
        bool inside = true;
        for (size_t d = window.rank; d-- > 0; rest /= window.axes[d].kernel) {
          const WindowAxis& a = window.axes[d];
          const T place = T(a.at(at[d], rest % a.kernel)) + moved[int64_t(d) * out_px];
          inside = inside && place > T(-1) && place < T(a.in);
          if (!inside) break;
          const T low = std::floor(place);
          const int64_t i = int64_t(low) + int64_t(corner >> d & 1);
          weight *= corner >> d & 1 ? place - low : 1 - (place - low);
          inside = a.inside(i);
          pixel += i * pitch;
          pitch *= a.in;
        }
        sum += weight * (inside ? plane[pixel] : T(0));
      }
      return sum;
    }
  };

  void check_maps(const InferContext& c, size_t input, std::string_view name, int64_t each, const Shape& y) const {
    if (!c.ranked(input)) return;
    DimTable& dims = c.dims();
    const Shape &maps = c.shape(input), &w = c.shape(kWeights);
    Shape wanted = y;
    wanted[1] = dims.mul(dims.product(std::span<const Dim>(w.begin() + 2, w.end())),
                         checked_mul(offset_group, each, "offset groups"));
    wanted[0] = c.shape(kX)[0];
    bool good = maps.rank() == wanted.rank();
    for (size_t d = 0; good && d < wanted.rank(); ++d) good = may_equal(maps[d], wanted[d]);
    if (!good)
      fail(ErrorCode::invalid_argument, "{} of shape {}, expected {}", name, dims.text(maps), dims.text(wanted));
  }

  // Stored after a worker's packed block: where the taps of a panel read, and their weights.
  static constexpr size_t kMostPixels = 64;  // per panel
  size_t stride(const Maps<float>& m, int64_t group_in) const {
    const size_t corners = size_t(1) << m.window.rank;
    return PatchBlocks(m.out_px, group_in * m.taps).bytes + corners * kMostPixels * (sizeof(int32_t) + sizeof(float));
  }

  /// Gathers a panel of `n` pixels, starting with pixel `p` of the task. Channels that share offsets are sampled
  /// together.
  void gather(const Maps<float>& m, const PatchBlocks& b, const PatchTask& t, int64_t p, int64_t n) const {
    const int64_t width = int64_t(kernels::gemm_panel_width()), group_in = m.taps ? b.k / m.taps : 0;
    const int64_t first = t.group * group_in, end = first + group_in, together = m.channels / m.offset_groups;
    auto* const index = reinterpret_cast<int32_t*>(reinterpret_cast<char*>(t.packed) + b.bytes);
    auto* const weight = reinterpret_cast<float*>(index + (size_t(1) << m.window.rank) * kMostPixels);
    kernels::SampleArgs args{.points = size_t(n), .taps = size_t(1) << m.window.rank, .in_stride = size_t(m.in_px)};
    args.out_stride = size_t(m.taps * width);
    args.table_stride = kMostPixels;
    args.index = index;
    args.weight = weight;
    float from[kMaxSpatial][kMostPixels];
    origins(m.window, t.first + p, n, from);
    for (int64_t channel = first; channel < end;) {
      const int64_t g = channel / together, next = std::min(end, (g + 1) * together);
      args.planes = size_t(next - channel);
      args.input = m.x + (t.image * m.channels + channel) * m.in_px;
      for (int64_t tap = 0; tap < m.taps; ++tap) {
        const float* const mask = m.masks(t.image, g, tap);
        places(m, tap, from, m.offsets(t.image, g, tap) + t.first + p, mask ? mask + t.first + p : nullptr, n, index,
               weight);
        args.output = t.packed + p * b.k + ((channel - first) * m.taps + tap) * width;
        kernels::sample_sum(args);
      }
      channel = next;
    }
  }

  /// The position at which the first tap of each of n windows, starting with `p`, would read without offset, axis by
  /// axis.
  static void origins(const Window& w, int64_t p, int64_t n, float (*from)[kMostPixels]) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t rest = p + j;
      for (size_t d = w.rank; d-- > 0; rest /= w.axes[d].out) from[d][j] = float(w.axes[d].at(rest % w.axes[d].out, 0));
    }
  }

  /// Fills the tables of one tap: index and weight of each corner around the sampled position of each of n pixels.
  static void places(const Maps<float>& m, int64_t tap, const float (*from)[kMostPixels], const float* offset,
                     const float* mask, int64_t n, int32_t* index, float* weight) {
    const Window& w = m.window;
    int32_t low[kMaxSpatial][kMostPixels];
    float part[kMaxSpatial][kMostPixels];
    for (size_t d = w.rank; d-- > 0; tap /= w.axes[d].kernel) {
      const float step = float(tap % w.axes[d].kernel * w.axes[d].dilation), in = float(w.axes[d].in);
      for (int64_t j = 0; j < n; ++j) {
        const float place = from[d][j] + step + offset[int64_t(d) * m.out_px + j];
        const float near = place > -1 && place < in ? place : -2.0f;
        const float below = std::floor(near);
        low[d][j] = int32_t(below);
        part[d][j] = near - below;
      }
    }
    const int64_t padded = int64_t(round_up(size_t(n), kernels::kSamplePoints));
    for (size_t corner = 0; corner < size_t(1) << w.rank; ++corner, index += kMostPixels, weight += kMostPixels) {
      for (int64_t j = 0; j < n; ++j) weight[j] = mask ? mask[j] : 1.0f;
      std::fill_n(index, n, 0);
      for (size_t d = 0; d < w.rank; ++d) {
        const auto in = uint32_t(w.axes[d].in), bit = uint32_t(corner >> d & 1);
        for (int64_t j = 0; j < n; ++j) {
          const uint32_t i = uint32_t(low[d][j]) + bit;
          index[j] = index[j] < 0 || i >= in ? -1 : int32_t(uint32_t(index[j]) * in + i);
          weight[j] *= bit ? part[d][j] : 1 - part[d][j];
        }
      }
      std::fill(index + n, index + padded, -1);
      std::fill(weight + n, weight + padded, 0.0f);
    }
  }
};

}  // namespace

extern const OpDef op_deform_conv;
constinit const OpDef op_deform_conv = define<DeformConv>({
    .name = "DeformConv",
    .since = {19, 22},
    .inputs = {"X: T", "W: T", "offset: T", "B: T?", "mask: T?"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
