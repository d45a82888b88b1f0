// Lines are loaded as planes, transformed, and stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fft/fft.cc"
#include "kernels/fft/fft.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/fft/passes-inl.h"
#include "kernels/fft/transform.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// Planes with `lines` numbers per row. Vectors run along a line if there is only one, otherwise across the lines
// (kAcross).
struct Block {
  const FftArgs& args;
  const float* table;  // after the part of the passes
  size_t lines;
  Planes x, y;
  const FftPlan& plan() const { return *args.plan; }
  void swap() { std::swap(x, y); }
  // The inverse transform is the forward transform with real and imaginary parts exchanged before and after.
  void exchange_parts() {
    std::swap(x.re, x.im);
    std::swap(y.re, y.im);
  }
};

/// Calls f(tag, row, line) for vectors that cover `rows` rows, like ForVectors().
template <bool kAcross, class D, class F>
HWY_INLINE void ForBlock(D d, size_t rows, size_t lines, const F& f) {
  const size_t width = kAcross ? lines : rows;
  if (width == 0) return;
  if constexpr (hn::MaxLanes(d) > 1) {
    if (width < hn::Lanes(d)) return ForBlock<kAcross>(hn::Half<D>(), rows, lines, f);
  }
  if constexpr (kAcross) {
    for (size_t row = 0; row < rows; ++row) ForVectors(d, lines, [&](size_t line) { f(d, row, line); });
  } else {
    ForVectors(d, rows, [&](size_t row) { f(d, row, 0); });
  }
}

// Entries of a table for these rows.
template <bool kAcross, class D>
HWY_INLINE hn::Vec<D> Entry(D d, const float* table, size_t row) {
  return kAcross ? hn::Set(d, table[row]) : hn::LoadU(d, table + row);
}
template <bool kAcross, class D>
HWY_INLINE Complex<hn::Vec<D>> Entry(D d, const float* table, size_t length, size_t row) {
  return {Entry<kAcross>(d, table, row), Entry<kAcross>(d, table + length, row)};
}
// The conjugate of row `row`, and of the rows before it.
template <bool kAcross, class D>
HWY_INLINE Complex<hn::Vec<D>> Mirrored(D d, const Block& b, size_t row, size_t line) {
  if constexpr (kAcross) {
    const auto v = LoadPlanes(d, b.x, row * b.lines + line);
    return {v.re, hn::Neg(v.im)};
  } else {
    const auto v = LoadPlanes(d, b.x, row + 1 - hn::Lanes(d));
    return {hn::Reverse(d, v.re), hn::Neg(hn::Reverse(d, v.im))};
  }
}

template <class D>
HWY_INLINE hn::Vec<D> Gather(D d, const float* from, size_t step) {
  if (step == 1) return hn::LoadU(d, from);
  alignas(64) float lanes[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = from[i * step];
  return hn::Load(d, lanes);
}
template <class D>
HWY_INLINE void Scatter(D d, hn::Vec<D> v, float* to, size_t step) {
  if (step == 1) return hn::StoreU(v, d, to);
  alignas(64) float lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) to[i * step] = lanes[i];
}

// How numbers in memory become rows: `pairs` rows have both parts; the `singles` rows after them only the real one.
struct Rows {
  Rows(const FftLines& l, size_t count, bool packed)
      : pairs(packed ? count / 2 : (l.parts - 1) * count),
        singles(packed ? count % 2 : count - pairs),
        stride(packed ? 2 * l.stride : l.stride),
        part(packed ? l.stride : 1),
        line_stride(l.line_stride) {}
  template <bool kAcross>
  size_t step() const {
    return kAcross ? line_stride : stride;
  }
  size_t offset(size_t row, size_t line) const { return row * stride + line * line_stride; }
  size_t pairs, singles, stride, part, line_stride;
};

template <bool kAcross, class D>
HWY_INLINE Complex<hn::Vec<D>> Weights(D d, const float* window, bool packed, size_t row) {
  Complex<hn::Vec<D>> w;
  if (!packed)
    w.re = w.im = Entry<kAcross>(d, window, row);
  else if (kAcross)
    w = {hn::Set(d, window[2 * row]), hn::Set(d, window[2 * row + 1])};
  else
    hn::LoadInterleaved2(d, window + 2 * row, w.re, w.im);
  return w;
}

