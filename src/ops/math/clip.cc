// Clip: min(max(x, low), high) with scalar bounds; NaN stays NaN, and if low is above high, high wins. A bound that is
// not given is the lowest or highest finite number of the type, so infinities become these.
#include <algorithm>
#include <bit>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Clip : UnaryElementwise {
  template <typename T>
  struct Bounds {
    T low, high;
    T operator()(T x) const {
      if (x < low) x = low;
      return x > high ? high : x;
    }
  };
  // The highest number of the type of the tensors, which C computes.
  template <typename C>
  static C highest(DType type) {
    if constexpr (std::is_same_v<C, float>) {
      if (type == DType::f16) return 65504.0f;
      if (type == DType::bf16) return std::bit_cast<float>(0x7f7f0000u);
    }
    return std::numeric_limits<C>::max();
  }
  template <typename C>
  static C lowest(DType type) {
    return std::is_floating_point_v<C> ? C(-highest<C>(type)) : std::numeric_limits<C>::lowest();
  }
  // C is the type that computes, T that of the tensors.
  template <typename C, typename T = C>
  static Bounds<C> bounds(const RunContext& c) {
    for (size_t i : {1, 2})
      require(!c.has(i) || c.count(i) == 1, ErrorCode::invalid_argument, "bound {} has {} elements, expected 1", i,
              c.count(i));
    return {c.has(1) ? C(c.input<T>(1)[0]) : lowest<C>(c.carried_type(0)),
            c.has(2) ? C(c.input<T>(2)[0]) : highest<C>(c.carried_type(0))};
  }

  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const Bounds<T> clip = bounds<T>(c);
    for (size_t i = 0; i < x.size(); ++i) y[i] = clip(x[i]);
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const Bounds<float> b = bounds<float>(c);
    kernels::activate({kernels::Activation::Kind::clip, b.low, b.high}, c.input<float>(0), c.output<float>(),
                      c.parallel());
  }
  // The pass widen_half leaves these alone: after it, a bound that is absent would be that of float32.
  template <OneOf<float16, bfloat16> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const Bounds<float> b = bounds<float, T>(c);
    const T* x = c.input<T>(0).data();
    T* y = c.output<T>().data();
    for_output_chunks(c, [&](size_t begin, size_t end) {
      in_float_parts(x, begin, end, [&](std::span<float> part, size_t i) {
        kernels::activate({kernels::Activation::Kind::clip, b.low, b.high}, part, part, {});
        kernels::cast(part.data(), DType::f32, y + i, dtype_of<T>, part.size(), {});
      });
    });
  }
  template <Wide T>
  requires(!std::same_as<T, float>) void fast(RunContext& c, std::type_identity<T>) const {
    map_elements<T>(c, bounds<T>(c));
  }
};

}  // namespace

extern const OpDef op_clip;
constinit const OpDef op_clip = define<Clip>({
    .name = "Clip",
    .since = {1, 6, 11, 12, 13},
    .inputs = {"input: T", "min: T?", "max: T?"},
    .outputs = {"output: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
