// Convolution of an image whose padding is a good part of it, as with the dilations of DeepLab's pyramid (12, 18, 24 on
// 28 x 28), where most pixels have most of their taps in the padding: only the taps inside are multiplied. The output is
// divided into rectangles whose pixels have the same taps inside. Of each, some taps at a time are gathered, so that
// their inputs stay in the second-level cache, and multiplied with the steps of the packed weights that belong to them.
#include "kernels/conv/inside.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/division.h"

namespace retort::kernels::conv_detail {
namespace {

constexpr size_t kFewPixels = 48, kMaxPixels = 240;  // of a block, as in rows_plan.cc
/// Weights are read once per block, which takes as long as that many of its pixels.
constexpr size_t kWeightPixels = 16;

struct Axis {
  size_t in, out, kernel, stride, dilation, pad;
};
Axis rows_of(const ConvShape& s) { return {s.in_h, s.out_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top}; }
Axis columns_of(const ConvShape& s) { return {s.in_w, s.out_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left}; }

Spans spans_of(const Axis& a) {
  Spans s;
  for (size_t i = 0; i < a.out; ++i) {
    // Padding is modulo 2^64 (conv_transpose.cc).
    TapRange taps = taps_inside(ptrdiff_t(i * a.stride - a.pad), a.in, a.kernel, a.dilation);
    if (taps.count() == 0) taps = {0, 0};
    Span* last = s.count > 0 ? &s.spans[s.count - 1] : nullptr;
    if (last && last->taps.first == taps.first && last->taps.last == taps.last) {
      ++last->count;
    } else if (s.count == Spans::kMost) {
      return {};
    } else {
      s.spans[s.count++] = {i, 1, taps};
    }
  }
  return s;
}

/// How many outputs have all taps inside.
size_t complete(const Axis& a) {
  const auto step = ptrdiff_t(a.stride), pad = ptrdiff_t(a.pad);
  const ptrdiff_t first = pad <= 0 ? 0 : (pad + step - 1) / step;
  const ptrdiff_t rest = ptrdiff_t(a.in) - 1 - ptrdiff_t((a.kernel - 1) * a.dilation) + pad;
  const ptrdiff_t last = rest < 0 ? 0 : std::min(rest / step + 1, ptrdiff_t(a.out));
  return last > first ? size_t(last - first) : 0;
}

size_t fitting_pixels(const ConvShape& s) {
  return std::clamp(kGatherBytes / sizeof(float) / std::max<size_t>(s.in_c, 1), kFewPixels, kMaxPixels);
}

/// Pixels that gathered rows and the rows of the output have in the order of a rectangle: image, row, column.
struct Position {
  size_t image, y, x;
};
Position position(const Rectangle& r, size_t pixel) {
  const size_t of_image = r.y.count * r.x.count;
  return {pixel / of_image, r.y.first + pixel % of_image / r.x.count, r.x.first + pixel % r.x.count};
}
size_t output_pixel(const ConvShape& s, const Rectangle& r, size_t pixel) {
  const Position at = position(r, pixel);
  return (at.image * s.out_h + at.y) * s.out_w + at.x;
}

/// Taps [first, first + count) of a row of the kernel.
struct Taps {
  size_t row, first, count;
};
/// Pixels [p0, p1) of a rectangle, and columns [n0, n1) of their results.
struct Part {
  size_t p0, p1, n0, n1;
};

void gather_taps(const ConvArgs& args, const Rectangle& r, const Taps& taps, const Part& part, size_t stride,
                 float* rows) {
  const ConvShape& s = args.shape;
  const bool dense = s.dilation_w == 1 && s.in_pixel_stride == s.in_c;
  const size_t runs = dense ? 1 : taps.count, run = dense ? taps.count * s.in_c : s.in_c;
  for (size_t p = part.p0; p < part.p1; ++p, rows += stride) {
    const Position at = position(r, p);
    const size_t y = at.y * s.stride_h + taps.row * s.dilation_h - s.pad_top;
    const size_t x = at.x * s.stride_w + taps.first * s.dilation_w - s.pad_left;
    const float* from = args.input + ((at.image * s.in_h + y) * s.in_w + x) * s.in_pixel_stride;
    for (size_t i = 0; i < runs; ++i, from += s.dilation_w * s.in_pixel_stride)
      std::memcpy(rows + i * run, from, run * sizeof(float));
  }
}

/// Multiplies the pixels of a part by the weights of its columns. `sums` has what is added to them, if anything, and
/// gets the result; there is room for gathered rows behind it.
void multiply(const ConvArgs& args, const InsidePlan& plan, const Rectangle& r, const Part& part, float* sums,
              const Parallel& par) {
  const ConvShape& s = args.shape;
  const Epilogue& e = args.epilogue;
  float* const rows = sums + round_up(plan.most_pixels * plan.columns, 16);
  GemmArgs g;
  g.m = part.p1 - part.p0, g.n = part.n1 - part.n0;
  g.a = rows, g.a_stride = plan.row_stride;
  g.c = sums, g.c_stride = plan.columns;
  g.panel_steps = s.kernel_h * s.kernel_w * s.in_c;
  g.epilogue.bias = e.bias ? e.bias + part.n0 : nullptr;
  g.epilogue.residual = e.residual ? sums : nullptr;
  g.epilogue.residual_stride = plan.columns;
  g.run = &par;
  const auto product = [&](bool last) {
    if (last) g.epilogue.activation = e.activation;
    gemm_block(g, 0, g.n);
    g.epilogue.bias = nullptr;
    g.epilogue.residual = sums;
  };
  if (r.taps() == 0) return product(true);
  for (size_t i = r.y.taps.first; i < r.y.taps.last; ++i) {
    for (size_t j = r.x.taps.first; j < r.x.taps.last; j += plan.taps_together) {
      const Taps taps{i, j, std::min(plan.taps_together, r.x.taps.last - j)};
      gather_taps(args, r, taps, part, plan.row_stride, rows);
      g.k = taps.count * s.in_c;
      g.packed_b = args.packed + part.n0 * g.panel_steps + (i * s.kernel_w + j) * s.in_c * gemm_panel_width();
      product(i + 1 == r.y.taps.last && j + taps.count == r.x.taps.last);
    }
  }
}

void run_part(const ConvArgs& args, const InsidePlan& plan, const Rectangle& r, const Part& part, float* sums,
              const Parallel& par) {
  const ConvShape& s = args.shape;
  const Epilogue& e = args.epilogue;
  const auto [p0, p1, n0, n1] = part;
  const size_t bytes = (n1 - n0) * sizeof(float);
  for (size_t p = p0; e.residual && p < p1; ++p) {
    const float* from = e.residual + output_pixel(s, r, p) * e.residual_stride + n0;
    std::memcpy(sums + (p - p0) * plan.columns, from, bytes);
  }
  multiply(args, plan, r, part, sums, par);
  for (size_t p = p0; p < p1; ++p)
    std::memcpy(args.output + output_pixel(s, r, p) * s.out_pixel_stride + n0, sums + (p - p0) * plan.columns, bytes);
}

/// Adds the rectangle of two spans, after those whose blocks take longer.
void add_rectangle(const ConvShape& s, const Span& y, const Span& x, InsidePlan& plan) {
  Rectangle r{y, x};
  r.pixels = s.batch * y.count * x.count;
  r.blocks = ceil_div(r.pixels, fitting_pixels(s));
  r.block_pixels = ceil_div(r.pixels, std::max<size_t>(r.blocks, 1));
  plan.blocks += r.blocks;
  plan.most_pixels = std::max(plan.most_pixels, r.block_pixels);
  plan.products += r.pixels * r.taps();
  size_t i = plan.count++;
  for (; i > 0 && plan.rectangles[i - 1].work() < r.work(); --i) plan.rectangles[i] = plan.rectangles[i - 1];
  plan.rectangles[i] = r;
}

InsidePlan rectangles_of(const ConvShape& s) {
  InsidePlan plan;
  const Spans down = spans_of(rows_of(s)), across = spans_of(columns_of(s));
  for (size_t i = 0; i < down.count; ++i) {
    for (size_t j = 0; j < across.count; ++j) add_rectangle(s, down.spans[i], across.spans[j], plan);
  }
  return plan;
}

}  // namespace

InsidePlan plan_inside(const ConvShape& s) {
  constexpr size_t kFewColumns = 128;  // that share the gathering of a block
  InsidePlan plan = rectangles_of(s);
  const size_t floats = std::max<size_t>(plan.most_pixels * s.in_c, 1);
  plan.taps_together = std::clamp<size_t>(kGatherBytes / sizeof(float) / floats, 1, s.kernel_w);
  plan.row_stride = spread_stride(plan.taps_together * s.in_c);
  const size_t wanted = ceil_div(wanted_tasks(plan.products * s.in_c * s.out_c), std::max<size_t>(plan.blocks, 1));
  plan.columns = group_columns(s.out_c, std::min(wanted, std::max<size_t>(s.out_c / kFewColumns, 1)));
  plan.column_groups = ceil_div(s.out_c, plan.columns);
  const size_t sums = round_up(plan.most_pixels * plan.columns, 16);
  plan.worker_bytes = round_up((sums + plan.most_pixels * plan.row_stride) * sizeof(float), 128);
  return plan;
}

double inside_share(const ConvShape& s) {
  if (s.groups > 1 || s.input_is_nchw || s.scaled_input || s.out_pixels() * s.in_h * s.in_w == 0) return 1;
  if (s.pad_top == 0 && s.pad_left == 0 && s.kernel_h * s.kernel_w == 1) return 1;
  // Most convolutions, of which some take only microseconds.
  if (10 * complete(rows_of(s)) * complete(columns_of(s)) >= 9 * s.out_h * s.out_w) return 1;
  const Spans down = spans_of(rows_of(s)), across = spans_of(columns_of(s));
  const auto time = [&](size_t pixels) { return pixels + ceil_div(pixels, fitting_pixels(s)) * kWeightPixels; };
  size_t some = 0;
  for (size_t i = 0; i < down.count; ++i) {
    for (size_t j = 0; j < across.count; ++j) {
      const Span &y = down.spans[i], &x = across.spans[j];
      some += time(s.batch * y.count * x.count) * y.taps.count() * x.taps.count();
    }
  }
  const size_t all = time(s.out_pixels()) * s.kernel_h * s.kernel_w;
  return down.count * across.count == 0 ? 1 : double(some) / double(all);
}

void conv_inside(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const InsidePlan plan = plan_inside(args.shape);
  par.for_each_in_order(plan.blocks * plan.column_groups, [&](size_t task, int worker) {
    size_t block = task / plan.column_groups;
    const Rectangle* r = plan.rectangles.data();
    for (; block >= r->blocks; ++r) block -= r->blocks;
    const size_t p0 = block * r->block_pixels, n0 = task % plan.column_groups * plan.columns;
    const Part part{p0, std::min(p0 + r->block_pixels, r->pixels), n0, std::min(n0 + plan.columns, args.shape.out_c)};
    char* const own = static_cast<char*>(scratch) + size_t(worker) * plan.worker_bytes;
    run_part(args, plan, *r, part, reinterpret_cast<float*>(own), par);
  });
}

}  // namespace retort::kernels::conv_detail
