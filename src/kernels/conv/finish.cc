// Activations that convolutions apply to results they have stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/finish.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

void activate_run(const ConvArgs& args, size_t pixel, size_t pixels, size_t c0, size_t c1) noexcept {
  const FloatTag d;
  const size_t stride = args.shape.out_pixel_stride;
  float* run = args.output + pixel * stride + c0;
  float* const end = run + pixels * stride;
  size_t n = c1 - c0;
  if (n == stride) n *= pixels;  // without gaps, so it is one run
  VisitActivation(args.epilogue.activation, [&](auto op) HWY_ATTR {
    for (; run < end; run += std::max(n, stride)) {
      size_t i = 0;
      for (; i + kLanes <= n; i += kLanes) hn::StoreU(op(d, hn::LoadU(d, run + i)), d, run + i);
      if (i < n) store_first(op(d, load_first(run + i, n - i)), run + i, n - i);
    }
  });
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
