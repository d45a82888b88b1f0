// The division of depthwise convolutions.
#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/division.h"
#include "kernels/unaligned.h"

namespace retort::kernels::conv_detail {

DepthwisePlan plan_depthwise(const ConvShape& s) {
  constexpr size_t kWindowBytes = 512 << 10, kNearBytes = 24 << 10;
  constexpr size_t kFewChannels = 64, kFewPixels = 64;
  DepthwisePlan p;
  const size_t window = ((s.kernel_h - 1) * s.dilation_h + 1) * s.in_w * sizeof(float);
  const size_t fitting = std::max(kWindowBytes / std::max<size_t>(window, 1), kFewChannels);
  const size_t wanted = std::bit_ceil(wanted_tasks(s.out_pixels() * s.out_c * s.kernel_h * s.kernel_w));
  const size_t vectors = ceil_div(s.out_c, kMaxLanes);
  size_t cuts = ceil_div(s.out_c, fitting);  // only very wide windows must be divided by channels
  if (s.in_h * s.in_w < kFewPixels) {
    p.rows = s.out_h;
    p.channels = even_block(vectors, s.batch, cuts, std::max(cuts, ceil_div(wanted, s.batch))) * kMaxLanes;
  } else {
    const size_t together = overlaps(s) ? 2 : 1;
    p.rows = even_block(ceil_div(s.out_h, together), s.batch * cuts, 1, ceil_div(wanted, s.batch)) * together;
    const size_t tasks = s.batch * ceil_div(s.out_h, p.rows);
    if (tasks % 2 != 0 || 2 * tasks <= wanted)
      cuts = std::max(cuts, std::min(ceil_div(wanted, tasks), s.out_c / kFewChannels));
    p.channels = ceil_div(vectors, cuts) * kMaxLanes;
  }
  p.row_blocks = ceil_div(s.out_h, p.rows);
  p.channel_blocks = ceil_div(s.out_c, p.channels);
  // Large images are read in order, as memory needs it.
  const size_t fits_near = kNearBytes / std::max<size_t>(window, 1) / kMaxLanes * kMaxLanes;
  p.near = is_near_image(s) ? std::max(fits_near, kFewChannels) : p.channels;
  return p;
}

size_t depthwise_packed_bytes(const ConvShape& s) {
  return round_up(s.out_c, kMaxLanes) * s.kernel_h * s.kernel_w * sizeof(float);
}

// Packs weights as [channel vector][tap][lane]; the lanes after the last channel are zero.
void depthwise_pack(const ConvShape& s, const DepthwiseWeights& weights, float* packed) noexcept {
  const size_t taps = s.kernel_h * s.kernel_w, lanes = gemm_panel_width() / 2;
  std::fill_n(packed, depthwise_packed_bytes(s) / sizeof(float), 0.0f);
  for (size_t c = 0; c < s.out_c; ++c) {
    float* lane = packed + c / lanes * lanes * taps + c % lanes;
    for (size_t t = 0; t < taps; ++t) {
      const size_t at =
          c * weights.filter + weights.first + t / s.kernel_w * weights.row + t % s.kernel_w * weights.tap;
      lane[t * lanes] = load_unaligned(weights.data, at);
    }
  }
}

}  // namespace retort::kernels::conv_detail
