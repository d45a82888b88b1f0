// One source per kernel, compiled by Highway's foreach_target for each instruction level, chosen at run time by
// current_isa(). On AArch64 there is one level, NEON.
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/NAME.cc"
//   #include <hwy/foreach_target.h>  // must come before highway.h
//   #include <hwy/highway.h>
//   HWY_BEFORE_NAMESPACE();
//   namespace retort::kernels::HWY_NAMESPACE { namespace { … } void scale(…) noexcept { … } }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace retort::kernels { void scale(…) noexcept { RETORT_SELECT(scale)(…); } }
//   #endif
#pragma once
#include "base/cpu.h"

namespace retort::kernels {

template <typename F>
inline F* select_isa(F* v2, F* avx2, F* avx512) {
  switch (current_isa()) {
    case Isa::avx512:
      return avx512;
    case Isa::avx2:
      return avx2;
    case Isa::v2:
      break;
  }
  return v2;
}

}  // namespace retort::kernels

#if defined(__x86_64__)
#define RETORT_SELECT(fn) ::retort::kernels::select_isa(&N_SSE4::fn, &N_AVX2::fn, &N_AVX3::fn)
#else
#define RETORT_SELECT(fn) (&HWY_NAMESPACE::fn)
#endif
