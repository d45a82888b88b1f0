// STFT: the Fourier transforms of windows that move along a signal.
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/signal/common/float_fft.h"
#include "ops/signal/common/fourier.h"

namespace retort::ops {
namespace {

struct Stft {
  bool onesided = true;
  static constexpr std::tuple attributes{attr("onesided", &Stft::onesided)};
  enum Input : size_t { kSignal, kStep, kWindow, kLength };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kSignal));
    const Shape& x = c.shape(kSignal);
    require(x.rank() == 2 || x.rank() == 3, ErrorCode::invalid_argument,
            "signal has shape {}, expected [batch, length, parts]", c.dims().text(x));
    require(x.rank() == 2 || !is_known(x[2]) || x[2] == 1 || (x[2] == 2 && !onesided), ErrorCode::invalid_argument,
            "the last axis of signal has {} elements, expected 1, or 2 without onesided", x.back());
    DimTable& d = c.dims();
    const Dim length = c.has(kLength)   ? c.try_value(kLength) ? scalar_value(c, kLength) : c.unknown_extent()
                         : c.has(kWindow) ? c.shape(kWindow)[0]
                                        : x[1];
    const Dim step = c.try_value(kStep) ? scalar_value(c, kStep) : c.unknown_extent();
    require(!is_known(step) || step > 0, ErrorCode::invalid_argument, "frame_step is {}", step);
    require(!is_known(length) || (length > 0 && (!is_known(x[1]) || length <= x[1])), ErrorCode::invalid_argument,
            "frames have {} elements, but the signal has {}", length, d.text(x[1]));
    if (c.has(kWindow))
      require(c.rank(kWindow) == 1 && may_equal(c.shape(kWindow)[0], length), ErrorCode::invalid_argument,
              "the window has shape {}, but frames have {} elements", d.text(c.shape(kWindow)), d.text(length));
    const Dim frames = d.add(d.div(d.sub(x[1], length), step), 1);
    c.set(0, c.dtype(kSignal), {x[0], frames, onesided ? d.add(d.div(length, 2), 1) : length, 2});
  }
  // The length of a frame may be an input.
  Cost cost(const CostContext&) const { return {.operations = kUnknown}; }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const ValueType& x = c.type(kSignal);
    if (x.dtype != DType::f32 || !x.ranked || (x.rank() == 3 && !is_known(x.shape[2]))) return nullptr;
    std::optional<int64_t> length = constant_integer(c, kLength);
    const size_t frame = c.has(kWindow) ? kWindow : kSignal;
    if (!c.has(kLength) && c.type(frame).ranked) length = c.type(frame).shape[frame == kWindow ? 0 : 1];
    return prepare_fft(c, length, x.rank() == 2 || x.shape[2] == 1);
  }
  size_t scratch(const RunContext& c) const { return c.dtype(kSignal) == DType::f32 ? frames(c).scratch_bytes(c) : 0; }
  void fast(RunContext& c, std::type_identity<float>) const { frames(c).run(c); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape &x = c.shape(kSignal), &y = c.out_shape();
    const auto parts = size_t(x.rank() == 3 ? x[2] : 1), samples = size_t(x[1]), frames = size_t(y[1]);
    const auto bins = size_t(y[2]), step = size_t(integer(c, kStep));
    const size_t length = c.has(kLength) ? size_t(integer(c, kLength)) : c.has(kWindow) ? c.count(kWindow) : samples;
    const T* window = c.optional<T>(kWindow);
    const Fourier fourier(length);
    std::vector<std::complex<double>> line(length);
    T* to = c.output<T>().data();
    for (size_t f = 0; f < size_t(x[0]) * frames && !c.parallel().cancelled(); ++f) {
      const T* from = c.input<T>(kSignal).data() + (f / frames * samples + f % frames * step) * parts;
      for (size_t i = 0; i < length; ++i) {
        const double weight = window ? double(window[i]) : 1;
        line[i] = {weight * double(from[i * parts]), parts == 2 ? weight * double(from[i * parts + 1]) : 0};
      }
      fourier.transform(line, false, c.parallel());
      for (size_t k = 0; k < bins; ++k) {
        *to++ = T(line[k].real());
        *to++ = T(line[k].imag());
      }
    }
  }

 private:
  FloatFft frames(const RunContext& c) const {
    const Shape &x = c.shape(kSignal), &y = c.out_shape();
    const auto parts = size_t(x.rank() == 3 ? x[2] : 1), samples = size_t(x[1]), made = size_t(y[1]);
    const auto bins = size_t(y[2]), step = size_t(known_integer(c, kStep));
    const size_t length = c.has(kLength)   ? size_t(known_integer(c, kLength))
                          : c.has(kWindow) ? c.count(kWindow)
                                           : samples;
    FloatFft fft(c, length, parts == 1);
    fft.args.groups = size_t(x[0]);
    fft.args.lines = made;
    fft.args.input = c.input<float>(kSignal).data();
    fft.args.in = {length, parts, samples * parts, step * parts, parts};
    fft.args.window = c.optional<float>(kWindow);
    fft.args.output = c.output<float>().data();
    fft.args.out = {bins, 2, made * bins * 2, bins * 2, 2};
    return fft;
  }
};

}  // namespace

extern const OpDef op_stft;
constinit const OpDef op_stft = define<Stft>({
    .name = "STFT",
    .since = {17},
    .inputs = {"signal: T", "frame_step: I", "window: T?", "frame_length: I?"},
    .outputs = {"output: T"},
    .types = kFloats,
});

}  // namespace retort::ops
