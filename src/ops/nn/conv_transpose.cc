// ConvTranspose: every input pixel adds its weights [C, M/group, k1, …] to the output; neighbouring pixels write
// `strides` apart.
#include <algorithm>

#include "base/checked.h"
#include "kernels/gemm/gemm.h"
#include "kernels/move/strided_copy.h"
#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

// Constant weights in the order of the product.
struct TurnedWeights : State {
  std::shared_ptr<const void> memory;  // [group, out · tap, in]
};

struct ConvTranspose : WindowAttributes {
  int64_t group = 1;
  std::vector<int64_t> output_padding, output_shape;
  static constexpr auto attributes =
      std::tuple_cat(window_attributes, std::tuple{attr("group", &ConvTranspose::group),
                                                   attr("output_padding", &ConvTranspose::output_padding),
                                                   attr("output_shape", &ConvTranspose::output_shape)});

  void check() const {
    WindowAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
    for (int64_t v : output_padding) require(v >= 0, ErrorCode::invalid_argument, "output_padding of {}", v);
  }

  int64_t stride(size_t d) const { return strides.empty() ? 1 : strides.at(d); }
  int64_t padding(size_t d) const { return output_padding.empty() ? 0 : output_padding.at(d); }
  bool same() const { return auto_pad.starts_with("SAME"); }

  // The output extent before padding is removed.
  Dim full_extent(DimTable& dims, size_t d, Dim in, Dim kernel) const {
    const Dim window = dims.add(dims.mul(dilations.empty() ? 1 : dilations.at(d), dims.sub(kernel, 1)), 1);
    return dims.add(dims.add(dims.mul(stride(d), dims.sub(in, 1)), padding(d)), window);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape &x = c.shape(0), &w = c.shape(1);
    if (!(x.rank() > 2 && w.rank() == x.rank()))
      fail(ErrorCode::invalid_argument, "shapes {} and {} do not match", c.dims().text(x), c.dims().text(w));
    if (!(!is_known(x[1]) || !is_known(w[0]) || (x[1] == w[0] && x[1] % group == 0)))
      fail(ErrorCode::invalid_argument, "{} channels, weights {}, group {}", x[1], c.dims().text(w), group);
    check_ranks(x.rank() - 2);
    for (size_t d = 0; d < kernel_shape.size(); ++d)
      if (!(may_equal(kernel_shape[d], w[d + 2])))
        fail(ErrorCode::invalid_argument, "kernel_shape is {}, but the weights have shape {}; leave out kernel_shape",
             to_string(kernel_shape), c.dims().text(w));
    Shape y = x;
    y[1] = c.dims().mul(w[1], group);
    expect_shape_if_given(c, 2, "B", {y[1]});
    for (size_t d = 0; d + 2 < x.rank(); ++d) {
      const Dim full = full_extent(c.dims(), d, x[d + 2], w[d + 2]);
      const int64_t pad = pads.empty() || auto_pad == "VALID" ? 0 : pads[d] + pads[d + pads.size() / 2];
      y[d + 2] = !output_shape.empty() ? output_shape[d + output_shape.size() - (x.rank() - 2)]
                 : same()              ? c.dims().mul(x[d + 2], stride(d))
                                       : c.dims().sub(full, pad);
    }
    for (size_t d = 2; d < x.rank(); ++d)
      if (!(y[d] != 0 || x[d] == 0 || !is_known(x[d])))
        fail(ErrorCode::invalid_argument, "an output of shape {}: the pads leave nothing", c.dims().text(y));
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext& c) const { return transposed_convolution_cost(c, c.has(2)); }

