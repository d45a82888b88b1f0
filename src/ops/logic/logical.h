// The family of binary operators on booleans. An operator is a struct `Op : Logical<Op>` with
//   static bool apply(bool a, bool b);
//   static constexpr kernels::Logic kernel = …;
#pragma once
#include "kernels/elementwise/logic.h"
#include "ops/math/binary.h"

namespace retort::ops {

/// Runs the kernel on inputs 0 and 1.
void run_logic(kernels::Logic op, RunContext& c);

template <typename Op>
struct Logical {
  void infer(InferContext& c) const {
    infer_binary(c, DType::boolean, [](Dim a, Dim b) -> std::optional<Dim> {
      if (is_symbolic(a) || is_symbolic(b)) return std::nullopt;
      return Dim(Op::apply(a != 0, b != 0));
    });
  }
  template <std::same_as<uint64_t> T>  // the carrier of bool
  void reference(RunContext& c) const {
    const auto a = c.input<T>(0), b = c.input<T>(1);
    const auto y = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ia, size_t ib) { y[i] = Op::apply(a[ia] != 0, b[ib] != 0); });
  }
  void fast(RunContext& c, std::type_identity<bool>) const { run_logic(Op::kernel, c); }
};

}  // namespace retort::ops
