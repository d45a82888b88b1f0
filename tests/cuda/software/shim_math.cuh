// The functions for numbers that kernels have without headers.
extern "C" {
#define M1(n)                 \
  float n##f(float) noexcept; \
  double n(double) noexcept;
#define M2(n)                        \
  float n##f(float, float) noexcept; \
  double n(double, double) noexcept;
M1(exp) M1(exp2) M1(exp10) M1(expm1) M1(log) M1(log2) M1(log10) M1(log1p) M1(sqrt) M1(cbrt) M1(sin) M1(cos) M1(tan)
M1(asin) M1(acos) M1(atan) M1(sinh) M1(cosh) M1(tanh) M1(asinh) M1(acosh) M1(atanh) M1(erf) M1(erfc) M1(tgamma)
M1(lgamma) M1(floor) M1(ceil) M1(trunc) M1(round) M1(rint) M1(nearbyint) M1(fabs) M1(logb)
M2(pow) M2(atan2) M2(fmod) M2(remainder) M2(hypot) M2(fdim) M2(copysign) M2(fmax) M2(fmin) M2(nextafter)
#undef M1
#undef M2
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
float ldexpf(float, int) noexcept;
double ldexp(double, int) noexcept;
float frexpf(float, int*) noexcept;
double frexp(double, int*) noexcept;
float modff(float, float*) noexcept;
double modf(double, double*) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
void* memcpy(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
}
#define M1(n) \
  inline float n(float x) { return n##f(x); }
#define M2(n) \
  inline float n(float x, float y) { return n##f(x, y); }
M1(exp) M1(exp2) M1(expm1) M1(log) M1(log2) M1(log10) M1(log1p) M1(sqrt) M1(cbrt) M1(sin) M1(cos) M1(tan) M1(asin)
M1(acos) M1(atan) M1(sinh) M1(cosh) M1(tanh) M1(asinh) M1(acosh) M1(atanh) M1(erf) M1(erfc) M1(floor) M1(ceil)
M1(trunc) M1(round) M1(rint) M1(nearbyint) M1(fabs)
M2(pow) M2(atan2) M2(fmod) M2(remainder) M2(hypot) M2(copysign) M2(fmax) M2(fmin)
#undef M1
#undef M2
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float ldexp(float x, int e) { return ldexpf(x, e); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return 1.0f / sqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float normcdff(float x) { return 0.5f * erfcf(x * -0.70710678f); }
inline double normcdf(double x) { return 0.5 * erfc(x * -0.70710678118654752); }
inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
inline float sinpif(float x) { return sinf(x * 3.14159265358979f); }
inline float cospif(float x) { return cosf(x * 3.14159265358979f); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline bool isnan(float x) { return x != x; }
inline bool isnan(double x) { return x != x; }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }
inline long long llrintf(float x) { return __builtin_llrintf(x); }
inline long long llrint(double x) { return __builtin_llrint(x); }
inline int ilogbf(float x) { return __builtin_ilogbf(x); }

#define M(name, f) \
  inline float name(float x) { return f(x); }
M(__expf, expf) M(__exp10f, exp10f) M(__logf, logf) M(__log2f, log2f) M(__log10f, log10f) M(__sinf, sinf)
M(__cosf, cosf) M(__tanf, tanf) M(__tanhf, tanhf) M(__fsqrt_rn, sqrtf) M(__frsqrt_rn, rsqrtf)
#undef M
inline float __powf(float x, float y) { return powf(x, y); }
inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
#define M(T, p)                                             \
  inline T __##p##add_rn(T a, T b) { return a + b; }        \
  inline T __##p##sub_rn(T a, T b) { return a - b; }        \
  inline T __##p##mul_rn(T a, T b) { return a * b; }        \
  inline T __##p##div_rn(T a, T b) { return a / b; }
M(float, f) M(double, d)
#undef M
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// Conversions to integers saturate on a device, and NaN becomes 0.
template <typename I, typename F>
inline I software_convert(F x, double low, double high, I least, I most) {
  return x != x ? I(0) : double(x) <= low ? least : double(x) >= high ? most : I(x);
}
#define M(name, I, F, how, low, high, least, most) \
  inline I name(F x) { return software_convert<I, F>(how(x), low, high, least, most); }
#define SOFTWARE_IMAX 0x7fffffff
#define SOFTWARE_LMAX 0x7fffffffffffffffll
#define SOFTWARE_TO_INT(suffix, f, d)                                                                             \
  M(__float2int_##suffix, int, float, f, -0x1p31, 0x1p31, -SOFTWARE_IMAX - 1, SOFTWARE_IMAX)                      \
  M(__float2uint_##suffix, unsigned, float, f, 0, 0x1p32, 0u, 0xffffffffu)                                        \
  M(__float2ll_##suffix, long long, float, f, -0x1p63, 0x1p63, -SOFTWARE_LMAX - 1, SOFTWARE_LMAX)                 \
  M(__float2ull_##suffix, unsigned long long, float, f, 0, 0x1p64, 0ull, ~0ull)                                   \
  M(__double2int_##suffix, int, double, d, -0x1p31, 0x1p31, -SOFTWARE_IMAX - 1, SOFTWARE_IMAX)                    \
  M(__double2uint_##suffix, unsigned, double, d, 0, 0x1p32, 0u, 0xffffffffu)                                      \
  M(__double2ll_##suffix, long long, double, d, -0x1p63, 0x1p63, -SOFTWARE_LMAX - 1, SOFTWARE_LMAX)               \
  M(__double2ull_##suffix, unsigned long long, double, d, 0, 0x1p64, 0ull, ~0ull)
SOFTWARE_TO_INT(rn, rintf, rint)
SOFTWARE_TO_INT(rz, truncf, trunc)
SOFTWARE_TO_INT(rd, floorf, floor)
SOFTWARE_TO_INT(ru, ceilf, ceil)
#undef M
#define M(name, T, F) \
  inline F name(T x) { return F(x); }
M(__int2float_rn, int, float) M(__uint2float_rn, unsigned, float) M(__ll2float_rn, long long, float)
M(__ull2float_rn, unsigned long long, float) M(__int2double_rn, int, double) M(__uint2double_rn, unsigned, double)
M(__ll2double_rn, long long, double) M(__ull2double_rn, unsigned long long, double) M(__double2float_rn, double, float)
#undef M

template <typename To, typename From>
inline To software_bits(From v) {
  To r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}
inline float __uint_as_float(unsigned v) { return software_bits<float>(v); }
inline float __int_as_float(int v) { return software_bits<float>(v); }
inline unsigned __float_as_uint(float v) { return software_bits<unsigned>(v); }
inline int __float_as_int(float v) { return software_bits<int>(v); }
inline double __longlong_as_double(long long v) { return software_bits<double>(v); }
inline long long __double_as_longlong(double v) { return software_bits<long long>(v); }
inline int __double2hiint(double v) { return int(software_bits<unsigned long long>(v) >> 32); }
inline int __double2loint(double v) { return int(software_bits<unsigned long long>(v)); }
inline double __hiloint2double(int h, int l) {
  return software_bits<double>((unsigned long long)unsigned(h) << 32 | unsigned(l));
}

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(unsigned(v)) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1u) << (31 - i);
  return r;
}
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return unsigned(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return unsigned(((unsigned long long)high << 32 | low) >> (n & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = s >> (4 * i) & 15;
    unsigned byte = unsigned(both >> (8 * (pick & 7))) & 255u;
    if (pick & 8) byte = byte & 128 ? 255u : 0u;
    r |= byte << (8 * i);
  }
  return r;
}
template <typename A, typename B, typename R>
inline R software_dot(unsigned a, unsigned b, R c) {
  for (int i = 0; i < 4; ++i) c += R(A(a >> (8 * i))) * R(B(b >> (8 * i)));
  return c;
}
inline int __dp4a(int a, int b, int c) { return software_dot<signed char, signed char>(unsigned(a), unsigned(b), c); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return software_dot<unsigned char, unsigned char>(a, b, c); }

#define M(T)                                           \
  inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  inline constexpr T max(T a, T b) { return a < b ? b : a; }
M(int) M(unsigned) M(long) M(unsigned long) M(long long) M(unsigned long long)
#undef M
#define M(A, B, T)                                                        \
  inline constexpr T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }  \
  inline constexpr T max(A a, B b) { return (T)a < (T)b ? (T)b : (T)a; }
M(int, unsigned, unsigned) M(unsigned, int, unsigned) M(long, unsigned long, unsigned long)
M(unsigned long, long, unsigned long) M(long long, unsigned long long, unsigned long long)
M(unsigned long long, long long, unsigned long long)
#undef M
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }

struct f16;
float to_float(f16 v);
f16 to_f16(float v);
inline float software_from_f16(unsigned h) {
  const unsigned sign = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 0) {
    const float v = float(m) * 0x1p-24f;
    return sign ? -v : v;
  }
  return __uint_as_float(sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13);
}
inline unsigned short software_to_f16(float f) {
  const unsigned b = __float_as_uint(f), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
  if (a > 0x7f800000u) return (unsigned short)(sign | 0x7fffu);
  if (a >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (a < 0x38800000u) return (unsigned short)(sign | unsigned(__builtin_rintf(__uint_as_float(a) * 0x1p24f)));
  return (unsigned short)(sign | ((a - 0x38000000u + 0xfffu + (a >> 13 & 1)) >> 13));
}
