#include "ops/shape/common/scatter.h"

#include "ops/elementwise.h"
#include "ops/math/arithmetic.h"

namespace retort::ops {
namespace {

enum class Reduction : uint8_t { add, mul, max, min };

template <typename C>
C reduced(Reduction how, C old, C update) {
  switch (how) {
    case Reduction::add:
      return wrap_add(old, update);
    case Reduction::mul:
      return wrap_mul(old, update);
    case Reduction::max:
      return old != old || old > update ? old : update;
    case Reduction::min:
      break;
  }
  return old != old || old < update ? old : update;
}

template <typename T>
void combine_typed(Reduction how, RunContext& c, size_t slice,
                   FunctionRef<void(FunctionRef<void(size_t, int64_t)>)> walk) {
  using C = Carrier<T>;
  const T* updates = c.input<T>(2).data();
  T* y = c.output<T>().data();
  walk([&](size_t n, int64_t offset) {
    for (size_t i = 0; i < slice; ++i) {
      T& element = y[offset + int64_t(i)];
      element = T(reduced(how, C(element), C(updates[n * slice + i])));
    }
  });
}

template <typename... T>
bool combine_any(Reduction how, RunContext& c, size_t slice,
                 FunctionRef<void(FunctionRef<void(size_t, int64_t)>)> walk) {
  return ((c.dtype(0) == dtype_of<T> && (combine_typed<T>(how, c, slice, walk), true)) || ...);
}

}  // namespace

void ScatterBase::check() const {
  constexpr std::string_view kKnown[] = {"none", "add", "mul", "max", "min"};
  require(std::find(std::begin(kKnown), std::end(kKnown), reduction) != std::end(kKnown), ErrorCode::invalid_argument,
          "reduction '{}' is none of none, add, mul, max, min", reduction);
}

void ScatterBase::combine(RunContext& c, size_t slice,
                          FunctionRef<void(FunctionRef<void(size_t, int64_t)>)> walk) const {
  const Reduction how = reduction == "add"   ? Reduction::add
                        : reduction == "mul" ? Reduction::mul
                        : reduction == "max" ? Reduction::max
                                             : Reduction::min;
  const bool done = combine_any<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                uint32_t, uint64_t, bool>(how, c, slice, walk);
  require(done, ErrorCode::invalid_argument, "elements of type {} have no reduction '{}'", dtype_name(c.dtype(0)),
          reduction);
}

}  // namespace retort::ops
