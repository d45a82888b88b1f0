// Pow: z = x to the power of y, of x's type; y may be of any other numeric type.
#include <cmath>
#include <vector>

#include "kernels/elementwise/cast.h"
#include "ops/math/binary.h"
#include "ops/math/power.h"

namespace retort::ops {
namespace {

struct Pow {
  void infer(InferContext& c) const {
    infer_binary(c, c.dtype(0), [](Dim, Dim) { return std::nullopt; });
  }

  // An exponent that T does not hold is not rounded to T: 2^24 + 1 is odd, and 1e-300 is not 0.
  template <typename T>
  static T compute(const RunContext& c, T x, size_t exponent_index) {
    const DType type = c.dtype(1);
    const char* from = static_cast<const char*>(c.data(1)) + exponent_index * dtype_bits(type) / 8;
    const auto exponent = [&]<typename E>(E y) {
      kernels::cast(from, type, &y, dtype_of<E>, 1, {});
      return y;
    };
    if constexpr (std::floating_point<T>) {
      return holds<T>(type) ? std::pow(x, exponent(T())) : T(std::pow(double(x), exponent(0.0)));
    } else if (is_float(type)) {
      const double z = std::pow(double(x), exponent(0.0));
      T result;
      kernels::cast(&z, DType::f64, &result, dtype_of<T>, 1, {});
      return result;
    } else {
      return type == DType::u64 ? integer_power(x, exponent(uint64_t())) : integer_power(x, exponent(int64_t()));
    }
  }
  template <typename T>
  static bool holds(DType exponent) {
    constexpr TypeSet kShort =
        types({DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::u16, DType::boolean});
    return std::same_as<T, double> || contains(kShort, exponent);
  }

  template <typename T>
  requires(!std::unsigned_integral<T>) void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto z = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ix, size_t iy) { z[i] = compute<T>(c, x[ix], iy); });
  }

  template <OneOf<int32_t, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    if (c.dtype(1) == dtype_of<T>)
      run_binary<T>(kernels::Binary::pow, c);
    else
      compute_mixed<T>(c);
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const auto plan = kernels::BroadcastPlan<2>::make({c.shape(0), c.shape(1)});
    if (c.dtype(1) == DType::f32) return run_binary<float>(kernels::Binary::pow, c);
    if (!plan || !has_float_exponents(c)) return compute_real<float>(c);
    std::vector<float> exponents(c.count(1));
    kernels::cast(c.data(1), c.dtype(1), exponents.data(), DType::f32, exponents.size(), c.parallel());
    kernels::binary(kernels::Binary::pow, c.input<float>(0).data(), exponents.data(), c.output<float>().data(), *plan,
                    c.parallel());
  }
  void fast(RunContext& c, std::type_identity<double>) const { compute_real<double>(c); }

 private:
  static bool has_float_exponents(const RunContext& c) {
    if (holds<float>(c.dtype(1))) return true;
    if (c.count(1) != 1) return false;
    double exponent;
    kernels::cast(c.data(1), c.dtype(1), &exponent, DType::f64, 1, {});
    return double(float(exponent)) == exponent;
  }

  // In double, with exponents that are converted once.
  template <std::floating_point T>
  static void compute_real(RunContext& c) {
    std::vector<double> converted;
    const double* exponents = static_cast<const double*>(c.data(1));
    if (c.dtype(1) != DType::f64) {
      converted.resize(c.count(1));
      kernels::cast(c.data(1), c.dtype(1), converted.data(), DType::f64, converted.size(), c.parallel());
      exponents = converted.data();
    }
    if (c.count(1) == 1 && *exponents == 2) return map_elements<T>(c, [](double x) { return x * x; });
    const T* x = c.input<T>(0).data();
    T* z = c.output<T>().data();
    for_pair_runs(c, [&](const PairRun& r) {
      for (size_t i = 0; i < r.n; ++i)
        z[r.out + i] = T(std::pow(double(x[r.a + i * r.a_step]), exponents[r.b + i * r.b_step]));
    });
  }
  template <std::integral T>
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
