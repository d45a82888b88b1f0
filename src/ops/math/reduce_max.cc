// ReduceMax: largest element over axes; NaN if there is one. Without elements, the lowest value of the type.
#include "ops/math/extreme.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceMax : Reduce<ReduceMax> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::max;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    T best = T(lowest_of(values.type, T{}));
    for (size_t i = 0; i < values.size(); ++i) {
      const T v = values[i];
      if (v > best || v != v) best = v;
      if (best != best) break;
    }
    return best;
  }
  static std::optional<Dim> symbolic(DimTable& d, std::span<const Dim> x) {
    if (x.empty()) return std::nullopt;
    Dim best = x[0];
    for (Dim v : x) best = d.max(best, v);
    return best;
  }
};

}  // namespace

extern const OpDef op_reduce_max;
constinit const OpDef op_reduce_max = define<ReduceMax>({
    .name = "ReduceMax",
    .since = {1, 11, 12, 13, 18, 20},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kNumeric | kBool,
    .traits = kReduces,
});

}  // namespace retort::ops