  // The window over the output whose positions are the input's pixels: a convolution in reverse.
  Window window(const RunContext& c) const {
    const Shape &x = c.shape(0), &w = c.shape(1), &y = c.out_shape();
    WindowAttributes plain = *this;
    plain.auto_pad = "NOTSET";
    Window win = resolve_window(plain, {y.begin() + 2, y.end()}, {w.begin() + 2, w.end()}, {x.begin() + 2, x.end()});
    DimTable none;
    for (size_t d = 0; d < win.rank; ++d) {
      if (output_shape.empty() && !same()) continue;
      const int64_t total = full_extent(none, d, x[d + 2], w[d + 2]) - y[d + 2];  // negative: zeros are added
      win.axes[d].pad_begin = padding_at_begin(total, auto_pad != "SAME_UPPER");
    }
    return win;
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Window win = window(c);
    const int64_t batch = c.shape(0)[0], in_c = c.shape(0)[1], out_c = c.out_shape()[1];
    const int64_t group_in = in_c / group, group_out = out_c / group;
    const int64_t x_px = win.out_pixels(), y_px = win.in_pixels(), taps = win.taps();
    const T *x = c.input<T>(0).data(), *w = c.input<T>(1).data(), *bias = c.optional<T>(2);
    require(!bias || c.count(2) == size_t(out_c), ErrorCode::invalid_argument, "{} biases for {} outputs", c.count(2),
            out_c);
    std::vector<double> plane(size_t(y_px), 0.0);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t o = 0; o < out_c; ++o) {
        std::fill(plane.begin(), plane.end(), bias ? double(bias[o]) : 0.0);
        const int64_t first = o / group_out * group_in;
        for_each_position(win, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
          for_each_tap(win, at, [&](int64_t tap, int64_t pixel) {
            double sum = 0;
            for (int64_t i = first; i < first + group_in; ++i)
              sum += double(x[(n * in_c + i) * x_px + p]) * w[(i * group_out + o % group_out) * taps + tap];
            plane[size_t(pixel)] += sum;
          });
        });
        std::copy(plane.begin(), plane.end(), c.output<T>().data() + (n * out_c + o) * y_px);
      }
    }
  }

  // [group, in, out · tap] to [group, out · tap, in]
  void turn_weights(const float* from, const Shape& w, float* to, const Parallel& par) const {
    const size_t group_in = size_t(w[0] / group), rows = size_t(extent_product(w, 1, w.rank()));
    kernels::StridedCopy copy;
    copy.append(size_t(group), ptrdiff_t(group_in * rows), ptrdiff_t(group_in * rows));
    copy.append(rows, ptrdiff_t(group_in), 1);
    copy.append(group_in, 1, ptrdiff_t(rows));
    kernels::strided_copy(kernels::byte_mover(sizeof(float)), copy, to, from, par);
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* w = c.constant(1);
    if (!w || w->dtype() != DType::f32 || w->shape().rank() < 3 || w->count() == 0 || w->shape()[0] % group != 0 ||
        size_t(extent_product(w->shape(), 2, w->shape().rank())) > kMostTaps)
      return nullptr;
    auto state = std::make_unique<TurnedWeights>();
    state->memory = c.packed(w->count() * sizeof(float), [&](void* to) {
      turn_weights(w->data<float>(), w->shape(), static_cast<float*>(to), c.parallel());
    });
    c.release(1);
    return state;
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32 || c.out_count() == 0) return 0;  // empty weights may have a kernel of any size
    const Plan p = plan(c, window(c));
    return p.taps > kMostTaps
               ? 0
               : checked_add(p.weights + p.packed, p.columns * size_t(c.parallel().workers()), "the working memory");
  }

  // For each group, one product computes what every pixel adds to each tap of each output; then lines are added up.
  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.out_count() == 0) return;
    const Window win = window(c);
    const Plan p = plan(c, win);
    const float* bias = c.optional<float>(2);
    if (p.taps > kMostTaps) return reference<float>(c);
    require(!bias || c.count(2) == p.group_out * size_t(group), ErrorCode::invalid_argument, "{} biases for {} outputs",
            c.count(2), p.group_out * size_t(group));
    char* memory = static_cast<char*>(c.scratch());
    auto* packed = reinterpret_cast<float*>(memory + p.weights);
    const auto* state = c.state<TurnedWeights>();
    const auto* weights = static_cast<const float*>(state ? state->memory.get() : memory);
    if (!state) turn_weights(c.input<float>(1).data(), c.shape(1), reinterpret_cast<float*>(memory), c.parallel());
    const size_t width = kernels::gemm_panel_width();
    for (size_t image = 0; image < size_t(c.shape(0)[0] * group) && p.pixels > 0; ++image) {
      const float* x = c.input<float>(0).data() + image * p.group_in * p.pixels;
      c.parallel().for_each(ceil_div(p.pixels, width), [&](size_t panel, int) {
        kernels::gemm_pack_b(x + panel * width, p.pixels, 1, p.group_in, std::min(width, p.pixels - panel * width),
                             packed + panel * p.group_in * width);
      });
      const size_t g = image % size_t(group), first = g * p.group_out;
      float* y = c.output<float>().data() + (image - g) * p.group_out * size_t(win.in_pixels());
      c.parallel().for_each(ceil_div(p.group_out, p.block_outputs), [&](size_t task, int worker) {
        const size_t o = task * p.block_outputs, outputs = std::min(p.block_outputs, p.group_out - o);
        auto* columns = reinterpret_cast<float*>(memory + p.weights + p.packed + size_t(worker) * p.columns);
        const Block block{weights + (first + o) * p.taps * p.group_in, packed, columns, outputs,
                          bias ? bias + first + o : nullptr};
        float* to = y + (first + o) * size_t(win.in_pixels());
        for (size_t i = 0; i < outputs && !p.tiles; ++i)
          std::fill_n(to + i * size_t(win.in_pixels()), win.in_pixels(), bias ? bias[first + o + i] : 0.0f);
        add_block(c, win, p, block, to);
      });
    }
    for (size_t i = 0; i < size_t(c.shape(0)[0]) * p.group_out * size_t(group) && p.pixels == 0; ++i) {
      const size_t plane = size_t(win.in_pixels());  // no terms: only the bias
      std::fill_n(c.output<float>().data() + i * plane, plane, bias ? bias[i % (p.group_out * size_t(group))] : 0.0f);
    }
  }

 private:
  static constexpr size_t kMostTaps = 4096;  // limit for a kernel, so that a few pixels fit the second-level cache

  // How a group is computed, and how many bytes that needs.
  struct Plan {
    bool tiles;  // the windows of the input's pixels cover the output without overlapping: nothing is added up
    size_t group_in, group_out, taps, pixels;
    size_t block_outputs, block_pixels;  // outputs of one task, and the pixels that it computes at once: whole panels
    size_t weights, packed, columns;
  };
  Plan plan(const RunContext& c, const Window& win) const {
    constexpr size_t kRows = 64, kFloats = 32 << 10;
    const Shape &x = c.shape(0), &w = c.shape(1);
    Plan p{};
    p.group_in = size_t(x[1] / group);
    p.group_out = size_t(w[1]);
    p.taps = size_t(extent_product(w, 2, w.rank()));
    p.pixels = size_t(extent_product(x, 2, x.rank()));
    const size_t taps = std::clamp<size_t>(p.taps, 1, kMostTaps), width = kernels::gemm_panel_width();
    p.block_outputs = std::clamp<size_t>(kRows / taps, 1, std::max<size_t>(p.group_out, 1));
    p.block_pixels = std::clamp<size_t>(kFloats / (p.block_outputs * taps * width), 1, 32) * width;
    p.weights = c.state<TurnedWeights>() ? 0 : round_up(c.count(1) * sizeof(float), 128);
    p.packed = round_up(kernels::gemm_packed_bytes(p.group_in, p.pixels), 128);
    p.columns = round_up(p.block_outputs * taps * p.block_pixels * sizeof(float), 128);
    p.tiles = std::ranges::all_of(win.spatial(), [](const WindowAxis& a) {
      return a.kernel == a.stride && (a.kernel == 1 || a.dilation == 1) && a.pad_begin == 0 && a.in == a.out * a.stride;
    });
    return p;
  }

  struct Block {
    const float *weights, *packed;
    float* columns;
    size_t outputs;
    const float* bias;  // of the outputs; may be null
  };

  // Columns 0 to kStride of a line of pixels, one behind another: to[j * kStride + t] = from[t][j] + bias.
  template <int kStride>
  static void interleave(const float* from, size_t step, int64_t n, float bias, float* to) {
    for (int64_t j = 0; j < n; ++j) {
      for (int t = 0; t < kStride; ++t) to[j * kStride + t] = from[size_t(t) * step + size_t(j)] + bias;
    }
  }
  static void interleave_any(int64_t stride, const float* from, size_t step, int64_t n, float bias, float* to) {
    if (stride == 2) return interleave<2>(from, step, n, bias, to);
    if (stride == 4) return interleave<4>(from, step, n, bias, to);
    for (int64_t t = 0; t < stride; ++t) {
      for (int64_t j = 0; j < n; ++j) to[j * stride + t] = from[size_t(t) * step + size_t(j)] + bias;
    }
  }
  static void add_strided(int64_t stride, const float* from, int64_t n, float* to) {
    if (stride == 1) {
      for (int64_t j = 0; j < n; ++j) to[j] += from[j];
    } else {
      for (int64_t j = 0; j < n; ++j) to[j * stride] += from[j];
    }
  }

  static void add_block(const RunContext& c, const Window& win, const Plan& p, const Block& block, float* y) {
    const int64_t stride = win.axes[win.rank - 1].stride, plane = win.in_pixels();
    kernels::GemmArgs args;
    args.m = block.outputs * p.taps;
    if (args.m == 0) return;
    args.k = p.group_in;
    args.a = block.weights;
    args.a_stride = p.group_in;
    args.c = block.columns;
    args.c_stride = p.block_pixels;
    args.run = &c.parallel();
    for (size_t first = 0; first < p.pixels && !c.parallel().cancelled(); first += p.block_pixels) {
      args.n = std::min(p.block_pixels, p.pixels - first);
      args.packed_b = block.packed + first * p.group_in;
      kernels::gemm_block(args, 0, args.n);
      const auto line = [&](int64_t at, int64_t n) {
        for_each_tap_of_line(win, at, n, [&](int64_t tap, int64_t pixel, int64_t j0, int64_t j1) {
          if (p.tiles && tap % stride != 0) return;  // written with the tap before
          for (size_t o = 0; o < block.outputs; ++o) {
            const float* from = block.columns + (o * p.taps + size_t(tap)) * p.block_pixels + size_t(at) - first + j0;
            float* to = y + int64_t(o) * plane + pixel + j0 * stride;
            if (p.tiles)
              interleave_any(stride, from, p.block_pixels, j1 - j0, block.bias ? block.bias[o] : 0, to);
            else
              add_strided(stride, from, j1 - j0, to);
          }
        });
      };
      for_each_line(win, int64_t(first), int64_t(first + args.n), int64_t(args.n), line);
    }
  }

  void check_ranks(size_t spatial) const {
    const auto fits = [&](const std::vector<int64_t>& v, size_t n) { return v.empty() || v.size() == n; };
    require(fits(strides, spatial) && fits(dilations, spatial) && fits(output_padding, spatial) &&
                fits(pads, 2 * spatial) && (output_shape.empty() || output_shape.size() >= spatial),
            ErrorCode::invalid_argument, "the attributes do not match {} spatial axes", spatial);
  }
};

}  // namespace

extern const OpDef op_conv_transpose;
constinit const OpDef op_conv_transpose = define<ConvTranspose>({
    .name = "ConvTranspose",
    .since = {1, 11, 22},
    .inputs = {"X: T", "W: T", "B: T?"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
