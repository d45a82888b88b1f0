// Implicit GEMM: the patches of a block of output pixels are copied to rows that stay in L2, and one GEMM block
// multiplies them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/rows.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "base/grid_order.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/copy-inl.h"
#include "kernels/conv/taps.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/gemm_bf16.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE float* scale_run(const float* from, const float* scale, size_t n, float* to) {
  const FloatTag d;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, from + i), hn::LoadU(d, scale + i)), d, to + i);
  if (i < n) hn::StoreU(hn::Mul(load_first(from + i, n - i), load_first(scale + i, n - i)), d, to + i);
  return to + n;
}

// The channels of one group in one image, and their factors or null.
struct Channels {
  const float* image;
  const float* scale;
  size_t count;
};

// Gathers one patch, taps outermost: [kernel_h][kernel_w][channels].
HWY_INLINE void gather_patch(const ConvShape& s, const Channels& channels, ptrdiff_t y, ptrdiff_t x, float* row) {
  const size_t pixel = s.in_pixel_stride, count = channels.count;
  const bool dense = pixel == count && s.dilation_w == 1 && !channels.scale;
  const TapRange across = taps_inside(x, s.in_w, s.kernel_w, s.dilation_w);
  const TapRange down = taps_inside(y, s.in_h, s.kernel_h, s.dilation_h);
  row = zero_run(down.first * s.kernel_w * count, row);
  for (size_t i = down.first; i < down.last; ++i) {
    const ptrdiff_t line = (y + ptrdiff_t(i * s.dilation_h)) * ptrdiff_t(s.in_w) + x;
    row = zero_run(across.first * count, row);
    if (dense) {
      row = copy_run(channels.image + (line + ptrdiff_t(across.first)) * ptrdiff_t(pixel), across.count() * count, row);
    } else {
      for (size_t j = across.first; j < across.last; ++j) {
        const float* from = channels.image + (line + ptrdiff_t(j * s.dilation_w)) * ptrdiff_t(pixel);
        row = channels.scale ? scale_run(from, channels.scale, count, row) : copy_run(from, count, row);
      }
    }
    row = zero_run((s.kernel_w - across.last) * count, row);
  }
  zero_run((s.kernel_h - down.last) * s.kernel_w * count, row);
}

// Gathers one patch of a dense channels-first image, channels outermost: [channels][kernel_h][kernel_w], the order of
// its packed weights.
HWY_INLINE void gather_patch_nchw(const ConvShape& s, const float* image, ptrdiff_t y, ptrdiff_t x, float* row) {
  const TapRange across = taps_inside(x, s.in_w, s.kernel_w, s.dilation_w);
  const TapRange down = taps_inside(y, s.in_h, s.kernel_h, s.dilation_h);
  for (size_t c = 0; c < s.in_c; ++c, image += s.in_h * s.in_w) {
    row = zero_run(down.first * s.kernel_w, row);
    for (size_t i = down.first; i < down.last; ++i) {
      const float* line = image + (y + ptrdiff_t(i * s.dilation_h)) * ptrdiff_t(s.in_w);
      row = zero_run(across.first, row);
      if (s.dilation_w == 1) {
        row = copy_run(line + x + ptrdiff_t(across.first), across.count(), row);
      } else {
        for (size_t j = across.first; j < across.last; ++j) *row++ = line[x + ptrdiff_t(j * s.dilation_w)];
      }
      row = zero_run(s.kernel_w - across.last, row);
    }
    row = zero_run((s.kernel_h - down.last) * s.kernel_w, row);
  }
}

}  // namespace

// Gathers output pixels [p0, p1) of the batch; `channel` is the first input channel of the group.
void gather_rows(const ConvArgs& args, const conv_detail::RowsPlan& plan, size_t channel, size_t p0, size_t p1,
                 float* rows) noexcept {
  const ConvShape& s = args.shape;
  const size_t image_floats = s.in_h * s.in_w * (s.input_is_nchw ? s.in_c : s.in_pixel_stride);
  size_t b = p0 / (s.out_h * s.out_w), oy = p0 / s.out_w % s.out_h, ox = p0 % s.out_w;
  for (size_t p = p0; p < p1; ++p, rows += plan.row_stride) {
    const float* image = args.input + b * image_floats;
    const ptrdiff_t y = ptrdiff_t(oy * s.stride_h) - ptrdiff_t(s.pad_top);
    const ptrdiff_t x = ptrdiff_t(ox * s.stride_w) - ptrdiff_t(s.pad_left);
    if (s.input_is_nchw) {
      gather_patch_nchw(s, image, y, x, rows);
    } else {
      const float* scale = args.input_scale ? args.input_scale + b * s.in_c + channel : nullptr;
      gather_patch(s, {image + channel, scale, plan.group_in}, y, x, rows);
    }
    if (++ox == s.out_w) {
      ox = 0;
      if (++oy == s.out_h) oy = 0, ++b;
    }
  }
}

