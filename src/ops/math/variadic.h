// The family y = f(x0, x1, …) of any number of inputs with numpy broadcasting. An operator is a struct
// `Op : Variadic<Op>` with
//   template <typename T> static T combine(T a, T b);             T a carrier
//   template <typename T> static T finish(T y, size_t count);     optional
//   static constexpr kernels::Binary kernel = …;                 the kernel of float, double, int32 and int64
//   static Dim symbolic(DimTable&, Dim a, Dim b);                 optional
#pragma once
#include "ops/math/binary.h"

namespace retort::ops {

/// Sets type and broadcast shape of all inputs, and the content by `fold`.
void infer_variadic(InferContext& c, FoldContent fold);

/// y = the first input, broadcast to the output's shape; then y = op(y, x) for each other input. Defined for the types
/// of run_binary().
template <typename T>
void run_variadic(kernels::Binary op, RunContext& c);

template <typename Op>
struct Variadic {
  void infer(InferContext& c) const {
    infer_variadic(c, [&](Dim a, Dim b) -> std::optional<Dim> {
      if constexpr (requires { Op::symbolic(c.dims(), a, b); }) return Op::symbolic(c.dims(), a, b);
      return std::nullopt;
    });
  }

  template <typename T>
  requires requires(T x) { Op::template combine<T>(x, x); }
  void reference(RunContext& c) const {
    const auto y = c.output<T>();
    for (size_t k = 0; k < c.input_count(); ++k) {
      const auto x = c.input<T>(k);
      for_each_broadcast(c.out_shape(), c.shape(k), c.shape(k), [&](size_t i, size_t from, size_t) {
        y[i] = k == 0 ? x[from] : Op::template combine<T>(y[i], x[from]);
      });
    }
    finish<T>(c);
  }

  template <OneOf<float, double, int32_t, int64_t> T>
  requires requires(T x) { Op::template combine<T>(x, x); }
  void fast(RunContext& c, std::type_identity<T>) const {
    run_variadic<T>(Op::kernel, c);
    finish<T>(c);
  }

 private:
  template <typename T>
  static void finish(RunContext& c) {
    if constexpr (requires(T y) { Op::template finish<T>(y, size_t(1)); }) {
      for (T& y : c.output<T>()) y = Op::template finish<T>(y, c.input_count());
    }
  }
};

}  // namespace retort::ops
