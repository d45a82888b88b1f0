// Complex numbers for operators whose outputs are sums of multiples of input 0: the real parts of the result depend only
// on the real parts of that input, and the imaginary ones on the imaginary ones.
#pragma once
#include "base/function_ref.h"
#include "ops/op.h"

namespace retort::ops {

/// Calls `compute` for the real parts of the numbers of input 0 and output 0, then for the imaginary parts, as tensors
/// of float (complex64) or double (complex128). The other inputs are passed on. Allocates.
void for_each_part(RunContext& c, FunctionRef<void(RunContext& part, bool imaginary)> compute);

namespace detail {

template <typename Op>
constexpr FastTable complex_table() {
  FastTable table = retort::detail::fast_table<Op>();
  const auto kernel = []<typename T>(std::type_identity<T>) -> KernelFn {
    return [](const void* params, RunContext& c) {
      const Op& op = *static_cast<const Op*>(params);
      Op of_imaginary = op;
      if constexpr (requires { of_imaginary.extrapolation_value; }) of_imaginary.extrapolation_value = 0;
      for_each_part(
          c, [&](RunContext& part, bool imaginary) { (imaginary ? of_imaginary : op).template reference<T>(part); });
    };
  };
  table[size_t(DType::complex64)] = kernel(std::type_identity<float>{});
  table[size_t(DType::complex128)] = kernel(std::type_identity<double>{});
  return table;
}
template <typename Op>
inline constexpr FastTable kComplexTable = complex_table<Op>();

}  // namespace detail

/// Gives such an operator kernels for complex numbers, which run its reference for each part. Its only output has the
/// type of input 0. A value outside of the input, attribute extrapolation_value, is a real number.
template <typename Op>
constexpr OpDef with_complex(OpDef def) {
  def.info.types |= types({DType::complex64, DType::complex128});
  def.fast = &detail::kComplexTable<Op>;
  return def;
}

}  // namespace retort::ops