// Multiplies steps [first, last) of packed weights, counted through the panels, by the factors of their channels.
void scale_weights(const float* packed, const float* scale, size_t k, size_t first, size_t last, float* to) noexcept {
  const FloatTag d;
  for (size_t i = first; i < last; ++i) {
    const Float factor = hn::Set(d, scale[i % k]);
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) {
      const size_t at = (2 * i + v) * kLanes;
      hn::Store(hn::Mul(hn::Load(d, packed + at), factor), d, to + at);
    }
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {
namespace {

// The product of one task: its rows, its columns, its place in the output.
GemmArgs block_product(const ConvArgs& args, const RowsPlan& plan, size_t group, size_t p0, size_t p1) {
  const size_t first = group * plan.group_out;
  const Epilogue& e = args.epilogue;
  GemmArgs g;
  g.m = p1 - p0;
  g.n = plan.group_out;
  g.k = plan.k;
  g.packed_b = args.packed + group * (group_packed_bytes(args.shape) / sizeof(float));
  if (plan.bf16) g.packed_b = {args.packed, PackedType::bf16_pairs};
  if (args.algorithm == ConvAlgorithm::strassen) {
    g.packed_b.fit = reinterpret_cast<const uint8_t*>(args.packed) + group_packed_bytes(args.shape);
  }
  g.c = args.output + p0 * args.shape.out_pixel_stride + first;
  g.c_stride = args.shape.out_pixel_stride;
  g.epilogue = e;
  if (e.bias) g.epilogue.bias = e.bias + first;
  if (e.residual) g.epilogue.residual = e.residual + p0 * e.residual_stride + first;
  return g;
}

// The same for rows that are pixels of the input.
GemmArgs in_place_product(const ConvArgs& args, const RowsPlan& plan, size_t group, size_t p0, size_t p1) {
  GemmArgs g = block_product(args, plan, group, p0, p1);
  g.a = args.input + p0 * args.shape.in_pixel_stride + group * plan.group_in;
  g.a_stride = args.shape.in_pixel_stride;
  return g;
}

void multiply_in_place(const ConvArgs& args, const RowsPlan& plan, const Parallel& par) {
  const ConvShape& s = args.shape;
  const GridOrder order(plan.blocks, plan.column_groups, par.workers());
  par.for_each(order.tasks(), [&](size_t task, int) {
    const auto [row, column] = order.at(task);
    const size_t p0 = row * plan.block_pixels, n0 = column * plan.columns;
    GemmArgs product = in_place_product(args, plan, 0, p0, std::min(p0 + plan.block_pixels, s.out_pixels()));
    product.run = &par;
    gemm_block(product, n0, std::min(n0 + plan.columns, s.out_c));
  });
}

// Multiplies the pixels of each image by weights of its own, which `weights` holds.
void multiply_by_scaled(const ConvArgs& args, float* weights, const Parallel& par) {
  constexpr size_t kTaskSteps = 2048;
  const ConvShape& s = args.shape;
  const size_t steps = ceil_div(s.out_c, gemm_panel_width()) * s.in_c, pixels = s.out_h * s.out_w;
  ConvArgs image = args;
  image.shape.batch = 1;
  image.shape.scaled_input = false;
  image.packed = weights;
  const RowsPlan plan = plan_rows(image.shape);
  for (size_t b = 0; b < s.batch && !par.cancelled(); ++b) {
    par.for_each(ceil_div(steps, kTaskSteps), [&](size_t task, int) {
      const size_t first = task * kTaskSteps, last = std::min(first + kTaskSteps, steps);
      RETORT_SELECT(scale_weights)(args.packed, args.input_scale + b * s.in_c, s.in_c, first, last, weights);
    });
    multiply_in_place(image, plan, par);
    image.input += pixels * s.in_pixel_stride;
    image.output += pixels * s.out_pixel_stride;
    if (image.epilogue.residual) image.epilogue.residual += pixels * args.epilogue.residual_stride;
  }
}

// Rounds the input to pairs of channels, without gaps.
void round_image(const ConvArgs& args, const Parallel& par, float* pairs) {
  constexpr size_t kTaskFloats = 32 << 10;
  const ConvShape& s = args.shape;
  const size_t pixels = s.batch * s.in_h * s.in_w, together = std::max<size_t>(kTaskFloats / s.in_c, 1);
  par.for_each(ceil_div(pixels, together), [&](size_t task, int) {
    const size_t p0 = task * together, count = std::min(together, pixels - p0);
    bf16_round(args.input + p0 * s.in_pixel_stride, s.in_pixel_stride, count, s.in_c, pairs + p0 * bf16_pairs(s.in_c));
  });
}

// Gathers patches of the rounded input, whose channels are pairs.
void gather_pairs(const ConvArgs& args, const RowsPlan& whole, const float* image, size_t p0, size_t p1, float* rows) {
  ConvArgs pairs = args;
  RowsPlan plan = whole;
  pairs.input = image;
  pairs.shape.in_c = pairs.shape.in_pixel_stride = plan.group_in = bf16_pairs(args.shape.in_c);
  RETORT_SELECT(gather_rows)(pairs, plan, 0, p0, p1, rows);
  const size_t end = bf16_pairs(plan.k), zeros = bf16_row(plan.k) - end;
  for (size_t p = 0; zeros > 0 && p < p1 - p0; ++p) std::fill_n(rows + p * plan.row_stride + end, zeros, 0.0f);
}

// Rounds the pixels under a 1x1 kernel, line by line.
void round_pixels(const ConvArgs& args, const RowsPlan& plan, size_t p0, size_t p1, float* rows) {
  const ConvShape& s = args.shape;
  const size_t step = s.stride_w * s.in_pixel_stride;
  while (p0 < p1) {
    const size_t x = p0 % s.out_w, y = p0 / s.out_w % s.out_h, image = p0 / s.out_w / s.out_h;
    const size_t count = std::min(is_direct(s) ? p1 - p0 : s.out_w - x, p1 - p0);
    const size_t from = (image * s.in_h + y * s.stride_h) * s.in_w * s.in_pixel_stride + x * step;
    bf16_round_rows(args.input + from, step, count, plan.k, rows, plan.row_stride);
    rows += count * plan.row_stride;
    p0 += count;
  }
}

// Writes the patches of a block, rounded if the plan says so; `image` has the rounded input, if the plan has one.
void fill_rows(const ConvArgs& args, const RowsPlan& plan, const float* image, size_t group, size_t p0, size_t p1,
               float* rows) {
  const size_t stride = plan.row_stride;
  if (image) return gather_pairs(args, plan, image, p0, p1, rows);
  if (plan.bf16 && is_pointwise(args.shape)) return round_pixels(args, plan, p0, p1, rows);
  RETORT_SELECT(gather_rows)(args, plan, group * plan.group_in, p0, p1, rows);
  if (plan.bf16) bf16_round_rows(rows, stride, p1 - p0, plan.k, rows, stride);
}

}  // namespace

void conv_rows(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const bool bf16 = args.algorithm == ConvAlgorithm::bf16_rows;
  if (!bf16 && scales_weights(s)) return multiply_by_scaled(args, static_cast<float*>(scratch), par);
  const RowsPlan plan = plan_rows(s, bf16);
  if (args.algorithm == ConvAlgorithm::strassen) {
    return gemm(in_place_product(args, plan, 0, 0, s.out_pixels()), par, scratch);
  }
  if (plan.direct && s.groups == 1) return multiply_in_place(args, plan, par);
  float* const image = plan.image_bytes > 0 ? static_cast<float*>(scratch) : nullptr;
  void* const own = static_cast<char*>(scratch) + plan.image_bytes;
  if (image && image != args.input) round_image(args, par, image);  // else it is rounded
  if (!plan.direct) reset_workers(own, plan.worker_bytes, par.workers());
  par.for_each(s.groups * plan.blocks * plan.column_groups, [&](size_t task, int worker) {
    const size_t n0 = task % plan.column_groups * plan.columns;
    const size_t rows_id = task / plan.column_groups;
    const size_t group = rows_id / plan.blocks, p0 = rows_id % plan.blocks * plan.block_pixels;
    const size_t p1 = std::min(p0 + plan.block_pixels, s.out_pixels());
    GemmArgs product = (plan.direct ? in_place_product : block_product)(args, plan, group, p0, p1);
    product.run = &par;
    if (!plan.direct) {
      WorkerHead* head = worker_head(own, plan.worker_bytes, worker);
      float* rows = reinterpret_cast<float*>(head + 1);
      if (head->block != rows_id) fill_rows(args, plan, image, group, p0, p1, rows);
      head->block = rows_id;
      product.a = rows;
      product.a_stride = plan.row_stride;
      if (plan.bf16) product = bf16_block(product, rows, plan.row_stride);
    }
    gemm_block(product, n0, std::min(n0 + plan.columns, plan.group_out));
  });
}

}  // namespace retort::kernels::conv_detail
#endif
