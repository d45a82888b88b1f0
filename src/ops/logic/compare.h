// The family of comparisons. An operator is a struct `Op : Compare<Op>` with
//   template <typename T> static bool apply(const T& a, const T& b);
//   static std::optional<Dim> symbolic(DimTable&, Dim a, Dim b);   1, 0 or unknown
//   static constexpr kernels::Compare kernel = …;
#pragma once
#include "kernels/elementwise/logic.h"
#include "ops/math/binary.h"

namespace retort::ops {

/// 1 if a = b or a < b holds for all values of the symbols, 0 if it holds for none, nullopt if neither is certain.
std::optional<Dim> always_equal(DimTable& dims, Dim a, Dim b);
std::optional<Dim> always_less(DimTable& dims, Dim a, Dim b);
inline std::optional<Dim> negated(std::optional<Dim> truth) {
  return truth ? std::optional<Dim>(!*truth) : std::nullopt;
}

/// Runs the kernel on inputs 0 and 1. Defined for float, double, int32_t, int64_t, uint8_t and bool.
template <typename T>
void run_compare(kernels::Compare op, RunContext& c);

template <typename Op>
struct Compare {
  void infer(InferContext& c) const {
    infer_binary(c, DType::boolean, [&](Dim a, Dim b) -> std::optional<Dim> {
      if (is_known(a) && is_known(b)) return Dim(Op::template apply<int64_t>(a, b));
      return Op::symbolic(c.dims(), a, b);
    });
  }

  template <typename T>
  void reference(RunContext& c) const {
    const auto a = c.input<T>(0), b = c.input<T>(1);
    const auto y = c.output<bool>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ia, size_t ib) { y[i] = Op::template apply<T>(a[ia], b[ib]); });
  }

  template <OneOf<float, double, int32_t, int64_t, uint8_t, bool> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    run_compare<T>(Op::kernel, c);
  }
  template <OneOf<uint32_t, uint64_t, std::string> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    using C = Carrier<T>;
    map_broadcast<T, bool>(c, [](const C& a, const C& b) { return Op::template apply<C>(a, b); });
  }
};

}  // namespace retort::ops
