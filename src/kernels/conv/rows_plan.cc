// The division of products over pixels: convolutions whose patches are gathered, and 1x1 convolutions.
#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/division.h"
#include "kernels/gemm/gemm_bf16.h"

namespace retort::kernels::conv_detail {
namespace {

constexpr size_t kFewPixels = 48, kMaxPixels = 240;  // of a block: weights are read once for each, so there are few

// Divides a product whose rows are in place.
void divide_in_place(size_t pixels, RowsPlan& p) {
  // A task takes at least about 5 µs: this many multiply-adds, or this many bytes of weights.
  constexpr size_t kMacs = 256 << 10, kBytes = 64 << 10;
  constexpr size_t kNearSteps = 256;
  const size_t weights = p.k * p.group_out, width = gemm_panel_width();
  const size_t wanted =
      std::clamp<size_t>(std::max(pixels * weights / kMacs, weights * sizeof(float) / kBytes), 1, kWantedTasks);
  const size_t fitting = kGatherBytes / sizeof(float) / std::clamp<size_t>(p.k, 1, kNearSteps);
  const size_t fewest = ceil_div(pixels, std::clamp(fitting, kFewPixels, kMaxPixels));
  // Workers with rows of their own read all weights; workers with columns of their own read what others have written.
  const bool by_rows = weights <= 2 * pixels * (p.k + p.group_out);
  const size_t most = by_rows ? std::min(wanted, pixels / kFewPixels) : 1;
  p.block_pixels = even_block(pixels, 1, fewest, std::max(fewest, most));
  p.blocks = ceil_div(pixels, p.block_pixels);
  p.columns = even_block(ceil_div(p.group_out, width), p.blocks, 1, ceil_div(wanted, p.blocks)) * width;
}

// Divides a product whose rows are gathered, block by block.
void divide_gathered(size_t pixels, size_t fitting, size_t wanted, RowsPlan& p) {
  // Gathering takes about 4 cycles per vector of a patch, multiplying it 16 cycles per panel: a worker that has few
  // panels of a block still gains.
  constexpr size_t kFewPanels = 2;
  const size_t width = gemm_panel_width(), panels = std::max<size_t>(ceil_div(p.group_out, width), 1);
  const size_t fewest = ceil_div(pixels, std::clamp(fitting, kFewPixels, kMaxPixels));
  p.block_pixels = even_block(pixels, 1, fewest, std::max(fewest, std::min(wanted, pixels / kFewPixels)));
  p.blocks = ceil_div(pixels, p.block_pixels);
  const size_t groups = p.blocks == 1 ? panels : panels / kFewPanels;
  p.columns = even_block(panels, p.blocks, 1, std::min(ceil_div(wanted, p.blocks), groups)) * width;
}

}  // namespace

bool is_pointwise(const ConvShape& s) {
  return s.kernel_h * s.kernel_w == 1 && s.pad_top == 0 && s.pad_left == 0 &&
         s.out_h * s.stride_h < s.in_h + s.stride_h && s.out_w * s.stride_w < s.in_w + s.stride_w && !s.input_is_nchw &&
         !s.scaled_input;
}

bool is_direct(const ConvShape& s) {
  return is_pointwise(s) && s.stride_h * s.stride_w == 1 && s.out_h == s.in_h && s.out_w == s.in_w;
}

bool scales_weights(const ConvShape& s) {
  ConvShape plain = s;
  plain.scaled_input = false;
  return s.scaled_input && s.groups == 1 && 2 * s.out_c <= s.out_h * s.out_w && is_direct(plain);
}

RowsPlan plan_rows(const ConvShape& s, bool bf16) {
  constexpr size_t kSlack = 16;  // in floats: copies write whole vectors
  RowsPlan p;
  p.group_in = s.in_c / s.groups;
  p.group_out = s.out_c / s.groups;
  p.k = s.kernel_h * s.kernel_w * p.group_in;
  p.bf16 = bf16;
  p.direct = is_direct(s) && !bf16;
  // Rows that are scaled are gathered as floats and rounded in place.
  p.row_stride = !bf16 ? spread_stride(p.k) : bf16_row_stride(s.scaled_input ? 2 * p.k : p.k);
  if (bf16 && !s.scaled_input && !is_pointwise(s))
    p.image_bytes = round_up(s.batch * s.in_h * s.in_w * bf16_pairs(s.in_c) * sizeof(float), 64);
  const size_t pixels = std::max<size_t>(s.out_pixels(), 1);
  if (p.direct && s.groups == 1) {
    divide_in_place(pixels, p);
  } else {
    const bool amx = bf16 && has_bf16_tiles();
    // Processors with AMX have 2 MiB of second-level cache.
    const size_t fitting = (amx ? 2 : 1) * kGatherBytes / sizeof(float) / std::max<size_t>(p.row_stride, 1);
    const size_t wanted = ceil_div(wanted_tasks(pixels * p.k * s.out_c / (amx ? kTilesSpeed : 1)), s.groups);
    divide_gathered(pixels, fitting, wanted, p);
  }
  p.column_groups = ceil_div(std::max<size_t>(p.group_out, 1), p.columns);
  if (!p.direct) {
    p.worker_bytes = round_up(sizeof(WorkerHead) + (p.block_pixels * p.row_stride + kSlack) * sizeof(float), 128);
  }
  return p;
}

}  // namespace retort::kernels::conv_detail
