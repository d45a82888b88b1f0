// Activations that convolutions apply to results they have stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/finish.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "kernels/conv/finish-inl.h"
#include "kernels/elementwise/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

void activate_run(const ConvArgs& args, size_t pixel, size_t pixels, size_t c0, size_t c1, size_t step) noexcept {
  const size_t stride = args.shape.out_pixel_stride;
  activate_rows(args.epilogue.activation, args.output + pixel * stride + c0, pixels, c1 - c0, stride * step);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
