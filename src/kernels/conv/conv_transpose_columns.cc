// Transposed convolution to few channels, such as the last layer of a generator of images. The phases of
// conv_transpose.cc would leave most lanes of their products empty. Here, one product has the taps of all output
// channels as its columns: pixels [in_w] x [kernel_h][kernel_w][out_c]. Then each output row adds those columns that
// reach it: stride_w pixels at a time, which lie side by side both in the row and in the products.
#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/conv_transpose_plan.h"

namespace retort::kernels::conv_detail {
namespace {

/// A task is some output rows of an image, or if it has only one, a part of that. It multiplies the inputs that reach
/// them.
struct ColumnsPlan {
  size_t columns = 0;     // of the product: taps and output channels, and empty ones that fill vectors
  size_t row_stride = 0;  // of the product
  size_t rows = 0, row_blocks = 0;
  bool one_row = false;
  size_t width = 0, parts = 0;  // of a row
  size_t bias_floats = 0;       // of the bias, repeated for a run of sums
  size_t line_floats = 0;       // of sums
  size_t worker_bytes = 0;
};

/// Inputs [first, last) of an axis.
struct Range {
  size_t first, last;
  size_t count() const { return last - first; }
};
/// Those that reach outputs [from, to), counted from the start of the padding.
Range reaching(size_t from, size_t to, size_t in, size_t kernel, size_t stride) {
  const size_t first = from < kernel ? 0 : (from - kernel) / stride + 1;
  const size_t last = std::min((to - 1) / stride + 1, in);
  return {std::min(first, last), last};
}
/// The most that reach a number of outputs.
size_t most_reaching(size_t outputs, size_t in, size_t kernel, size_t stride) {
  return std::min((outputs + kernel) / stride + 1, in);
}

/// How many outputs of an axis are one task.
size_t together(size_t in, size_t out, size_t kernel, size_t stride, size_t wanted, size_t fitting) {
  constexpr size_t kFew = 8;  // inputs, for each one that neighbouring tasks both multiply
  const size_t fewest = kFew * ceil_div(kernel, stride);
  const size_t inputs = std::clamp(ceil_div(in, wanted), fewest, std::max(fitting, fewest));
  return std::clamp<size_t>(inputs * stride, 1, std::max<size_t>(out, 1));
}

ColumnsPlan plan_columns(const ConvTransposeShape& s) {
  ColumnsPlan p;
  // The tiles of a product compute whole vectors. To store fewer columns would cost a copy.
  p.columns = round_up(s.kernel_h * s.kernel_w * s.out_c, std::min<size_t>(gemm_panel_width() / 2, 8));
  p.row_stride = p.columns <= 16 ? p.columns : spread_stride(p.columns);
  const size_t wanted = wanted_tasks(s.in_h * s.in_w * s.in_c * p.columns);
  const size_t fitting = kGatherBytes / sizeof(float) / p.row_stride;
  p.one_row = s.in_h * s.out_h == 1;
  p.width =
      p.one_row ? together(s.in_w, s.out_w, s.kernel_w, s.stride_w, wanted, fitting) : std::max<size_t>(s.out_w, 1);
  p.parts = ceil_div(s.out_w, p.width);
  p.rows = together(s.in_h, s.out_h, s.kernel_h, s.stride_h, wanted, fitting / std::max<size_t>(s.in_w, 1));
  p.row_blocks = ceil_div(s.out_h, p.rows);
  const size_t pixels = p.one_row ? most_reaching(p.width, s.in_w, s.kernel_w, s.stride_w)
                                  : most_reaching(p.rows, s.in_h, s.kernel_h, s.stride_h) * s.in_w;
  p.bias_floats = round_up(s.stride_w * s.out_c + kRunSlack, 16);
  p.line_floats = round_up((p.width + s.pad_left + 2 * s.kernel_w + 2 * s.stride_w) * s.out_c + kRunSlack, 16);
  const size_t products = round_up(pixels * p.row_stride + kRunSlack, 16);
  p.worker_bytes = round_up((p.bias_floats + p.line_floats + products) * sizeof(float), 128);
  return p;
}

/// Stores a part of an output row, with what is applied last but the bias.
void store_row(const ConvTransposeArgs& args, size_t pixel, size_t width, float* sums) {
  const ConvTransposeShape& s = args.shape;
  const Epilogue& e = args.epilogue;
  for (size_t x = 0; x < width && e.residual; ++x) {
    for (size_t o = 0; o < s.out_c; ++o) sums[x * s.out_c + o] += e.residual[(pixel + x) * e.residual_stride + o];
  }
  const bool dense = s.out_pixel_stride == s.out_c;
  if (dense && e.activation.kind == Activation::Kind::none)
    return void(std::copy_n(sums, width * s.out_c, args.output + pixel * s.out_pixel_stride));
  GemmArgs g;  // without steps: only the activation
  g.m = dense ? 1 : width;
  g.n = dense ? width * s.out_c : s.out_c;
  g.c = args.output + pixel * s.out_pixel_stride;
  g.c_stride = s.out_pixel_stride;
  g.epilogue.residual = sums;
  g.epilogue.residual_stride = s.out_c;
  g.epilogue.activation = e.activation;
  gemm_block(g, 0, g.n);
}

/// Outputs of an image.
struct Block {
  size_t image, y0, y1, x0, x1;
};

/// The sums of all runs, but not yet their products.
RunSums run_sums(const ConvTransposeArgs& args, const ColumnsPlan& plan, float* own) {
  const ConvTransposeShape& s = args.shape;
  RunSums sums;
  sums.run = s.stride_w * s.out_c;
  sums.blocks = ceil_div(s.kernel_w, s.stride_w);
  sums.last_run = s.kernel_w * s.out_c - (sums.blocks - 1) * sums.run;
  sums.pixel_step = plan.row_stride;
  std::fill_n(own, plan.bias_floats, 0.0f);
  // A bias of -0 becomes 0, so that it makes no difference whether products that are 0 are added.
  for (size_t i = 0; i < sums.run && args.epilogue.bias; ++i) own[i] = args.epilogue.bias[i % s.out_c] + 0.0f;
  sums.bias = own;
  sums.to = own + plan.bias_floats;
  return sums;
}

void run_task(const ConvTransposeArgs& args, const ColumnsPlan& plan, const Block& block, float* own,
              const Parallel& par) {
  const ConvTransposeShape& s = args.shape;
  const Range lines = reaching(block.y0 + s.pad_top, block.y1 + s.pad_top, s.in_h, s.kernel_h, s.stride_h);
  const size_t left = block.x0 + s.pad_left;
  Range across =
      plan.one_row ? reaching(left, block.x1 + s.pad_left, s.in_w, s.kernel_w, s.stride_w) : Range{0, s.in_w};
  // Runs begin with that of an input: the one whose run has the first output, unless an earlier input reaches it, too.
  if (across.count() == 0 || across.first * s.stride_w > left) across.first = left / s.stride_w;
  across.last = std::max(across.first, across.last);
  RunSums sums = run_sums(args, plan, own);
  float* const products = sums.to + plan.line_floats;
  GemmArgs g;
  g.m = lines.count() * across.count(), g.n = plan.columns, g.k = s.in_c;
  g.a = args.input + ((block.image * s.in_h + lines.first) * s.in_w + across.first) * s.in_pixel_stride;
  g.a_stride = s.in_pixel_stride;
  g.packed_b = args.packed;
  g.c = products;
  g.c_stride = plan.row_stride;
  g.run = &par;
  if (g.m > 0) gemm_block(g, 0, g.n);
  sums.pixels = across.count();
  const size_t skipped = left - across.first * s.stride_w;
  sums.runs = ceil_div(skipped + block.x1 - block.x0, s.stride_w);
  const size_t line = across.count() * plan.row_stride, tap_row = s.kernel_w * s.out_c;
  sums.row_step = ptrdiff_t(s.stride_h * tap_row) - ptrdiff_t(line);
  const auto add = sum_runs();
  for (size_t y = block.y0; y < block.y1 && !par.cancelled(); ++y) {
    // Of the inputs that reach this row, the lowest one does so by the first of these taps, the one above it by the tap
    // that is stride_h later.
    const size_t below = y + s.pad_top;
    const Range added = reaching(below, below + 1, s.in_h, s.kernel_h, s.stride_h);
    sums.rows = added.count();
    if (sums.rows > 0) {
      const size_t tap = below - (added.last - 1) * s.stride_h;
      sums.products = products + (added.last - 1 - lines.first) * line + tap * tap_row;
    }
    add(sums);
    store_row(args, (block.image * s.out_h + y) * s.out_w + block.x0, block.x1 - block.x0, sums.to + skipped * s.out_c);
  }
}

}  // namespace

bool suits_columns(const ConvTransposeShape& s) {
  constexpr size_t kFewChannels = 4;
  constexpr size_t kFewestColumns = 3;  // a kernel of 2x2 to one channel has more, and takes 0.8 of the time of phases
  return s.groups == 1 && s.out_c <= kFewChannels && s.kernel_h * s.kernel_w * s.out_c >= kFewestColumns &&
         s.stride_h * s.stride_w > 1 && s.dilation_h * s.dilation_w == 1;
}

size_t columns_packed_bytes(const ConvTransposeShape& s) {
  return gemm_packed_bytes(s.in_c, s.kernel_h * s.kernel_w * s.out_c);
}

void columns_pack(const ConvTransposeShape& s, const float* weights, float* packed) noexcept {
  const size_t width = gemm_panel_width(), taps = s.kernel_h * s.kernel_w;
  for (size_t n = 0; n < round_up(taps * s.out_c, width); ++n) {
    const size_t tap = n / s.out_c, o = n % s.out_c;
    float* const to = packed + n / width * width * s.in_c + n % width;
    for (size_t c = 0; c < s.in_c; ++c) to[c * width] = tap < taps ? weights[(c * s.out_c + o) * taps + tap] : 0.0f;
  }
}

size_t columns_scratch_bytes(const ConvTransposeShape& s, int workers) {
  return plan_columns(s).worker_bytes * size_t(workers);
}

void conv_transpose_columns(const ConvTransposeArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvTransposeShape& s = args.shape;
  const ColumnsPlan plan = plan_columns(s);
  par.for_each(s.batch * plan.row_blocks * plan.parts, [&](size_t task, int worker) {
    const size_t rows = task / plan.parts, y0 = rows % plan.row_blocks * plan.rows;
    const size_t x0 = task % plan.parts * plan.width;
    auto* own = reinterpret_cast<float*>(static_cast<char*>(scratch) + size_t(worker) * plan.worker_bytes);
    const Block block{rows / plan.row_blocks, y0, std::min(y0 + plan.rows, s.out_h), x0,
                      std::min(x0 + plan.width, s.out_w)};
    run_task(args, plan, block, own, par);
  });
}

}  // namespace retort::kernels::conv_detail
