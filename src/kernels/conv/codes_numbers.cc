// Makes sums of codes the numbers that they stand for.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/codes_numbers.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/conv_codes_parts.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

/// `args` describes the result, where the sums are.
void codes_numbers(const ConvArgs& args, const float* scale, size_t pixel, size_t pixels, size_t c0,
                   size_t c1) noexcept {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  const Finish finish(args);
  for (size_t p = pixel; p < pixel + pixels; ++p) {
    const float* sums = args.output + p * args.shape.out_pixel_stride;
    for (size_t c = c0; c < c1; c += kLanes) {
      const size_t n = std::min(kLanes, c1 - c);
      const auto sum = hn::BitCast(d32, load_first(sums + c, n));
      const Float scaled[1] = {hn::Mul(hn::ConvertTo(d, sum), load_first(scale + c, n))};
      finish.store<1, 1>(scaled, {.pixel = p, .line = 0, .rows = 1, .columns = 1, .channel = c, .channels = n});
    }
  }
  finish.activate(pixel, pixels, c0, c1);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::codes_detail {

void finish_sums(const ConvCodesArgs& args, size_t pixel, size_t pixels, size_t c0, size_t c1) noexcept {
  if (!args.wide.scale) return;
  ConvArgs results;
  results.shape.out_pixel_stride = args.shape.out_pixel_stride;
  results.output = static_cast<float*>(args.wide.data);
  results.epilogue = args.wide.epilogue;
  RETORT_SELECT(codes_numbers)(results, args.wide.scale, pixel, pixels, c0, c1);
}

}  // namespace retort::kernels::codes_detail
#endif
