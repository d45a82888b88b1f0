// The family c = f(a, b) with numpy broadcasting. An operator is a struct `Op : Binary<Op>` with
//   template <typename T> static T apply(T a, T b);                      T a carrier
//   static std::optional<Dim> symbolic(DimTable&, Dim a, Dim b);         optional: content that is not numbers
//   static constexpr kernels::Binary kernel = …;                        optional: the kernel of float, double, int32, int64
//   static constexpr bool divides = true;                               optional: B must not be the integer 0
#pragma once
#include "base/function_ref.h"
#include "kernels/elementwise/binary.h"
#include "ops/elementwise.h"
#include "ops/math/arithmetic.h"

namespace retort::ops {

using FoldContent = FunctionRef<std::optional<Dim>(Dim, Dim)>;

/// Sets type `out` and the broadcast shape for output 0, and its content if both inputs have content and `fold` (of
/// elements) returns a value.
void infer_binary(InferContext& c, DType out, FoldContent fold);

/// Converts `number` to an element of int64, int32 or bool.
Dim wrap_content(DType dtype, Dim number);

/// Runs the kernel on inputs 0 and 1. Defined for float, double, int32_t and int64_t.
template <typename T>
void run_binary(kernels::Binary op, RunContext& c);
/// The same for add, sub and mul of integers of `bytes` bytes.
void run_wrapping(kernels::Binary op, size_t bytes, RunContext& c);

template <typename Op>
struct Binary {
  static constexpr bool kDivides = requires { Op::divides; };
  /// Whether results of signed and unsigned integers have the same bits.
  static constexpr bool wraps() {
    if constexpr (requires { Op::kernel; })
      return Op::kernel == kernels::Binary::add || Op::kernel == kernels::Binary::sub ||
             Op::kernel == kernels::Binary::mul;
    return false;
  }

  void infer(InferContext& c) const {
    infer_binary(c, c.dtype(0), [&](Dim a, Dim b) -> std::optional<Dim> {
      if constexpr (requires { Op::template apply<int64_t>(a, b); }) {
        const bool has_result = !kDivides || b != 0;
        if (is_known(a) && is_known(b) && has_result) return Op::template apply<int64_t>(a, b);
      }
      if constexpr (requires { Op::symbolic(c.dims(), a, b); }) return Op::symbolic(c.dims(), a, b);
      return std::nullopt;
    });
  }

  template <typename T>
  requires requires(T x) { Op::template apply<T>(x, x); }
  void reference(RunContext& c) const {
    const auto a = c.input<T>(0), b = c.input<T>(1);
    if constexpr (kDivides) check_divisors(b);
    const auto y = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ia, size_t ib) { y[i] = Op::template apply<T>(a[ia], b[ib]); });
  }

  template <OneOf<float, double, int32_t, int64_t> T>
  requires requires { Op::kernel; }
  void fast(RunContext& c, std::type_identity<T>) const {
    if constexpr (kDivides) check_divisors(c.input<T>(1));
    run_binary<T>(Op::kernel, c);
  }

  template <OneOf<int8_t, uint8_t, int16_t, uint16_t, uint32_t, uint64_t> T>
  requires(Binary::wraps()) void fast(RunContext& c, std::type_identity<T>) const {
    run_wrapping(Op::kernel, sizeof(T), c);
  }

  template <Wide T>
  requires(!Binary::wraps() && !(OneOf<T, float, double, int32_t, int64_t> && requires { Op::kernel; })) &&
      requires(T x) {
    Op::template apply<T>(x, x);
  }
  void fast(RunContext& c, std::type_identity<T>) const {
    if constexpr (kDivides) check_divisors(c.input<T>(1));
    map_broadcast<T>(c, [](T a, T b) { return Op::template apply<T>(a, b); });
  }
};

}  // namespace retort::ops
