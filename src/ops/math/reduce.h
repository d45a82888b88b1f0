// The family of reductions over a set of axes. An operator is a struct `Op : Reduce<Op>` with
//   template <typename T> static T reduce(const Reduced<T>& values);        T a carrier
//   static std::optional<Dim> symbolic(DimTable&, std::span<const Dim>);    optional: content of a vector reduced whole
//   static constexpr kernels::Reduce kernel = …;                            the kernel for float and some integers
#pragma once
#include <limits>

#include "base/function_ref.h"
#include "kernels/reduce/reduce.h"
#include "ops/elementwise.h"
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {

struct ReduceAttributes {
  int64_t keepdims = 1;  ///< any other number drops the axes
  bool noop_with_empty_axes = false;
  static constexpr std::tuple attributes{attr("keepdims", &ReduceAttributes::keepdims),
                                         attr("noop_with_empty_axes", &ReduceAttributes::noop_with_empty_axes)};

  /// An axis that is given twice is reduced once. A scalar has no axes: those given are without effect, as in ONNX
  /// Runtime.
  AxisSet axes(std::span<const int64_t> given, size_t rank) const;
  /// Sets the shape of output 0, and computes the content of whole vectors by `fold`.
  void infer_reduce(InferContext& c, FunctionRef<std::optional<Dim>(std::span<const Dim>)> fold) const;
};

/// Describes where the elements lie that one output element is computed from.
struct ReduceLayout {
  Shape kept_extents, kept_strides, extents, strides;
  size_t count = 1;  ///< elements per output element

  ReduceLayout(const RunContext& c, const ReduceAttributes& attributes);
  int64_t base(size_t output) const { return locate(output, kept_extents, kept_strides); }
  int64_t offset(size_t i) const { return locate(i, extents, strides); }

 private:
  static int64_t locate(size_t index, const Shape& extents, const Shape& strides);
};

/// The elements of one output element, in row-major order.
template <typename T>
struct Reduced {
  const T* base;
  const ReduceLayout& layout;
  DType type;  ///< of the tensor; T may be its carrier

  size_t size() const { return layout.count; }
  T operator[](size_t i) const { return base[layout.offset(i)]; }
};

/// Runs the kernel on input 0. Returns false if reduced and kept axes alternate too often for it. Defined for
/// float, double, int8_t, uint8_t, int32_t, uint32_t and int64_t.
template <typename T>
bool run_reduce(kernels::Reduce op, const ReduceAttributes& attributes, RunContext& c);

template <typename Op>
struct Reduce : ReduceAttributes {
  void infer(InferContext& c) const {
    infer_reduce(c, [&](std::span<const Dim> x) -> std::optional<Dim> {
      if constexpr (requires { Op::symbolic(c.dims(), x); })
        return Op::symbolic(c.dims(), x);
      else
        return std::nullopt;
    });
  }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }

  template <typename T>
  requires requires(const Reduced<T>& v) { Op::reduce(v); }
  void reference(RunContext& c) const {
    const ReduceLayout layout(c, *this);
    const auto y = c.output<T>();
    const T* x = c.input<T>(0).data();
    for (size_t i = 0; i < y.size(); ++i) y[i] = Op::reduce(Reduced<T>{x + layout.base(i), layout, c.carried_type(0)});
  }

  template <OneOf<float, double, int8_t, uint8_t, int32_t, uint32_t, int64_t> T>
  requires requires(const Reduced<T>& v) { Op::reduce(v); }
  void fast(RunContext& c, std::type_identity<T>) const {
    if (!run_reduce<T>(Op::kernel, *this, c)) reference<T>(c);
  }
};

/// Converts a result computed in double; for integers it is rounded towards zero and limited to the range of `type`,
/// whose carrier T may be, and NaN becomes the lowest value.
template <typename T>
T from_real(double v, DType type) {
  const auto within = [v]<typename Ends>(Ends) {
    if (!(v > double(Ends::min()))) return T(Ends::min());
    return v >= double(Ends::max()) ? T(Ends::max()) : T(v);
  };
  if constexpr (!std::integral<T>) return T(v);
  if (type == DType::i32) return within(std::numeric_limits<int32_t>());
  if (type == DType::u32) return within(std::numeric_limits<uint32_t>());
  return within(std::numeric_limits<T>());
}

/// Sums of floats are computed in double; those of integers wrap around.
template <typename T>
using SumType = std::conditional_t<std::is_floating_point_v<T>, double, T>;

/// Σ f(v)
template <typename T, typename F>
SumType<T> sum_of(const Reduced<T>& values, F&& f) {
  SumType<T> sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::integral<T>)
      sum = T(uint64_t(sum) + uint64_t(f(values[i])));
    else
      sum += f(double(values[i]));
  }
  return sum;
}

}  // namespace retort::ops