template <bool kAcross>
void Load(const Block& b, const float* from, size_t count, size_t rows) {
  const hn::ScalableTag<float> full;
  const bool packed = b.plan().packed && !b.args.half;
  const Rows in(b.args.in, count, packed);
  const float* window = b.args.window;
  const size_t step = in.step<kAcross>();
  ForBlock<kAcross>(full, in.pairs, b.lines, [&](auto d, size_t row, size_t line) {
    const float* p = from + in.offset(row, line);
    Complex<hn::Vec<decltype(d)>> v;
    if (step == 2 && in.part == 1)
      hn::LoadInterleaved2(d, p, v.re, v.im);
    else
      v = {Gather(d, p, step), Gather(d, p + in.part, step)};
    if (window) {
      const auto w = Weights<kAcross>(d, window, packed, row);
      v = {hn::Mul(v.re, w.re), hn::Mul(v.im, w.im)};
    }
    StorePlanes(d, v, b.x, row * b.lines + line);
  });
  const Planes rest = b.x + in.pairs * b.lines;
  from += in.offset(in.pairs, 0);
  ForBlock<kAcross>(full, in.singles, b.lines, [&](auto d, size_t row, size_t line) {
    auto v = Gather(d, from + in.offset(row, line), step);
    if (window) v = hn::Mul(v, Entry<kAcross>(d, window + (packed ? 2 * in.pairs : 0), row));
    StorePlanes(d, {v, hn::Zero(d)}, rest, row * b.lines + line);
  });
  const size_t loaded = (in.pairs + in.singles) * b.lines, all = rows * b.lines;
  std::fill(b.x.re + loaded, b.x.re + all, 0.0f);
  std::fill(b.x.im + loaded, b.x.im + all, 0.0f);
}

template <bool kAcross>
void Store(const Block& b, float* to, float scale) {
  const hn::ScalableTag<float> full;
  const Rows out(b.args.out, b.args.out.count, b.plan().packed && b.args.half);
  const size_t step = out.step<kAcross>();
  ForBlock<kAcross>(full, out.pairs, b.lines, [&](auto d, size_t row, size_t line) {
    const auto v = LoadPlanes(d, b.x, row * b.lines + line);
    const auto by = hn::Set(d, scale), re = hn::Mul(v.re, by), im = hn::Mul(v.im, by);
    float* p = to + out.offset(row, line);
    if (step == 2 && out.part == 1) return hn::StoreInterleaved2(re, im, d, p);
    Scatter(d, re, p, step);
    Scatter(d, im, p + out.part, step);
  });
  const Planes rest = b.x + out.pairs * b.lines;
  to += out.offset(out.pairs, 0);
  ForBlock<kAcross>(full, out.singles, b.lines, [&](auto d, size_t row, size_t line) {
    const auto v = hn::Mul(hn::LoadU(d, rest.re + row * b.lines + line), hn::Set(d, scale));
    Scatter(d, v, to + out.offset(row, line), step);
  });
}

// For transformed numbers z = even + i odd: computes twice the first half of the spectrum of the real line that they
// came from (forward), or the reverse: e ± t·o, where e and o are sums and differences with the mirrored number, and t
// = -i e^(-2πi k / n).
template <bool kAcross>
void Fold(Block& b) {
  const size_t numbers = b.plan().numbers, rows = numbers + !b.args.inverse;
  if (!b.args.inverse) {
    std::copy_n(b.x.re, b.lines, b.x.re + numbers * b.lines);
    std::copy_n(b.x.im, b.lines, b.x.im + numbers * b.lines);
  }
  ForBlock<kAcross>(hn::ScalableTag<float>(), rows, b.lines, [&](auto d, size_t row, size_t line) {
    const size_t at = row * b.lines + line;
    const auto v = LoadPlanes(d, b.x, at), w = Mirrored<kAcross>(d, b, numbers - row, line);
    auto t = Entry<kAcross>(d, b.table, numbers + 1, row);
    if (b.args.inverse) t.im = hn::Neg(t.im);
    const auto o = Times(Complex<hn::Vec<decltype(d)>>{hn::Sub(v.re, w.re), hn::Sub(v.im, w.im)}, t);
    StorePlanes(d, {hn::Add(hn::Add(v.re, w.re), o.re), hn::Add(hn::Add(v.im, w.im), o.im)}, b.y, at);
  });
  b.swap();
}

// Computes the second half of the spectrum of real lines from the first.
template <bool kAcross>
void Mirror(const Block& b) {
  const size_t n = b.plan().length, half = n / 2 + 1;
  ForBlock<kAcross>(hn::ScalableTag<float>(), n - half, b.lines, [&](auto d, size_t row, size_t line) {
    StorePlanes(d, Mirrored<kAcross>(d, b, n - half - row, line), b.x, (half + row) * b.lines + line);
  });
}

template <bool kAcross>
void Multiply(Block& b, const float* table, size_t rows) {
  ForBlock<kAcross>(hn::ScalableTag<float>(), rows, b.lines, [&](auto d, size_t row, size_t line) {
    const size_t at = row * b.lines + line;
    StorePlanes(d, Times(LoadPlanes(d, b.x, at), Entry<kAcross>(d, table, rows, row)), b.y, at);
  });
  b.swap();
}

