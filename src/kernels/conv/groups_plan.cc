#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/groups.h"
#include "kernels/unaligned.h"

namespace retort::kernels::conv_detail {
namespace {

// Extents of the inputs of some outputs.
size_t lines_of(const ConvShape& s, size_t rows) {
  return (rows - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
}
size_t pixels_of(const ConvShape& s, size_t columns) {
  return (round_up(columns, kRunPixels) - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
}

// Divides an image so that the copied inputs of a task stay in the second-level cache.
void divide(const ConvShape& s, GroupsPlan& p) {
  constexpr size_t kFloats = (96 << 10) / sizeof(float), kSlack = 16;  // copies write whole vectors
  const size_t most = kFloats / p.pixel;                               // pixels
  p.columns = s.out_w;
  while (p.columns > 4 * kRunPixels && lines_of(s, 1) * pixels_of(s, p.columns) > most)
    p.columns = ceil_div<size_t>(p.columns, 2);
  p.column_blocks = ceil_div(s.out_w, p.columns);
  p.line_pixels = pixels_of(s, p.columns);
  const size_t wanted = wanted_tasks(s.out_pixels() * s.out_c * s.kernel_h * s.kernel_w * p.group_in);
  size_t blocks = std::min(ceil_div(wanted, p.units * s.batch * p.column_blocks), s.out_h);
  while (blocks < s.out_h && lines_of(s, ceil_div(s.out_h, blocks)) * p.line_pixels > most) ++blocks;
  p.rows = ceil_div(s.out_h, blocks);
  p.row_blocks = ceil_div(s.out_h, p.rows);
  p.lines = lines_of(s, p.rows);
  p.worker_bytes = round_up((p.lines * p.line_pixels * p.pixel + kSlack) * sizeof(float), 128);
}

}  // namespace

bool suits_groups(const ConvShape& s) {
  if (s.groups <= 1 || s.scaled_input || s.input_is_nchw || s.in_c * s.kernel_h * s.kernel_w == 0) return false;
  const GroupsPlan p = plan_groups(s);
  if (p.spread()) return true;
  // ConvAlgorithm::windows copies inputs as well, and its products share them between two vectors of outputs. One wide
  // vector has none to share with (16 outputs of 14 x 14 pixels: 0.95 of its time).
  const bool shares = p.lanes >= 16 ? p.group_out > p.lanes : p.lanes >= 8;
  if (shares && (s.kernel_w == 1 || s.dilation_w == 1)) return false;
  // Pixels of 1x1 kernels need no copy. Products of gathered rows are as fast from 16 outputs on at x86-64-v2, 24 to 32
  // at AVX2, more than 40 at AVX-512.
  const bool in_place = s.kernel_h * s.kernel_w * s.stride_h * s.stride_w == 1;
  return !in_place && p.group_out <= 8 + 2 * p.lanes;
}

GroupsPlan plan_groups(const ConvShape& s) {
  GroupsPlan p;
  p.lanes = gemm_panel_width() / 2;
  p.group_in = s.in_c / s.groups, p.group_out = s.out_c / s.groups;
  const size_t most = p.lanes / std::max<size_t>(std::max(p.group_in, p.group_out), 1);
  p.together = std::clamp<size_t>(most, 1, s.groups);
  p.units = ceil_div(s.groups, p.together);
  p.vectors = ceil_div(p.together * p.group_out, p.lanes);
  p.filter = s.kernel_h * s.kernel_w * p.group_in * p.lanes;
  p.pixel = p.spread() ? p.lanes : p.group_in;
  if (s.out_pixels() > 0 && p.filter > 0) divide(s, p);
  return p;
}

size_t groups_packed_bytes(const ConvShape& s) {
  const GroupsPlan p = plan_groups(s);
  return round_up(p.units * p.vectors * p.filter * sizeof(float), 64);
}

// Packs weights as [unit][vector][tap][channel of a group][lane]; lanes without an output are zero.
void groups_pack(const ConvShape& s, const GroupsWeights& w, float* packed, const Parallel& run) noexcept {
  const GroupsPlan p = plan_groups(s);
  const size_t taps = s.kernel_h * s.kernel_w, unit_out = p.together * p.group_out;
  for (size_t v = 0; v < p.units * p.vectors && !run.cancelled(); ++v, packed += p.filter) {
    const size_t first = v % p.vectors * p.lanes, output = v / p.vectors * unit_out + first;
    const size_t outputs = std::min({p.lanes, unit_out - first, s.out_c - output});
    std::fill_n(packed, p.filter, 0.0f);
    for (size_t lane = 0; lane < outputs; ++lane) {
      for (size_t i = 0; i < taps * p.group_in; ++i) {
        const size_t tap = i / p.group_in, o = output + lane;
        const size_t filter = o / p.group_out * w.group + o % p.group_out * w.output + i % p.group_in * w.input;
        packed[i * p.lanes + lane] =
            load_unaligned(w.data, filter + w.first + tap / s.kernel_w * w.row + tap % s.kernel_w * w.tap);
      }
    }
  }
}

}  // namespace retort::kernels::conv_detail
