// ComplexMul, ComplexMulConj, Rfft and Irfft of com.microsoft: complex numbers are pairs on the last axis.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

struct Parts {
  ValueId re, im;
};

Parts parts(Rewriter& r, size_t i) {
  if (r.type(i).ranked) {
    const Shape& s = r.type(i).shape;
    require(!s.empty() && (!is_known(s.back()) || s.back() == 2), ErrorCode::invalid_argument,
            "input {} has shape {}, complex numbers are pairs on the last axis", i, r.graph().dims().text(s));
  }
  const auto both = r.add_all({.type = "Split",
                               .inputs = {r.input(i), r.constant(Ints{1, 1})},
                               .attributes = {{"axis", int64_t(-1)}},
                               .outputs = 2});
  return {both[0], both[1]};
}

// a · b, or a · conj(b).
void multiply(Rewriter& r, bool conjugate) {
  const Parts a = parts(r, 0), b = parts(r, 1);
  const auto node = [&](const char* type, ValueId x, ValueId y) { return r.add({.type = type, .inputs = {x, y}}); };
  const auto mul = [&](ValueId x, ValueId y) { return node("Mul", x, y); };
  const ValueId re = node(conjugate ? "Add" : "Sub", mul(a.re, b.re), mul(a.im, b.im));
  const ValueId im = node(conjugate ? "Sub" : "Add", mul(a.im, b.re), mul(a.re, b.im));
  r.replace_output(0, r.add({.type = "Concat", .inputs = {re, im}, .attributes = {{"axis", int64_t(-1)}}}));
  r.remove();
}
void apply_complex_mul(Rewriter& r) { multiply(r, false); }
void apply_complex_mul_conj(Rewriter& r) { multiply(r, true); }

void check_fourier(Rewriter& r) {
  const auto number = [&](const char* name, int64_t usual) { return r.attributes().get_or<int64_t>(name, usual); };
  require(number("normalized", 0) == 0 && number("onesided", 1) == 1, ErrorCode::invalid_argument,
          "normalized is {}, onesided {}; expected 0 and 1", number("normalized", 0), number("onesided", 1));
  require(number("signal_ndim", 1) == 1, ErrorCode::not_implemented, "signal_ndim is {}, 1 is supported",
          number("signal_ndim", 1));
}

ValueId fourier(Rewriter& r, ValueId x, bool inverse) {
  return r.add({.type = "DFT",
                .inputs = {x, ValueId::none, r.constant(Tensor::of<int64_t>({}, {-2}))},
                .attributes = {{"inverse", int64_t(inverse)}, {"onesided", int64_t(1)}}});
}

void apply_rfft(Rewriter& r) {
  check_fourier(r);
  const ValueId pairs = r.add({.type = "Unsqueeze", .inputs = {r.input(0), r.constant(Ints{-1})}});
  r.replace_output(0, fourier(r, pairs, false));
  r.remove();
}

void apply_irfft(Rewriter& r) {
  check_fourier(r);
  const ValueId y = fourier(r, r.input(0), true);
  r.replace_output(0, r.add({.type = "Squeeze", .inputs = {y, r.constant(Ints{-1})}}));
  r.remove();
}

constexpr LiftRule kFourierRules[] = {{"ComplexMul", kAlways, apply_complex_mul, "com.microsoft"},
                                      {"ComplexMulConj", kAlways, apply_complex_mul_conj, "com.microsoft"},
                                      {"Rfft", kAlways, apply_rfft, "com.microsoft"},
                                      {"Irfft", kAlways, apply_irfft, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_fourier;
constinit const LiftRules lift_fourier{kFourierRules};

}  // namespace retort