template <bool kAcross>
void Transform(Block& b) {
  const FftPlan& plan = b.plan();
  if (!plan.convolution) return RunCore(plan, b.args.table, b.lines, b.x, b.y);
  const float* chirp = b.table + (plan.packed ? 2 * (plan.numbers + 1) : 0);
  Multiply<kAcross>(b, chirp, plan.numbers);
  const size_t used = plan.numbers * b.lines, all = plan.convolution * b.lines;
  std::fill(b.x.re + used, b.x.re + all, 0.0f);
  std::fill(b.x.im + used, b.x.im + all, 0.0f);
  RunCore(plan, b.args.table, b.lines, b.x, b.y);
  Multiply<kAcross>(b, chirp + 2 * plan.numbers, plan.convolution);
  b.exchange_parts();
  RunCore(plan, b.args.table, b.lines, b.x, b.y);
  b.exchange_parts();
  Multiply<kAcross>(b, chirp, plan.numbers);
}

template <bool kAcross>
void TransformLines(Block b, const float* from, float* to) {
  const FftPlan& plan = b.plan();
  const FftArgs& args = b.args;
  const size_t half = plan.length / 2 + 1, taken = args.half ? half : plan.length;
  Load<kAcross>(b, from, std::min(args.in.count, taken), args.half ? half : plan.numbers);
  if (args.half) {  // these parts are undefined in a spectrum of real numbers
    std::fill_n(b.x.im, b.lines, 0.0f);
    if (plan.packed) {
      std::fill_n(b.x.im + plan.numbers * b.lines, b.lines, 0.0f);
      Fold<kAcross>(b);
    } else {
      Mirror<kAcross>(b);
    }
  }
  if (args.inverse) b.exchange_parts();
  Transform<kAcross>(b);
  if (args.inverse) b.exchange_parts();
  if (plan.packed && !args.inverse) {
    Fold<kAcross>(b);
    if (args.out.count > half) Mirror<kAcross>(b);
  }
  const float fold = plan.packed && !args.inverse ? 0.5f : 1.0f;
  Store<kAcross>(b, to, args.inverse ? float(1 / double(plan.length)) : fold);
}

}  // namespace

void transform_lines(const FftArgs& args, const float* from, float* to, size_t lines, float* scratch) noexcept {
  const size_t plane = args.plan->scratch_floats(lines) / 4;
  const Block b{.args = args,
                .table = args.table + args.plan->core_floats(),
                .lines = lines,
                .x = {scratch, scratch + plane},
                .y = {scratch + 2 * plane, scratch + 3 * plane}};
  lines == 1 ? TransformLines<false>(b, from, to) : TransformLines<true>(b, from, to);
}

void transform_core(const FftPlan& plan, const float* table, float* planes, float* scratch) noexcept {
  const size_t n = plan.core();
  Planes x{planes, planes + n}, y{scratch, scratch + n};
  RunCore(plan, table, 1, x, y);
  if (x.re != planes) std::copy_n(x.re, 2 * n, planes);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

constexpr size_t kMaxLines = 16, kBlockNumbers = size_t(1) << 17, kTaskNumbers = size_t(1) << 13;

// Number of lines transformed at once: one if it is long enough to fill vectors by itself, otherwise several.
size_t lines_at_once(const FftArgs& args) {
  const bool one = args.plan->splits() && args.in.stride == args.in.parts && args.out.stride == args.out.parts;
  return one ? 1 : std::clamp<size_t>(std::min(kBlockNumbers / args.plan->rows(), args.lines), 1, kMaxLines);
}

}  // namespace

void fft_core(const FftPlan& plan, const float* table, float* planes, float* scratch) noexcept {
  RETORT_SELECT(transform_core)(plan, table, planes, scratch);
}

size_t fft_scratch_floats(const FftArgs& args, int workers) {
  return args.plan->scratch_floats(lines_at_once(args)) * size_t(workers);
}

void fft(const FftArgs& args, float* scratch, const Parallel& parallel) noexcept {
  const size_t at_once = lines_at_once(args), own = args.plan->scratch_floats(at_once);
  const size_t blocks = ceil_div(args.lines, at_once);  // of a group
  const size_t all = args.groups * blocks, per_task = std::max<size_t>(1, kTaskNumbers / (args.plan->rows() * at_once));
  const auto transform = RETORT_SELECT(transform_lines);
  parallel.for_each(ceil_div(all, per_task), [&](size_t task, int worker) {
    for (size_t i = task * per_task; i < std::min(all, (task + 1) * per_task); ++i) {
      const size_t group = i / blocks, line = i % blocks * at_once;
      transform(args, args.input + group * args.in.group_stride + line * args.in.line_stride,
                args.output + group * args.out.group_stride + line * args.out.line_stride,
                std::min(at_once, args.lines - line), scratch + size_t(worker) * own);
    }
  });
}

}  // namespace retort::kernels
#endif
