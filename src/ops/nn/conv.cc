// Conv: cross-correlation of [N, C, D1, …] with weights [M, C/group, k1, …], any number of spatial axes.
//
// After the layout pass, models with constant weights run as retort.Conv (channels last). This form serves weights that
// are computed, other ranks and unoptimised sessions: patches are gathered straight into packed panels, then
// multiplied.
#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv.h"
#include "kernels/move/strided_copy.h"
#include "ops/nn/common/patches.h"
#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

struct Conv : WindowAttributes {
  int64_t group = 1;
  static constexpr auto attributes = std::tuple_cat(window_attributes, std::tuple{attr("group", &Conv::group)});

  void check() const {
    WindowAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), convolved_shape(c, *this, group));
    expect_shape_if_given(c, 2, "B", {c.shape(1)[0]});
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, 1, c.has(2)); }

  Window window(const RunContext& c) const {
    const Shape &x = c.shape(0), &w = c.shape(1), &y = c.out_shape();
    if (c.has(2)) {
      require(c.count(2) == size_t(w[0]), ErrorCode::invalid_argument, "{} biases for {} outputs", c.count(2), w[0]);
    }
    return resolve_window(*this, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}, {y.begin() + 2, y.end()});
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Window win = window(c);
    const int64_t batch = c.shape(0)[0], in_c = c.shape(0)[1], out_c = c.shape(1)[0];
    const int64_t group_in = in_c / group, group_out = out_c / group;
    const int64_t in_px = win.in_pixels(), out_px = win.out_pixels(), taps = win.taps();
    const T *x = c.input<T>(0).data(), *w = c.input<T>(1).data(), *bias = c.optional<T>(2);
    T* y = c.output<T>().data();
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t o = 0; o < out_c; ++o) {
        const T* plane = x + (n * in_c + o / group_out * group_in) * in_px;
        for_each_position(win, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
          double sum = bias ? bias[o] : 0;
          for_each_tap(win, at, [&](int64_t tap, int64_t pixel) {
            for (int64_t i = 0; i < group_in; ++i)
              sum += double(plane[i * in_px + pixel]) * w[(o * group_in + i) * taps + tap];
          });
          y[(n * out_c + o) * out_px + p] = T(sum);
        });
      }
    }
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32 || c.out_count() == 0) return 0;  // empty weights may have a kernel of any size
    const Window win = window(c);
    if (is_depthwise(c, win)) return depthwise_plan(c, win).bytes;
    return PatchBlocks(win.out_pixels(), c.shape(1)[1] * win.taps()).bytes * size_t(c.parallel().workers());
  }

  // One filter for each channel, as where filters are mixed or features compared in the run. Patches would serve one
  // output each: the images are turned to channels-last and back instead, which takes 0.1 of the time for 1152 channels
  // of 10x10 pixels and 5x5 taps.
  bool is_depthwise(const RunContext& c, const Window& win) const {
    constexpr int64_t kFewChannels = 8;  // with fewer, vectors of channels are almost empty
    return group >= kFewChannels && group == c.shape(0)[1] && group == c.shape(1)[0] && win.rank <= 2;
  }
  struct DepthwisePlan {
    kernels::ConvShape shape;
    size_t image, output, bytes;  // where the turned image and output begin, after the weights
  };
  DepthwisePlan depthwise_plan(const RunContext& c, const Window& win) const {
    DepthwisePlan p{};
    kernels::ConvShape& s = p.shape;
    s.in_c = s.out_c = s.groups = s.in_pixel_stride = s.out_pixel_stride = size_t(group);
    const WindowAxis line, &h = win.rank == 2 ? win.axes[0] : line, &w = win.rank > 0 ? win.axes[win.rank - 1] : line;
    s.in_h = size_t(h.in), s.out_h = size_t(h.out), s.kernel_h = size_t(h.kernel), s.stride_h = size_t(h.stride);
    s.in_w = size_t(w.in), s.out_w = size_t(w.out), s.kernel_w = size_t(w.kernel), s.stride_w = size_t(w.stride);
    s.dilation_h = size_t(h.dilation), s.dilation_w = size_t(w.dilation);
    s.pad_top = size_t(h.pad_begin), s.pad_left = size_t(w.pad_begin);
    p.image = round_up(kernels::conv_packed_bytes(s, kernels::ConvAlgorithm::depthwise), 128);
    p.output = p.image + round_up(c.count(0) / size_t(c.shape(0)[0]) * sizeof(float), 128);
    p.bytes = p.output + round_up(c.out_count() / size_t(c.shape(0)[0]) * sizeof(float), 128);
    return p;
  }

  void run_depthwise(RunContext& c, const Window& win) const {
    const DepthwisePlan p = depthwise_plan(c, win);
    const size_t channels = size_t(group), in_px = size_t(win.in_pixels()), out_px = size_t(win.out_pixels());
    const auto turn = [&](size_t rows, size_t columns, float* to, const float* from) {
      kernels::StridedCopy copy;
      copy.append(columns, ptrdiff_t(rows), 1);
      copy.append(rows, 1, ptrdiff_t(columns));
      kernels::strided_copy(kernels::byte_mover(sizeof(float)), copy, to, from, c.parallel());
    };
    char* const memory = static_cast<char*>(c.scratch());
    auto* const packed = reinterpret_cast<float*>(memory);
    auto* const image = reinterpret_cast<float*>(memory + p.image);
    auto* const output = reinterpret_cast<float*>(memory + p.output);
    kernels::conv_pack(p.shape, kernels::ConvAlgorithm::depthwise, c.input<float>(1).data(), packed, c.parallel());
    for (size_t n = 0; n < size_t(c.shape(0)[0]); ++n) {
      turn(channels, in_px, image, c.input<float>(0).data() + n * channels * in_px);
      kernels::conv({.shape = p.shape,
                     .algorithm = kernels::ConvAlgorithm::depthwise,
                     .input = image,
                     .packed = packed,
                     .output = output,
                     .epilogue = {.bias = c.optional<float>(2)}},
                    nullptr, c.parallel());
      turn(out_px, channels, c.output<float>().data() + n * channels * out_px, output);
    }
  }

  void gather(const Window& win, const float* planes, const PatchBlocks& b, const PatchTask& t) const {
    const int64_t width = int64_t(kernels::gemm_panel_width()), taps = win.taps(), in_px = win.in_pixels();
    const int64_t channels = taps ? b.k / taps : 0;
    const int64_t stride = win.axes[win.rank == 0 ? 0 : win.rank - 1].stride;
    float* packed = t.packed;
    std::fill_n(packed, b.bytes / sizeof(float), 0.0f);
    for (int64_t panel = 0; panel < t.n; panel += width, packed += b.k * width) {
      const auto line = [&](int64_t p, int64_t n) {
        for_each_tap_of_line(win, p, n, [&](int64_t tap, int64_t pixel, int64_t j0, int64_t j1) {
          for (int64_t i = 0; i < channels; ++i) {
            const float* from = planes + i * in_px + pixel;
            float* to = packed + (i * taps + tap) * width + p - t.first - panel;
            if (stride == 1) {
              for (int64_t j = j0; j < j1; ++j) to[j] = from[j];
            } else {
              for (int64_t j = j0; j < j1; ++j) to[j] = from[j * stride];
            }
          }
        });
      };
      for_each_line(win, t.first + panel, t.first + std::min(panel + width, t.n), width, line);
    }
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.out_count() == 0) return;
    const Window win = window(c);
    if (is_depthwise(c, win)) return run_depthwise(c, win);
    const int64_t in_c = c.shape(0)[1], group_in = in_c / group;
    const PatchBlocks b(win.out_pixels(), group_in * win.taps());
    const PatchProduct product{c.shape(0)[0],
                               group,
                               c.shape(1)[0] / group,
                               win.out_pixels(),
                               c.input<float>(1).data(),
                               c.optional<float>(2),
                               c.output<float>().data(),
                               c.scratch(),
                               b.bytes};
    multiply_patches(product, b, c.parallel(), [&](const PatchTask& t) {
      gather(win, c.input<float>(0).data() + (t.image * in_c + t.group * group_in) * win.in_pixels(), b, t);
    });
  }
};

}  // namespace

extern const OpDef op_conv;
constinit const OpDef op_conv = define<Conv>({
    .name = "Conv",
    .since = {1, 11, 22},
    .inputs = {"X: T", "W: T", "B: T?"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
