// Pow: z = x to the power of y, of x's type; y may be of any other numeric type.
#include "kernels/elementwise/cast.h"
#include "ops/math/binary.h"
#include "ops/math/power.h"

namespace retort::ops {
namespace {

struct Pow {
  void infer(InferContext& c) const {
    infer_binary(c, c.dtype(0), [](Dim, Dim) { return std::nullopt; });
  }

  // The exponent as type T, or as double where T is an integer and the exponent is not.
  template <typename T>
  static T compute(const RunContext& c, T x, size_t exponent_index) {
    const char* exponent = static_cast<const char*>(c.data(1)) + exponent_index * dtype_bits(c.dtype(1)) / 8;
    if constexpr (std::integral<T>) {
      if (is_float(c.dtype(1))) {
        double y;
        kernels::cast(exponent, c.dtype(1), &y, DType::f64, 1, {});
        const double z = std::pow(double(x), y);
        T result;
        kernels::cast(&z, DType::f64, &result, dtype_of<T>, 1, {});
        return result;
      }
    }
    T y;
    kernels::cast(exponent, c.dtype(1), &y, dtype_of<T>, 1, {});
    return power(x, y);
  }

  template <typename T>
  requires(!std::unsigned_integral<T>) void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto z = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ix, size_t iy) { z[i] = compute<T>(c, x[ix], iy); });
  }

  template <OneOf<float, int32_t, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    if (c.dtype(1) == dtype_of<T>)
      run_binary<T>(kernels::Binary::pow, c);
    else
      compute_mixed<T>(c);
  }
  template <OneOf<double, float16, bfloat16> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    compute_mixed<T>(c);
  }

 private:
  template <typename T>
  static void compute_mixed(RunContext& c) {
    const T* x = c.input<T>(0).data();
    T* z = c.output<T>().data();
    for_pair_runs(c, [&](const PairRun& r) {
      for (size_t i = 0; i < r.n; ++i)
        z[r.out + i] = T(compute(c, Carrier<T>(x[r.a + i * r.a_step]), r.b + i * r.b_step));
    });
  }
};

}  // namespace

extern const OpDef op_pow;
constinit const OpDef op_pow = define<Pow>({
    .name = "Pow",
    .since = {1, 7, 12, 13, 15},
    .inputs = {"X: T", "Y: T1"},
    .outputs = {"Z: T"},
    .types = kFloats | types({DType::i32, DType::i64}),
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
