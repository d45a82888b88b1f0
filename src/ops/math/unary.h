// The family y[i] = f(x[i]) of one type. An operator is a struct `Op : Unary<Op>` with
//   template <typename T> static T apply(T x);        T a carrier
//   static Dim symbolic(DimTable&, Dim x);            optional: content that is a symbol
//   static constexpr kernels::Unary kernel = …;       optional: the kernel of float
//   static constexpr kernels::UnaryDouble kernel_of_double = …;                   optional: that of double
#pragma once
#include "kernels/elementwise/unary.h"
#include "kernels/elementwise/unary_double.h"
#include "ops/math/binary.h"

namespace retort::ops {

using FoldOne = FunctionRef<std::optional<Dim>(Dim)>;
/// Sets type `out` and the input's shape for output 0, and its content if the input has content and `fold` returns a
/// value.
void infer_unary(InferContext& c, DType out, FoldOne fold);

template <typename Op>
struct Unary {
  void infer(InferContext& c) const {
    infer_unary(c, c.dtype(0), [&](Dim x) -> std::optional<Dim> {
      if constexpr (requires { Op::template apply<int64_t>(x); }) {
        if (is_known(x)) return Op::template apply<int64_t>(x);
      }
      if constexpr (requires { Op::symbolic(c.dims(), x); }) return Op::symbolic(c.dims(), x);
      return std::nullopt;
    });
  }

  template <typename T>
  requires requires(T x) { Op::template apply<T>(x); }
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = Op::template apply<T>(x[i]);
  }

  void fast(RunContext& c, std::type_identity<float>) const requires requires { Op::kernel; }
  { kernels::unary(Op::kernel, c.input<float>(0), c.output<float>(), c.parallel()); }
  void fast(RunContext& c, std::type_identity<double>) const requires requires { Op::kernel_of_double; }
  { kernels::unary(Op::kernel_of_double, c.input<double>(0), c.output<double>(), c.parallel()); }

  template <Wide T>
  requires(!(std::same_as<T, float> && requires { Op::kernel; })) && requires(T x) { Op::template apply<T>(x); }
  void fast(RunContext& c, std::type_identity<T>) const {
    map_elements<T>(c, [](T x) { return Op::template apply<T>(x); });
  }
};

}  // namespace retort::ops
