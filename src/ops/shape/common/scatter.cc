#include "ops/shape/common/scatter.h"

#include "ops/elementwise.h"
#include "ops/math/arithmetic.h"

namespace retort::ops {
namespace {

enum class Reduction : uint8_t { add, mul, max, min };

template <Reduction kHow, typename C>
C reduced(C old, C update) {
  if constexpr (kHow == Reduction::add) return wrap_add(old, update);
  if constexpr (kHow == Reduction::mul) return wrap_mul(old, update);
  if constexpr (kHow == Reduction::max) return old != old || old > update ? old : update;
  if constexpr (kHow == Reduction::min) return old != old || old < update ? old : update;
}

/// For rare types: one call per element, but little code.
template <typename C>
[[gnu::noinline]] C reduced_by(Reduction how, C old, C update) {
  using enum Reduction;
  return how == add   ? reduced<add>(old, update)
         : how == mul ? reduced<mul>(old, update)
         : how == max ? reduced<max>(old, update)
                      : reduced<min>(old, update);
}

template <typename T>
void combine_typed(Reduction how, RunContext& c, size_t slice, FunctionRef<void(ScatterBase::Updates)> walk) {
  using enum Reduction;
  using C = Carrier<T>;
  const T* updates = c.input<T>(2).data();
  T* y = c.output<T>().data();
  walk([&](size_t first, const int64_t* offsets, size_t count) {
    const auto each = [&](const auto& reduce) {
      for (size_t n = 0; n < count; ++n) {
        const T* const from = updates + (first + n) * slice;
        T* const to = y + offsets[n];
        for (size_t i = 0; i < slice; ++i) to[i] = T(reduce(C(to[i]), C(from[i])));
      }
    };
    if constexpr (!OneOf<T, float, int32_t, int64_t>) return each([=](C a, C b) { return reduced_by(how, a, b); });
    if (how == add) return each([](C a, C b) { return reduced<add>(a, b); });
    if (how == mul) return each([](C a, C b) { return reduced<mul>(a, b); });
    if (how == max) return each([](C a, C b) { return reduced<max>(a, b); });
    each([](C a, C b) { return reduced<min>(a, b); });
  });
}

template <typename... T>
bool combine_any(Reduction how, RunContext& c, size_t slice, FunctionRef<void(ScatterBase::Updates)> walk) {
  return ((c.dtype(0) == dtype_of<T> && (combine_typed<T>(how, c, slice, walk), true)) || ...);
}

}  // namespace

void ScatterBase::check() const {
  constexpr std::string_view kKnown[] = {"none", "add", "mul", "max", "min"};
  require(std::find(std::begin(kKnown), std::end(kKnown), reduction) != std::end(kKnown), ErrorCode::invalid_argument,
          "reduction '{}' is not one of none, add, mul, max, min", reduction);
}

void ScatterBase::combine(RunContext& c, size_t slice, FunctionRef<void(Updates)> walk) const {
  const Reduction how = reduction == "add"   ? Reduction::add
                        : reduction == "mul" ? Reduction::mul
                        : reduction == "max" ? Reduction::max
                                             : Reduction::min;
  const bool done = combine_any<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                uint32_t, uint64_t, bool>(how, c, slice, walk);
  require(done, ErrorCode::invalid_argument, "elements of type {} do not support reduction '{}'",
          dtype_name(c.dtype(0)), reduction);
}

}  // namespace retort::ops
