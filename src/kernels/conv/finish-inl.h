// The last steps of a convolution outside the GEMM: bias, residual, activation, store. Included once per instruction
// level.
#if defined(RETORT_KERNELS_CONV_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_FINISH_INL_H_
#undef RETORT_KERNELS_CONV_FINISH_INL_H_
#else
#define RETORT_KERNELS_CONV_FINISH_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "kernels/conv/conv.h"
#include "kernels/conv/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

/// Applies the activation to channels [c0, c1) of a run of pixels (finish.cc: the loops of ten activations in each file
/// that stores results, or even in each place, would be too much code).
void activate_run(const ConvArgs& args, size_t pixel, size_t pixels, size_t c0, size_t c1, size_t step) noexcept;

namespace {

/// A tile of output pixels, of which the first `rows` x `columns` exist, and up to a vector of their channels.
struct OutputTile {
  size_t pixel;  ///< the first pixel, counted through the batch
  size_t line;   ///< pixels from one row to the next
  size_t rows, columns;
  size_t channel, channels;  ///< the first channel, and their number
};

/// The epilogue of a convolution, prepared for vectors; copied into the loops so that its members stay in registers.
/// Bias, residual and bounds are applied in registers; other activations are applied to stored results, by `activate`.
class Finish {
 public:
  explicit Finish(const ConvArgs& args)
      : args_(&args),
        bias_(args.epilogue.bias),
        residual_(args.epilogue.residual),
        output_(args.output),
        pixel_stride_(args.shape.out_pixel_stride),
        residual_stride_(args.epilogue.residual_stride) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const Activation& a = args.epilogue.activation;
    const bool clip = a.kind == Activation::Kind::clip, relu = a.kind == Activation::Kind::relu;
    activates_ = !clip && !relu && a.kind != Activation::Kind::none;
    low_ = relu ? 0.0f : clip ? a.a : -kInf;
    high_ = clip ? a.b : kInf;
  }

  /// For tiles whose pixels are in truth every `apart`-th one from `first` on.
  HWY_INLINE Finish every(size_t apart, size_t first) const {
    Finish f = *this;
    f.output_ += first * pixel_stride_;
    if (residual_) f.residual_ += first * residual_stride_;
    f.pixel_stride_ *= apart;
    f.residual_stride_ *= apart;
    return f;
  }

  /// Stores the sums of a tile, row by row. `activate` must follow once all channels of a run of pixels are stored.
  template <size_t kRows, size_t kColumns>
  HWY_INLINE void store(const Float (&sums)[kRows * kColumns], const OutputTile& at) const {
    const FloatTag d;
    // The bias is added last: a sum that started with it would be rounded to its size at every step.
    const Float bias = bias_ ? load_first(bias_ + at.channel, at.channels) : hn::Zero(d);
    Float v[kRows * kColumns];
#pragma GCC unroll 32
    for (size_t i = 0; i < kRows * kColumns; ++i) v[i] = hn::Add(sums[i], bias);
    if (residual_) [[unlikely]] {
      each_pixel<kRows, kColumns>(residual_, residual_stride_, at, [&](size_t i, const float* r) HWY_ATTR {
        v[i] = hn::Add(v[i], load_first(r, at.channels));
      });
    }
    const Float low = hn::Set(d, low_), high = hn::Set(d, high_);
    each_pixel<kRows, kColumns>(output_, pixel_stride_, at, [&](size_t i, float* y) HWY_ATTR {
      store_first(MinKeepNaN(high, MaxKeepNaN(low, v[i])), y, at.channels);
    });
  }

  /// Stores one channel of n neighbouring pixels; `sums` are whole vectors, which are overwritten.
  HWY_NOINLINE void store_pixels(float* sums, size_t pixel, size_t channel, size_t n) const {
    const FloatTag d;
    const Float bias = hn::Set(d, bias_ ? bias_[channel] : 0.0f), low = hn::Set(d, low_), high = hn::Set(d, high_);
    const float* const residual = residual_ ? residual_ + pixel * residual_stride_ + channel : nullptr;
    float* const to = output_ + pixel * pixel_stride_ + channel;
    const bool dense = pixel_stride_ == 1;
    for (size_t x = 0; x < n; x += kLanes) {
      float* const part = sums + x;
      const size_t count = std::min(kLanes, n - x);
      Float v = hn::Add(hn::Load(d, part), bias);
      if (residual) [[unlikely]] {
        hn::Store(v, d, part);
#pragma GCC unroll 1
        for (size_t i = 0; i < count; ++i) part[i] += residual[(x + i) * residual_stride_];
        v = hn::Load(d, part);
      }
      v = MinKeepNaN(high, MaxKeepNaN(low, v));
      if (dense) {
        store_first(v, to + x, count);
        continue;
      }
      hn::Store(v, d, part);
#pragma GCC unroll 1
      for (size_t i = 0; i < count; ++i) to[(x + i) * pixel_stride_] = part[i];
    }
  }

  /// Completes what `store` has left for channels [c0, c1) of `pixels` pixels that are `step` apart. A call takes as
  /// long as some vectors.
  HWY_INLINE void activate(size_t pixel, size_t pixels, size_t c0, size_t c1, size_t step = 1) const {
    if (activates_) activate_run(*args_, pixel, pixels, c0, c1, step);
  }

  /// The same without inlining, for rare cases. Works on copies, because arguments passed by address cannot stay in
  /// registers.
  template <size_t kRows, size_t kColumns>
  HWY_INLINE void store_rarely(const Float (&sums)[kRows * kColumns], const OutputTile& at) const {
    Float copy[kRows * kColumns];
#pragma GCC unroll 32
    for (size_t i = 0; i < kRows * kColumns; ++i) copy[i] = sums[i];
    store_copy<kRows, kColumns>(*this, copy, OutputTile(at));
  }

 private:
  /// Calls f(index in the tile, its channels in a tensor) for the pixels that exist.
  template <size_t kRows, size_t kColumns, typename T, typename F>
  static HWY_INLINE void each_pixel(T* tensor, size_t stride, const OutputTile& at, const F& f) {
#pragma GCC unroll 32
    for (size_t row = 0; row < kRows; ++row) {
      if (row >= at.rows) break;
      T* const pixels = tensor + (at.pixel + row * at.line) * stride + at.channel;
#pragma GCC unroll 32
      for (size_t column = 0; column < kColumns; ++column) {
        if (column >= at.columns) break;
        f(row * kColumns + column, pixels + column * stride);
      }
    }
  }
  template <size_t kRows, size_t kColumns>
  static HWY_NOINLINE void store_copy(const Finish finish, const Float (&sums)[kRows * kColumns],
                                      const OutputTile& at) {
    finish.store<kRows, kColumns>(sums, at);
  }

  const ConvArgs* args_;
  const float *bias_, *residual_;
  float* output_;
  size_t pixel_stride_, residual_stride_;
  float low_, high_;
  bool activates_;
};

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
