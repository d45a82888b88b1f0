// Implicit GEMM along lines without copying a row for each patch: if inputs are contiguous, the patch of the next
// output is the previous one shifted by a step, so a product reads overlapping rows. Inputs are copied once instead of
// once per tap, and not at all without padding and dilation.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/strips.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/copy-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

// Copies `count` inputs of a line, `dilation` apart, starting at x (which may be before the line); zeros outside.
void copy_strip(const ConvArgs& args, size_t line, ptrdiff_t x, size_t count, float* to) noexcept {
  const ConvShape& s = args.shape;
  const float* const from = args.input + line * s.in_w * s.in_pixel_stride;
  const TapRange inside = taps_inside(x, s.in_w, count, s.dilation_w);
  to = zero_run(inside.first * s.in_c, to);
  if (s.dilation_w == 1 && s.in_pixel_stride == s.in_c) {
    to = copy_run(from + (x + ptrdiff_t(inside.first)) * ptrdiff_t(s.in_c), inside.count() * s.in_c, to);
  } else {
    for (size_t i = inside.first; i < inside.last; ++i) {
      to = copy_run(from + (x + ptrdiff_t(i * s.dilation_w)) * ptrdiff_t(s.in_pixel_stride), s.in_c, to);
    }
  }
  zero_run((count - inside.last) * s.in_c, to);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {
namespace {

// The strip of a task: outputs [first, first + count) of those outputs of one line that are `dilation` apart, starting
// with `phase`.
struct Strip {
  size_t line, phase, first, count;
  /// Position in the line of output i of the strip.
  size_t at(const ConvShape& s, size_t i) const { return phase + (first + i) * s.dilation_w; }
};

Strip strip_of(const ConvShape& s, const StripsPlan& plan, size_t index) {
  const size_t block = index % plan.blocks, strip = index / plan.blocks;
  Strip t{strip / phases(s), strip % phases(s), block * plan.block_outputs, 0};
  const size_t outputs = ceil_div(s.out_w - t.phase, s.dilation_w);
  t.count = std::min(plan.block_outputs, outputs - std::min(t.first, outputs));
  return t;
}

GemmArgs strip_product(const ConvArgs& args, const Strip& t) {
  const ConvShape& s = args.shape;
  const size_t pixel = t.line * s.out_w + t.at(s, 0);
  GemmArgs g;
  g.m = t.count;
  g.n = s.out_c;
  g.k = s.kernel_w * s.in_c;
  g.a_stride = s.stride_w * s.in_c;
  g.packed_b = args.packed;
  g.c = args.output + pixel * s.out_pixel_stride;
  g.c_stride = s.dilation_w * s.out_pixel_stride;
  g.epilogue = args.epilogue;
  if (g.epilogue.residual) g.epilogue.residual += pixel * g.epilogue.residual_stride;
  g.epilogue.residual_stride *= s.dilation_w;
  return g;
}

}  // namespace

bool suits_strips(const ConvShape& s) {
  // A product of few rows reads all weights for them.
  const size_t fewest = s.stride_w == 1 ? 4 : 8;
  return is_along_lines(s) && (s.dilation_w == 1 || s.stride_w == 1) &&
         ceil_div(s.out_w, std::max<size_t>(s.dilation_w, 1)) >= fewest;
}

StripsPlan plan_strips(const ConvShape& s) {
  constexpr size_t kSlack = 16;  // in floats: copies write whole vectors
  constexpr size_t kBlockFloats = 16 << 10, kFewOutputs = 64, kMinColumns = 128;
  StripsPlan p;
  p.strips = s.batch * s.in_h * phases(s);
  const size_t outputs = ceil_div(s.out_w, s.dilation_w), step = s.stride_w * s.in_c;
  const size_t wanted = wanted_tasks(s.out_pixels() * s.kernel_w * s.in_c * s.out_c);
  const size_t fitting = std::max(kBlockFloats / std::max<size_t>(step, 1), kFewOutputs);
  p.blocks = std::max(ceil_div(outputs, fitting), std::min(ceil_div(wanted, p.strips), outputs / kFewOutputs));
  p.block_outputs = ceil_div(outputs, std::max<size_t>(p.blocks, 1));
  p.blocks = ceil_div(outputs, p.block_outputs);
  p.columns = group_columns(s.out_c, std::min(ceil_div(wanted, p.strips * p.blocks), s.out_c / kMinColumns));
  p.column_groups = ceil_div(s.out_c, p.columns);
  p.worker_bytes =
      round_up(sizeof(WorkerHead) + ((p.block_outputs - 1) * step + s.kernel_w * s.in_c + kSlack) * sizeof(float), 128);
  return p;
}

void conv_strips(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const StripsPlan plan = plan_strips(s);
  reset_workers(scratch, plan.worker_bytes, par.workers());
  const auto copy = RETORT_SELECT(copy_strip);
  par.for_each(plan.strips * plan.blocks * plan.column_groups, [&](size_t task, int worker) {
    const size_t n0 = task % plan.column_groups * plan.columns, index = task / plan.column_groups;
    const Strip strip = strip_of(s, plan, index);
    if (strip.count == 0) return;
    const ptrdiff_t x = ptrdiff_t(strip.at(s, 0) * s.stride_w) - ptrdiff_t(s.pad_left);
    const size_t inputs = (strip.count - 1) * s.stride_w + s.kernel_w;
    GemmArgs product = strip_product(args, strip);
    product.run = &par;
    if (s.dilation_w == 1 && s.in_pixel_stride == s.in_c && x >= 0 && size_t(x) + inputs <= s.in_w) {
      product.a = args.input + (strip.line * s.in_w + size_t(x)) * s.in_c;
    } else {
      WorkerHead* head = worker_head(scratch, plan.worker_bytes, worker);
      float* const inputs_copied = reinterpret_cast<float*>(head + 1);
      if (head->block != index) copy(args, strip.line, x, inputs, inputs_copied);
      head->block = index;
      product.a = inputs_copied;
    }
    gemm_block(product, n0, std::min(n0 + plan.columns, s.out_c));
  });
}

}  // namespace retort::kernels::conv_detail
#endif
