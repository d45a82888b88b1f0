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
      const T rest = std::fmod(a, b);
      if (fmod || b == 0 || std::isnan(rest)) return rest;
      if (rest == 0) return std::copysign(T(0), b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
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
  template <typename T>
  requires(!OneOf<T, std::string, bool>) void fast(RunContext& c, std::type_identity<T>) const {
    check_divisors(c.input<T>(1));
    // Numbers of up to 32 bits are divided in 32 bits, which is faster.
    using Divided = std::conditional_t<!std::integral<T> || sizeof(T) == 8, Carrier<T>,
                                       std::conditional_t<std::signed_integral<T>, int32_t, uint32_t>>;
    map_broadcast<T>(c, [&](Carrier<T> a, Carrier<T> b) { return apply(Divided(a), Divided(b)); });
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
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
