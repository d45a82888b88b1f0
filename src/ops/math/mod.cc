// Mod: remainder of a / b with numpy broadcasting. By default the quotient is rounded down, so the result has the sign
// of b; with fmod = 1 it is rounded towards zero, so the result has the sign of a. Integers: x mod 0 is an error.
#include <cmath>

#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct Mod {
  bool fmod = false;
  static constexpr std::tuple attributes{attr("fmod", &Mod::fmod)};

  template <typename T>
  T apply(T a, T b) const {
    if constexpr (std::integral<T>) {
      const T rest = safe_rem(a, b);
      return !fmod && rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
    } else {
      const T rest = remainder_of(a, b);
      if (fmod || b == 0 || std::isnan(rest)) return rest;
      if (rest == 0) return std::copysign(T(0), b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }

  // fmod(). In double, products of a float and a number of up to 28 bits are exact, and a quotient below 2^28 rounds to
  // a whole number only if it is one.
  template <std::floating_point T>
  static T remainder_of(T a, T b) {
    if constexpr (std::same_as<T, float>) {
      const double quotient = double(a) / double(b), whole = std::trunc(quotient);
      if (whole == 0) return a;
      if (std::abs(quotient) < 0x1p28) return std::copysign(float(double(a) - whole * double(b)), a);
    }
    return std::fmod(a, b);
  }

  void infer(InferContext& c) const {
    infer_binary(c, c.dtype(0), [&](Dim a, Dim b) -> std::optional<Dim> {
      if (is_known(a) && is_known(b) && b != 0) return apply<int64_t>(a, b);
      DimTable& d = c.dims();
      const bool exact = b != 0 && d.nonnegative(a) && d.nonnegative(b) && d.mul(d.div(a, b), b) == a;
      return exact ? std::optional<Dim>(0) : std::nullopt;
    });
  }
  template <typename T>
  void reference(RunContext& c) const {
    const auto a = c.input<T>(0), b = c.input<T>(1);
    check_divisors(b);
    const auto y = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ia, size_t ib) { y[i] = apply<T>(a[ia], b[ib]); });
  }
  template <Wide T>
  void fast(RunContext& c, std::type_identity<T>) const {
    check_divisors(c.input<T>(1));
    map_broadcast<T>(c, [&](T a, T b) { return apply(a, b); });
  }
};

}  // namespace

extern const OpDef op_mod;
constinit const OpDef op_mod = define<Mod>({
    .name = "Mod",
    .since = {10, 13, 28},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0 | kDividesIntegers,
});

}  // namespace retort::ops
