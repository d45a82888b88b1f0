// The end of a convolution outside the GEMM: bias, residual, activation, store. Included once per instruction level.
#if defined(RETORT_KERNELS_CONV_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_FINISH_INL_H_
#undef RETORT_KERNELS_CONV_FINISH_INL_H_
#else
#define RETORT_KERNELS_CONV_FINISH_INL_H_
#endif

#include <limits>

#include "kernels/conv/conv.h"
#include "kernels/conv/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

/// A tile of output pixels, of which the first `rows` x `columns` exist, and up to a vector of their channels.
struct OutputTile {
  size_t pixel;  ///< the first, counted through the batch
  size_t line;   ///< pixels from one row to the next
  size_t rows, columns;
  size_t channel, channels;  ///< the first, how many
};

// Residual and any activation. Out of line: the loops of ten activations in each place that stores a result would be
// too much code. `values`: whole vectors up to `end`, the tile row by row, tile_columns to a row.
HWY_NOINLINE void store_any(const ConvArgs& args, float* values, float* end, size_t tile_columns,
                            const OutputTile& at) {
  const FloatTag d;
  const Epilogue& e = args.epilogue;
  const auto each_pixel = [&](auto f) HWY_ATTR {
    for (size_t row = 0; row < at.rows && values + row * tile_columns * kLanes < end; ++row) {
      for (size_t column = 0; column < at.columns && column < tile_columns; ++column) {
        f(values + (row * tile_columns + column) * kLanes, at.pixel + row * at.line + column);
      }
    }
  };
  if (e.residual) {
    each_pixel([&](float* v, size_t pixel) HWY_ATTR {
      const Float r = load_first(e.residual + pixel * e.residual_stride + at.channel, at.channels);
      hn::Store(hn::Add(hn::Load(d, v), r), d, v);
    });
  }
  VisitActivation(e.activation, [&](auto op) HWY_ATTR {
    for (float* v = values; v != end; v += kLanes) hn::Store(op(d, hn::Load(d, v)), d, v);
  });
  each_pixel([&](const float* v, size_t pixel) HWY_ATTR {
    store_first(hn::Load(d, v), args.output + pixel * args.shape.out_pixel_stride + at.channel, at.channels);
  });
}

/// The epilogue of a convolution made ready for vectors; copied into the loops so that its parts stay in registers. The
/// usual one, bias and bounds, is applied in registers.
class Finish {
 public:
  explicit Finish(const ConvArgs& args)
      : args_(&args), bias_(args.epilogue.bias), output_(args.output), pixel_stride_(args.shape.out_pixel_stride) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const Activation& a = args.epilogue.activation;
    const bool clip = a.kind == Activation::Kind::clip, relu = a.kind == Activation::Kind::relu;
    in_registers_ = !args.epilogue.residual && (clip || relu || a.kind == Activation::Kind::none);
    low_ = relu ? 0.0f : clip ? a.a : -kInf;
    high_ = clip ? a.b : kInf;
  }

  /// Stores the sums of a tile, row by row.
  template <size_t kRows, size_t kColumns>
  HWY_INLINE void store(const Float (&sums)[kRows * kColumns], const OutputTile& at) const {
    const FloatTag d;
    // The bias comes last: a sum that started from it would round every step to its size.
    const Float bias = bias_ ? load_first(bias_ + at.channel, at.channels) : hn::Zero(d);
    Float v[kRows * kColumns];
#pragma GCC unroll 32
    for (size_t i = 0; i < kRows * kColumns; ++i) v[i] = hn::Add(sums[i], bias);
    if (!in_registers_) {
      HWY_ALIGN float values[kRows * kColumns * kLanes];
#pragma GCC unroll 32
      for (size_t i = 0; i < kRows * kColumns; ++i) hn::Store(v[i], d, values + i * kLanes);
      const OutputTile copy = at;  // so that `at` itself need not be in memory
      return store_any(*args_, values, values + kRows * kColumns * kLanes, kColumns, copy);
    }
    const Float low = hn::Set(d, low_), high = hn::Set(d, high_);
#pragma GCC unroll 32
    for (size_t row = 0; row < kRows; ++row) {
      if (row >= at.rows) break;
      float* out = output_ + (at.pixel + row * at.line) * pixel_stride_ + at.channel;
#pragma GCC unroll 32
      for (size_t column = 0; column < kColumns; ++column) {
        if (column >= at.columns) break;
        const Float y = MinKeepNaN(high, MaxKeepNaN(low, v[row * kColumns + column]));
        store_first(y, out + column * pixel_stride_, at.channels);
      }
    }
  }
  /// The same out of line, where it is rare. Works on copies: what is passed by address cannot stay in registers.
  template <size_t kRows, size_t kColumns>
  HWY_INLINE void store_rarely(const Float (&sums)[kRows * kColumns], const OutputTile& at) const {
    Float copy[kRows * kColumns];
#pragma GCC unroll 32
    for (size_t i = 0; i < kRows * kColumns; ++i) copy[i] = sums[i];
    store_copy<kRows, kColumns>(*this, copy, OutputTile(at));
  }

 private:
  template <size_t kRows, size_t kColumns>
  static HWY_NOINLINE void store_copy(const Finish finish, const Float (&sums)[kRows * kColumns],
                                      const OutputTile& at) {
    finish.store<kRows, kColumns>(sums, at);
  }

  const ConvArgs* args_;
  const float* bias_;
  float* output_;
  size_t pixel_stride_;
  float low_, high_;
  bool in_registers_;
};

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
