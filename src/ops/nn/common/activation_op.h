// The family of activations y[i] = f(x[i]) with attributes. An operator is a struct `Op : ActivationOp<Op>` with
//   template <typename T> T apply(T x) const;                                the reference; T is float or double
//   void kernel(span<const float> x, span<float> y, const Parallel&) const;  optional: the kernel for float;
//                                                                           the same for double
#pragma once
#include <cmath>

#include "kernels/elementwise/unary.h"
#include "ops/elementwise.h"

namespace retort::ops {

template <typename Op>
struct ActivationOp : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = self().apply(x[i]);
  }
  template <OneOf<float, double> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    if constexpr (requires(const Op& op, std::span<T> y) { op.kernel(y, y, c.parallel()); }) {
      self().kernel(c.input<T>(0), c.output<T>(), c.parallel());
    } else {
      map_elements<T>(c, [this](T x) { return self().apply(x); });
    }
  }

 private:
  const Op& self() const { return static_cast<const Op&>(*this); }
};

/// Runs one of the activations that GEMM epilogues also have.
inline void activate(kernels::Activation::Kind kind, std::span<const float> x, std::span<float> y, const Parallel& par,
                     float a = 0, float b = 0) {
  kernels::activate({kind, a, b}, x, y, par);
}

}  // namespace retort::ops
