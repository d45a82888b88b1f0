// What generated elementwise kernels call: arithmetic by the rules of ONNX, conversions, and vectors of elements.
// Elements of f16, bf16 and float are float here; integers have their own type, and wrap around.

namespace op {

__device__ inline float infinity() { return bits_to_float(0x7f800000u); }

template <typename T>
struct Real {
  static const bool value = false;
};
template <>
struct Real<float> {
  static const bool value = true;
};
template <>
struct Real<double> {
  static const bool value = true;
};
template <typename T>
__device__ inline bool is_signed() {
  return T(-1) < T(0);
}

// Integers: in u64, where nothing overflows.
template <typename T>
__device__ inline T add(T a, T b) {
  return T(u64(a) + u64(b));
}
template <typename T>
__device__ inline T sub(T a, T b) {
  return T(u64(a) - u64(b));
}
template <typename T>
__device__ inline T mul(T a, T b) {
  return T(u64(a) * u64(b));
}
template <typename T>
__device__ inline T neg(T v) {
  return T(u64(0) - u64(v));
}
/// Rounded towards zero. x / 0 is 0, since a kernel cannot report an error.
template <typename T>
__device__ inline T div(T a, T b) {
  if (b == T(0)) return T(0);
  if (is_signed<T>() && b == T(-1)) return neg(a);
  return T(a / b);
}
template <typename T>
__device__ inline T remainder(T a, T b) {  // the sign of a
  if (b == T(0) || (is_signed<T>() && b == T(-1))) return T(0);
  return T(a % b);
}
template <typename T>
__device__ inline T modulo(T a, T b) {  // the sign of b
  const T rest = remainder(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
}
template <typename T>
__device__ inline T abs(T v) {
  return v < T(0) ? neg(v) : v;
}
template <typename T>
__device__ inline T sign(T v) {
  return T(int(v > T(0)) - int(v < T(0)));
}

__device__ inline float add(float a, float b) { return a + b; }
__device__ inline float sub(float a, float b) { return a - b; }
__device__ inline float mul(float a, float b) { return a * b; }
__device__ inline float div(float a, float b) { return a / b; }
__device__ inline float neg(float v) { return -v; }
__device__ inline float remainder(float a, float b) { return fmodf(a, b); }
__device__ inline double add(double a, double b) { return a + b; }
__device__ inline double sub(double a, double b) { return a - b; }
__device__ inline double mul(double a, double b) { return a * b; }
__device__ inline double div(double a, double b) { return a / b; }
__device__ inline double neg(double v) { return -v; }
__device__ inline double remainder(double a, double b) { return fmod(a, b); }

template <typename F>
__device__ inline F real_modulo(F a, F b) {
  const F rest = remainder(a, b);
  if (b == F(0) || rest != rest) return rest;
  if (rest == F(0)) return b < F(0) ? -F(0) : F(0);
  return (rest < F(0)) != (b < F(0)) ? rest + b : rest;
}
__device__ inline float modulo(float a, float b) { return real_modulo(a, b); }
__device__ inline double modulo(double a, double b) { return real_modulo(a, b); }

/// NaN if one of them is.
template <typename T>
__device__ inline T max_of(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
__device__ inline T min_of(T a, T b) {
  return a < b || a != a ? a : b;
}
/// The bounds of Clip: NaN stays.
template <typename T>
__device__ inline T at_least(T v, T low) {
  return v < low ? low : v;
}
template <typename T>
__device__ inline T at_most(T v, T high) {
  return v > high ? high : v;
}

/// Amounts below zero or beyond the width shift all bits out.
template <typename T>
__device__ inline T shift_left(T v, T by) {
  return by < T(0) || u64(by) >= 8 * sizeof(T) ? T(0) : T(u64(v) << u64(by));
}
template <typename T>
__device__ inline T shift_right(T v, T by) {
  if (by < T(0) || u64(by) >= 8 * sizeof(T)) return v < T(0) ? T(-1) : T(0);
  return T(v >> by);
}

/// Modulo 2^bits of the base; 0 for negative exponents, unless |base| is 1.
template <typename T>
__device__ inline T whole_power(T base, i64 exponent) {
  if (exponent < 0) {
    if (is_signed<T>() && base == T(-1)) return exponent % 2 ? T(-1) : T(1);
    return T(base == T(1));
  }
  T result = T(1);
  for (u64 e = u64(exponent); e; e >>= 1, base = mul(base, base))
    if (e & 1) result = mul(result, base);
  return result;
}

// Floats to integers: the fraction is dropped. A number out of range and NaN have the result of x86, so that it is the
// same as on the CPU: the smallest int, of which narrow types have the low bits, or the smallest i64. Unsigned integers
// of 32 and 64 bits have the upper half of their range besides.
template <typename F>
__device__ inline int to_int(F v) {
  return v > F(-2147483649.0) && v < F(2147483648.0) ? int(v) : int(0x80000000u);
}
template <typename F>
__device__ inline i64 to_i64(F v) {
  return v >= F(-9223372036854775808.0) && v < F(9223372036854775808.0) ? i64(v) : i64(0x8000000000000000ull);
}
template <typename F>
__device__ inline u32 to_u32(F v) {
  const F half = F(2147483648.0);
  return v < half || v != v ? u32(to_int(v)) : u32(to_int(v - half)) ^ 0x80000000u;
}
template <typename F>
__device__ inline u64 to_u64(F v) {
  const F half = F(9223372036854775808.0);
  return v < half || v != v ? u64(to_i64(v)) : u64(to_i64(v - half)) ^ 0x8000000000000000ull;
}

template <typename T, bool from_real>
struct FromNumber {  // integers
  template <typename V>
  __device__ static T of(V v) {
    return T(v);
  }
};
template <typename T>
struct FromNumber<T, true> {
  template <typename V>
  __device__ static T of(V v) {
    return T(to_int(v));
  }
};
template <>
struct FromNumber<u32, true> {
  template <typename V>
  __device__ static u32 of(V v) {
    return to_u32(v);
  }
};
template <>
struct FromNumber<i64, true> {
  template <typename V>
  __device__ static i64 of(V v) {
    return to_i64(v);
  }
};
template <>
struct FromNumber<u64, true> {
  template <typename V>
  __device__ static u64 of(V v) {
    return to_u64(v);
  }
};

/// A number as an element of type T has it, in the type in which T is computed.
template <typename T>
struct To {
  template <typename V>
  __device__ static T of(V v) {
    return FromNumber<T, Real<V>::value>::of(v);
  }
};
template <>
struct To<float> {
  template <typename V>
  __device__ static float of(V v) {
    return float(v);
  }
};
template <>
struct To<double> {
  template <typename V>
  __device__ static double of(V v) {
    return double(v);
  }
};
template <>
struct To<bool> {
  template <typename V>
  __device__ static bool of(V v) {
    return v != V(0);
  }
};
template <>
struct To<f16> {
  template <typename V>
  __device__ static float of(V v) {
    return to_float(to_f16(float(v)));
  }
};
template <>
struct To<bf16> {
  template <typename V>
  __device__ static float of(V v) {
    return to_float(to_bf16(float(v)));
  }
};

/// The base's type computes, except that wide exponents need double.
template <typename T, typename E>
struct Power {  // integers
  __device__ static T of(T x, E y) { return whole_power(x, i64(y)); }
};
template <typename T>
struct Power<T, float> {
  __device__ static T of(T x, float y) { return To<T>::of(pow(double(x), double(y))); }
};
template <typename T>
struct Power<T, double> {
  __device__ static T of(T x, double y) { return To<T>::of(pow(double(x), y)); }
};
template <typename E>
struct Power<float, E> {
  __device__ static float of(float x, E y) {
    return sizeof(E) < 4 ? powf(x, float(y)) : float(pow(double(x), double(y)));
  }
};
template <typename E>
struct Power<double, E> {
  __device__ static double of(double x, E y) { return pow(x, double(y)); }
};
template <>
struct Power<float, float> {
  __device__ static float of(float x, float y) { return powf(x, y); }
};
template <>
struct Power<float, double> {
  __device__ static float of(float x, double y) { return float(pow(double(x), y)); }
};
template <>
struct Power<double, float> {
  __device__ static double of(double x, float y) { return pow(x, double(y)); }
};
template <>
struct Power<double, double> {
  __device__ static double of(double x, double y) { return pow(x, y); }
};
template <typename T, typename E>
__device__ inline T power(T x, E y) {
  return Power<T, E>::of(x, y);
}

template <typename T>
struct Codes;
template <>
struct Codes<u8> {
  static const int low = 0, high = 255;
};
template <>
struct Codes<i8> {
  static const int low = -128, high = 127;
};
template <>
struct Codes<u16> {
  static const int low = 0, high = 65535;
};
template <>
struct Codes<i16> {
  static const int low = -32768, high = 32767;
};
/// The code of a quotient x / scale. NaN is the lowest code.
template <typename T>
__device__ inline T quantize(float quotient, T zero) {
  const float code = rintf(quotient) + float(zero);
  return T(code >= float(Codes<T>::high) ? Codes<T>::high : code > float(Codes<T>::low) ? int(code) : Codes<T>::low);
}
template <typename T>
__device__ inline float dequantize(T code, T zero, float scale) {
  return float(int(u32(code) - u32(zero))) * scale;
}

}  // namespace op

template <int bytes>
struct __align__(bytes) Words {
  u32 word[bytes / 4];
};
/// n elements, n * sizeof(T) a multiple of 4. Whole vectors take accesses of up to 16 bytes if `aligned`.
template <typename T, int n>
union Vector {
  static const int size = n * int(sizeof(T)), access = size > 16 ? 16 : size;
  Words<access> words[size / access];
  T element[n];
};

/// Elements [0, min(n, left)) from `from`.
template <int n, typename T>
__device__ inline void fetch(Vector<T, n>& to, const T* __restrict__ from, i64 left, bool aligned) {
  typedef Vector<T, n> V;
  if (aligned && left >= n) {
#pragma unroll
    for (int k = 0; k < V::size / V::access; ++k) to.words[k] = reinterpret_cast<const Words<V::access>*>(from)[k];
    return;
  }
#pragma unroll
  for (int k = 0; k < n; ++k)
    if (k < left) to.element[k] = from[k];
}
template <int n, typename T>
__device__ inline void put(const Vector<T, n>& from, T* __restrict__ to, i64 left, bool aligned) {
  typedef Vector<T, n> V;
  if (aligned && left >= n) {
#pragma unroll
    for (int k = 0; k < V::size / V::access; ++k) reinterpret_cast<Words<V::access>*>(to)[k] = from.words[k];
    return;
  }
#pragma unroll
  for (int k = 0; k < n; ++k)
    if (k < left) to[k] = from.element[k];
}
/// Whether whole vectors of n elements that begin at `address` can be accessed.
template <int n, typename T>
__device__ inline bool fits(const T* address) {
  return reinterpret_cast<u64>(address) % Vector<T, n>::access == 0;
}

/// The axes of a loop with broadcast operands, outermost first. A quotient by `extent` is n * magic >> shift for
/// n < 2^31.
struct Axes {
  u32 extent[8], magic[8], shift[8];
};
struct Strides {
  i64 at[8];
};
__device__ inline u32 quotient(u32 n, const Axes& axes, int axis) {
  return u32(u64(n) * axes.magic[axis] >> axes.shift[axis]);
}
__device__ inline i64 quotient(i64 n, const Axes& axes, int axis) { return n / axes.extent[axis]; }
