// DFT: the discrete Fourier transform along an axis of real or complex numbers, whose parts lie along the last axis.
// For a real signal, one half of the result suffices (onesided); the inverse turns such a half back into real numbers.
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/signal/common/float_fft.h"
#include "ops/signal/common/fourier.h"

namespace retort::ops {
namespace {

struct Dft {
  bool inverse = false, onesided = false;
  static constexpr std::tuple attributes{attr("inverse", &Dft::inverse), attr("onesided", &Dft::onesided)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    if (c.node()) expect_rank(c, 1, 0);  // in a run, ONNX Runtime takes any shape of one element
    Shape y = c.shape(0);
    require(y.rank() >= 2, ErrorCode::invalid_argument,
            "input has shape {}, but its last axis must hold real or complex numbers", c.dims().text(y));
    const auto at = c.has(2) ? c.try_value(2) : std::nullopt;
    require(!is_known(y.back()) || y.back() == 1 || y.back() == 2, ErrorCode::invalid_argument,
            "the last axis has {} elements, expected 1 (real) or 2 (complex)", y.back());
    y[y.rank() - 1] = inverse && onesided ? 1 : 2;
    if (c.has(2) && (!at || !is_known(scalar_value(c, 2)))) {
      for (size_t d = 0; d + 1 < y.rank(); ++d) y[d] = c.unknown_extent();
      return c.set(0, c.dtype(0), y);
    }
    const size_t axis = axis_of(c.has(2) ? scalar_value(c, 2) : -2, y.rank());
    DimTable& d = c.dims();
    Dim length = inverse && onesided ? d.mul(d.sub(y[axis], 1), 2) : y[axis];
    if (c.has(1)) length = c.try_value(1) ? scalar_value(c, 1) : c.unknown_extent();
    require(!is_known(length) || length > 0, ErrorCode::invalid_argument, "the transform has length {}", length);
    y[axis] = onesided && !inverse ? d.add(d.div(length, 2), 1) : length;
    c.set(0, c.dtype(0), y);
  }
  // The axis is an input, and the length may be one too.
  Cost cost(const CostContext&) const { return {.operations = kUnknown}; }
  static size_t axis_of(int64_t axis, size_t rank) {
    const size_t a = normalize_axis(axis, rank);
    require(a + 1 < rank, ErrorCode::invalid_argument, "axis {} is the axis of real and imaginary parts", axis);
    return a;
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const ValueType& x = c.type(0);
    const auto at = c.has(2) ? constant_integer(c, 2) : -2;
    if (x.dtype != DType::f32 || !x.ranked || !at || !is_known(x.shape.back())) return nullptr;
    std::optional<int64_t> length = c.has(1) ? constant_integer(c, 1) : std::nullopt;
    const Dim given = x.shape[axis_of(*at, x.rank())];
    if (!c.has(1) && is_known(given)) length = half() ? 2 * (given - 1) : given;
    return prepare_fft(c, length, inverse ? half() : x.shape.back() == 1);
  }
  size_t scratch(const RunContext& c) const { return c.dtype(0) == DType::f32 ? lines(c).scratch_bytes(c) : 0; }
  void fast(RunContext& c, std::type_identity<float>) const { lines(c).run(c); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const size_t axis = axis_of(c.has(2) ? integer(c, 2) : -2, x.rank());
    const auto given = size_t(x[axis]), made = size_t(y[axis]), parts = size_t(x.back()), out_parts = size_t(y.back());
    const size_t inner = size_t(extent_product(x, axis + 1, x.rank() - 1)), outer = size_t(extent_product(x, 0, axis));
    const auto length = size_t(c.has(1) ? integer(c, 1) : int64_t(onesided && inverse ? made : given));
    const Fourier fourier(length);
    std::vector<std::complex<double>> line(length);
    const T* in = c.input<T>(0).data();
    T* out = c.output<T>().data();
    for (size_t o = 0; o < outer * inner && !c.parallel().cancelled(); ++o) {
      const size_t block = o / inner, at = o % inner;
      load(in + (block * given * inner + at) * parts, inner * parts, parts, given, line);
      fourier.transform(line, inverse, c.parallel());
      for (size_t k = 0; k < made; ++k) {
        T* to = out + ((block * made + k) * inner + at) * out_parts;
        to[0] = T(line[k].real());
        if (out_parts == 2) to[1] = T(line[k].imag());
      }
    }
  }

 private:
  bool half() const { return inverse && onesided; }

  FloatFft lines(const RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    const size_t axis = axis_of(c.has(2) ? known_integer(c, 2) : -2, x.rank());
    const size_t inner = size_t(extent_product(x, axis + 1, x.rank() - 1)), outer = size_t(extent_product(x, 0, axis));
    const int64_t length = c.has(1) ? known_integer(c, 1) : half() ? y[axis] : x[axis];
    FloatFft fft(c, size_t(length), inverse ? half() : x.back() == 1);
    const auto layout = [&](const Shape& s) {
      const auto count = size_t(s[axis]), parts = size_t(s.back()), line = count * parts;
      if (inner == 1) return kernels::FftLines{count, parts, 0, line, parts};
      return kernels::FftLines{count, parts, line * inner, parts, inner * parts};
    };
    fft.args.inverse = inverse;
    fft.args.half = half();
    fft.args.groups = inner == 1 ? 1 : outer;
    fft.args.lines = inner == 1 ? outer : inner;
    fft.args.input = c.input<float>(0).data();
    fft.args.in = layout(x);
    fft.args.output = c.output<float>().data();
    fft.args.out = layout(y);
    return fft;
  }

  // Reads the given elements, truncated or zero-padded to the length; a onesided spectrum is completed by symmetry.
  template <typename T>
  void load(const T* x, size_t stride, size_t parts, size_t given, std::vector<std::complex<double>>& line) const {
    const size_t n = line.size(), taken = std::min(given, inverse && onesided ? n / 2 + 1 : n);
    std::fill(line.begin(), line.end(), 0);
    for (size_t i = 0; i < taken; ++i) line[i] = {double(x[i * stride]), parts == 2 ? double(x[i * stride + 1]) : 0};
    for (size_t i = 1; inverse && onesided && i < taken && i < n - i; ++i) line[n - i] = std::conj(line[i]);
  }
};

}  // namespace

extern const OpDef op_dft;
constinit const OpDef op_dft = define<Dft>({
    .name = "DFT",
    .since = {17, 20},
    .inputs = {"input: T", "dft_length: I?", "axis: int64?"},
    .outputs = {"output: T"},
    .types = kFloats,
});

}  // namespace retort::ops
