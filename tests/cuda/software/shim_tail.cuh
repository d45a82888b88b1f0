// Behind every kernel: the functions that prelude.cuh and tensor_cores.cuh declare, and what calls a kernel.
#ifdef SOFTWARE_PRELUDE
inline float to_float(f16 v) { return software_from_f16(v.bits); }
inline f16 to_f16(float v) {
  f16 r;
  r.bits = software_to_f16(v);
  return r;
}
inline float bits_to_float(unsigned v) { return __uint_as_float(v); }
inline unsigned float_to_bits(float v) { return __float_as_uint(v); }
#endif
inline void mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  software_runtime->multiply(0, d, a, b);
}
inline void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  software_runtime->multiply(1, d, a, b);
}
inline void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  software_runtime->multiply(2, d, a, b);
}
inline void ldmatrix_x4(unsigned (&r)[4], const void* shared) { software_runtime->load_matrices(r, shared, 0); }
inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* shared) { software_runtime->load_matrices(r, shared, 1); }
inline void copy16_async(void* shared, const void* global, int bytes) {
  software_runtime->copy_async(shared, global, bytes);
}
inline void copy16_async(void* shared, const void* global) { software_runtime->copy_async(shared, global, 16); }
inline void copy_async_commit() { software_runtime->commit_copies(); }

template <typename T>
struct SoftwareKind {
  static const int kind = __is_class(T) || __is_union(T) ? 2 : 0;
};
template <typename T>
struct SoftwareKind<T*> {
  static const int kind = 1;
};
template <>
struct SoftwareKind<unsigned long long> {
  static const int kind = 1;
};
template <typename T>
struct SoftwareBare {
  using type = T;
};
template <typename T>
struct SoftwareBare<const T> {
  using type = T;
};
template <int... i>
struct SoftwareNumbers {};
template <typename F>
struct SoftwareCaller;
template <typename... P>
struct SoftwareCaller<void(P...)> {
  static const SoftwareParameter parameters[sizeof...(P) + 1];
  static const int count = sizeof...(P);
  template <void (*f)(P...), int... i>
  static void spread(void* const* a, SoftwareNumbers<i...>) {
    f(*(typename SoftwareBare<P>::type*)a[i]...);
  }
  template <void (*f)(P...)>
  static void call(void* const* a) {
    spread<f>(a, SoftwareNumbers<__integer_pack(int(sizeof...(P)))...>());
  }
};
template <typename... P>
const SoftwareParameter SoftwareCaller<void(P...)>::parameters[sizeof...(P) + 1] = {
    {sizeof(P), SoftwareKind<typename SoftwareBare<P>::type>::kind}..., {0, 0}};
#define SOFTWARE_KERNEL(name, threads)                                                                  \
  extern "C" __attribute__((visibility("default"))) const SoftwareKernel software_kernel_##name; \
  const SoftwareKernel software_kernel_##name = {                                                       \
      SoftwareCaller<decltype(name)>::call<&name>, SoftwareCaller<decltype(name)>::parameters,          \
      SoftwareCaller<decltype(name)>::count, int(threads)};
