// Range: start, start + delta, … before limit. Elements are start + i * delta, computed in float for 16-bit floats.
#include <cmath>

#include "kernels/move/sequence.h"
#include "ops/elementwise.h"
#include "ops/integers.h"
#include "ops/math/arithmetic.h"

namespace retort::ops {
namespace {

struct Range {
  int64_t stash_type = 1;
  static constexpr std::tuple attributes{attr("stash_type", &Range::stash_type)};

  // Rounds up and is never negative. The difference of two integers is computed without overflow.
  template <typename T>
  static int64_t length(T start, T limit, T delta) {
    require(delta != 0, ErrorCode::invalid_argument, "delta is 0");
    if constexpr (std::integral<T>) {
      if (delta > 0 ? start >= limit : start <= limit) return 0;
      const uint64_t distance = delta > 0 ? uint64_t(limit) - uint64_t(start) : uint64_t(start) - uint64_t(limit);
      const uint64_t step = delta > 0 ? uint64_t(delta) : 0 - uint64_t(delta);
      return int64_t((distance - 1) / step) + 1;
    } else {
      const double n = std::ceil((double(limit) - double(start)) / double(delta));
      require(n < 0x1p60, ErrorCode::invalid_argument, "{} elements from {} to {} by {}", n, start, limit, delta);
      return n > 0 ? int64_t(n) : 0;
    }
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    for (size_t i : {0, 1, 2}) {
      if (c.ranked(i) && !(c.rank(i) == 0 || (c.rank(i) == 1 && (is_symbolic(c.shape(i)[0]) || c.shape(i)[0] == 1))))
        fail(ErrorCode::invalid_argument, "input {} has shape {}, expected a scalar", i, c.dims().text(c.shape(i)));
    }
    if (!c.try_value(0) || !c.try_value(1) || !c.try_value(2)) return c.set(0, c.dtype(0), Shape{length_in_memory(c)});
    const Dim start = scalar_value(c, 0), limit = scalar_value(c, 1), delta = scalar_value(c, 2);
    DimTable& d = c.dims();
    if (is_symbolic(start) || is_symbolic(limit) || is_symbolic(delta)) {
      const Dim distance = d.sub(limit, start);
      const bool ones = delta == 1;
      c.set(0, c.dtype(0), Shape{!ones ? c.unknown_extent() : d.nonnegative(distance) ? distance : d.max(distance, 0)});
      return;
    }
    const int64_t n = length(start, limit, delta);
    c.set(0, c.dtype(0), Shape{n});
    const auto room = c.new_value(0, size_t(n));
    for (size_t i = 0; room && i < size_t(n); ++i) (*room)[i] = wrap_add(start, wrap_mul(int64_t(i), delta));
  }

  template <typename T>
  void fast(RunContext& c, std::type_identity<T>)
      const requires OneOf<T, float, double, float16, bfloat16, int16_t, int32_t, int64_t> {
    using C = Carrier<T>;
    const C start = C(c.input<T>(0)[0]), delta = C(c.input<T>(2)[0]);
    if constexpr (OneOf<T, float, double, int16_t, int32_t, int64_t>)
      return kernels::range(T(start), T(delta), c.output<T>());
    T* y = c.output<T>().data();
    for (size_t i = 0; i < c.out_count(); ++i) y[i] = T(wrap_add(start, wrap_mul(C(int64_t(i)), delta)));
  }

 private:
  // Computes the length from the numbers in memory, for types whose content is not propagated.
  template <typename T>
  static int64_t length_in_memory(const InferContext& c) {
    const auto read = [&](size_t i) { return Carrier<T>(*static_cast<const T*>(c.data(i))); };
    return length(read(0), read(1), read(2));
  }
  static int64_t length_in_memory(const InferContext& c) {
    for (size_t i : {0, 1, 2}) {
      if (!c.data(i)) return c.unknown_extent();
    }
    switch (c.dtype(0)) {
      case DType::f32:
        return length_in_memory<float>(c);
      case DType::f64:
        return length_in_memory<double>(c);
      case DType::f16:
        return length_in_memory<float16>(c);
      case DType::bf16:
        return length_in_memory<bfloat16>(c);
      case DType::i16:
        return length_in_memory<int16_t>(c);
      default:
        return c.unknown_extent();
    }
  }
};

}  // namespace

extern const OpDef op_range;
constinit const OpDef op_range = define<Range>({
    .name = "Range",
    .since = {11, 27},
    .inputs = {"start: T", "limit: T", "delta: T"},
    .outputs = {"output: T"},
    .types = types({DType::f32, DType::f64, DType::f16, DType::bf16, DType::i16, DType::i32, DType::i64}),
});

}  // namespace retort::ops
