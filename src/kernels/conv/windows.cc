// Implicit GEMM without a copied row for each patch: the input lines of some output rows are copied once, with their
// padding, and a product reads its rows there, each as a run of every line under the kernel, overlapping those of the
// neighbouring pixels. Gathering instead copies each input once for each tap (ADR 0034).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/windows.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/copy-inl.h"
#include "kernels/conv/windows.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

// Copies `lines` input lines of an image from line y on (which may be above it), the channels of one group; zeros
// outside.
void copy_windows(const ConvArgs& args, const conv_detail::WindowsPlan& plan, const float* image, ptrdiff_t y,
                  size_t lines, float* to) noexcept {
  const ConvShape& s = args.shape;
  const ptrdiff_t x = -ptrdiff_t(s.pad_left);
  const TapRange inside = taps_inside(x, s.in_w, plan.line_pixels, 1);
  const size_t channels = plan.group_in, pixel = s.in_pixel_stride;
  for (size_t l = 0; l < lines; ++l, ++y, to += plan.line_floats) {
    if (y < 0 || size_t(y) >= s.in_h) {
      zero_run(plan.line_floats, to);
      continue;
    }
    const float* from = image + (size_t(y) * s.in_w + size_t(x + ptrdiff_t(inside.first))) * pixel;
    float* at = zero_run(inside.first * channels, to);
    if (pixel == channels) {
      at = copy_run(from, inside.count() * channels, at);
    } else {
      for (size_t i = 0; i < inside.count(); ++i) at = copy_run(from + i * pixel, channels, at);
    }
    zero_run((plan.line_pixels - inside.last) * channels, at);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {
namespace {

// How far the taps of a kernel are apart, from the first to the last.
size_t span(size_t kernel, size_t dilation) { return (kernel - 1) * dilation; }

// Whether all taps are inside of the image, and each row of them is one run there.
bool is_in_place(const ConvShape& s) {
  const bool inside = s.pad_top == 0 && s.pad_left == 0 &&
                      (s.out_h - 1) * s.stride_h + span(s.kernel_h, s.dilation_h) < s.in_h &&
                      (s.out_w - 1) * s.stride_w + span(s.kernel_w, s.dilation_w) < s.in_w;
  return inside && (s.kernel_w == 1 || s.in_pixel_stride == s.in_c / s.groups);
}

// A block of output rows of a group in an image.
struct Block {
  size_t image, group, y, rows;
};

Block block_of(const ConvShape& s, const WindowsPlan& plan, size_t index) {
  Block b;
  b.y = index % plan.row_blocks * plan.rows, index /= plan.row_blocks;
  b.group = index % s.groups, b.image = index / s.groups;
  b.rows = std::min(plan.rows, s.out_h - b.y);
  return b;
}

GemmArgs product_of(const ConvArgs& args, const WindowsPlan& plan, const Block& b) {
  const ConvShape& s = args.shape;
  const size_t first = b.group * plan.group_out, pixel = (b.image * s.out_h + b.y) * s.out_w;
  GemmArgs g;
  g.m = b.rows * s.out_w, g.n = plan.group_out, g.k = s.kernel_h * plan.run;
  g.a_stride = s.stride_w * plan.pixel;
  g.packed_b = args.packed + b.group * (group_packed_bytes(s) / sizeof(float));
  g.c = args.output + pixel * s.out_pixel_stride + first;
  g.c_stride = s.out_pixel_stride;
  g.epilogue = args.epilogue;
  if (g.epilogue.bias) g.epilogue.bias += first;
  if (g.epilogue.residual) g.epilogue.residual += pixel * g.epilogue.residual_stride + first;
  return g;
}

size_t lines_of(const ConvShape& s, size_t rows) {
  return (rows - 1) * s.stride_h + span(s.kernel_h, s.dilation_h) + 1;
}

// Without the division into tasks.
WindowsPlan layout_of(const ConvShape& s) {
  WindowsPlan p;
  p.group_in = s.in_c / s.groups, p.group_out = s.out_c / s.groups;
  p.run = s.kernel_w * p.group_in;
  p.in_place = is_in_place(s);
  p.pixel = p.in_place ? s.in_pixel_stride : p.group_in;
  p.line_pixels = p.in_place ? s.in_w : (s.out_w - 1) * s.stride_w + span(s.kernel_w, s.dilation_w) + 1;
  p.line_floats = p.line_pixels * p.pixel;
  return p;
}

}  // namespace

bool suits_windows(const ConvShape& s) {
  // Tiles of fewer pixels take longer. Those of x86-64-v2 have three panels at a time, and no windows.
  constexpr size_t kFewestPixels = 4, kFewestWidth = 16;
  // All columns share the gathering of a row. On the other hand, a tile has pixels of one line only, and at AVX2, where
  // the largest has six, this often leaves some with three or four, whose multiply-adds wait for each other: 14 x 14
  // pixels of 256 columns take 1.02 times as long there as with gathered rows, and 0.97 times at AVX-512.
  constexpr size_t kMostColumns = 512, kMostColumnsNarrow = 96;
  const size_t width = gemm_panel_width();
  if (s.input_is_nchw || s.scaled_input || (s.kernel_w > 1 && s.dilation_w > 1)) return false;
  if (s.out_pixels() * s.in_h * s.in_w * s.kernel_h * s.kernel_w * (s.in_c / s.groups) == 0) return false;
  if (s.out_w < kFewestPixels || width < kFewestWidth) return false;
  if (s.out_c / s.groups > (width == kFewestWidth ? kMostColumnsNarrow : kMostColumns)) return false;
  return layout_of(s).line_floats * lines_of(s, 1) * sizeof(float) <= kGatherBytes;
}

WindowsPlan plan_windows(const ConvShape& s) {
  constexpr size_t kSlack = 16;  // in floats: copies write whole vectors
  // As in rows_plan.cc, but with twice the pixels of a block: lines take less memory than gathered rows.
  constexpr size_t kMostPixels = 480, kFewPixels = 48, kFewPanels = 2;
  constexpr size_t kBytes = kGatherBytes / 2;
  WindowsPlan p = layout_of(s);
  const size_t line_bytes = std::max<size_t>(p.line_floats * sizeof(float), 1);
  const size_t units = s.batch * s.groups, macs = s.out_pixels() * s.out_c * s.kernel_h * p.run;
  const size_t fitting = std::max(kBytes / line_bytes, lines_of(s, 1));
  const size_t rows = std::min((fitting - lines_of(s, 1)) / s.stride_h + 1, std::max<size_t>(kMostPixels / s.out_w, 1));
  const size_t wanted = wanted_tasks(macs), fewest = ceil_div(s.out_h, rows);
  const size_t most = std::min(ceil_div(wanted, units), s.out_h * s.out_w / kFewPixels);
  p.rows = even_block(s.out_h, units, fewest, std::max(fewest, most));
  p.row_blocks = ceil_div(s.out_h, p.rows);
  const size_t width = gemm_panel_width(), panels = ceil_div(std::max<size_t>(p.group_out, 1), width);
  const size_t blocks = units * p.row_blocks;
  const size_t groups = blocks == 1 ? panels : std::max<size_t>(panels / kFewPanels, 1);
  p.columns = even_block(panels, blocks, 1, std::min(ceil_div(wanted, blocks), groups)) * width;
  p.column_groups = ceil_div(panels * width, p.columns);
  if (!p.in_place)
    p.worker_bytes = round_up(sizeof(WorkerHead) + (lines_of(s, p.rows) * p.line_floats + kSlack) * sizeof(float), 128);
  return p;
}

void conv_windows(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const WindowsPlan plan = plan_windows(s);
  const Windows windows{s.kernel_h, s.dilation_h * plan.line_floats, s.out_w, s.stride_h * plan.line_floats};
  if (!plan.in_place) reset_workers(scratch, plan.worker_bytes, par.workers());
  const auto copy = RETORT_SELECT(copy_windows);
  par.for_each(s.batch * s.groups * plan.row_blocks * plan.column_groups, [&](size_t task, int worker) {
    const size_t n0 = task % plan.column_groups * plan.columns, index = task / plan.column_groups;
    const Block block = block_of(s, plan, index);
    GemmArgs product = product_of(args, plan, block);
    const float* image = args.input + block.image * s.in_h * s.in_w * s.in_pixel_stride + block.group * plan.group_in;
    if (plan.in_place) {
      product.a = image + block.y * windows.line_step;
    } else {
      WorkerHead* head = worker_head(scratch, plan.worker_bytes, worker);
      float* const lines = reinterpret_cast<float*>(head + 1);
      const ptrdiff_t y = ptrdiff_t(block.y * s.stride_h) - ptrdiff_t(s.pad_top);
      if (head->block != index) copy(args, plan, image, y, lines_of(s, block.rows), lines);
      head->block = index;
      product.a = lines;
    }
    product.windows = &windows;
    product.run = &par;
    gemm_block(product, n0, std::min(n0 + plan.columns, plan.group_out));
  });
}

}  // namespace retort::kernels::conv_detail
#endif
