// Measures the speed of matrix multiplication beside the arithmetic peak of the processor, in the same run.
//
//   gemm_bench [threads] [seconds] [m k n [cold]]; RETORT_ISA=v2|avx2|avx512 chooses the instruction level. Cold
// shapes,
// and a shape that is given, are also measured with 16-bit B.
//
// All shapes are measured in turn, many times, and the fastest time of each counts, as the machine may be shared.
// "cold" products use another matrix B each time, from a set that is larger than every cache.
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "base/cpu.h"
#include "base/isa_choice.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"

namespace {

using namespace retort;
using namespace retort::kernels;

bool g_alone = true;  // one thread: its processor time excludes other work on the machine

double now() {
  timespec t;
  clock_gettime(g_alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

constexpr int kPeakSteps = 20000, kChains = 12;

#if defined(__x86_64__)
#define RETORT_VECTOR(v) "+x"(v)
#else
#define RETORT_VECTOR(v) "+w"(v)
#endif
#define RETORT_PEAK(name, features, Vector, set, step)                        \
  __attribute__((target(features))) double name() {                           \
    Vector chains[kChains];                                                   \
    for (Vector & c : chains) {                                               \
      c = set(0.0f);                                                          \
      asm volatile("" : RETORT_VECTOR(c));                                    \
    }                                                                         \
    Vector x = set(1.0f);                                                     \
    asm volatile("" : RETORT_VECTOR(x));                                      \
    const double start = now();                                               \
    for (int i = 0; i < kPeakSteps; ++i) {                                    \
      _Pragma("GCC unroll 16") for (Vector & c : chains) c = step(x, c);      \
    }                                                                         \
    for (Vector & c : chains) asm volatile("" : RETORT_VECTOR(c));            \
    return 2.0 * kPeakSteps * kChains * sizeof(Vector) / 4 / (now() - start); \
  }
#if defined(__x86_64__)
#define RETORT_FMA512(x, c) _mm512_fmadd_ps(x, x, c)
#define RETORT_FMA256(x, c) _mm256_fmadd_ps(x, x, c)
#define RETORT_MULADD128(x, c) _mm_add_ps(_mm_mul_ps(c, x), x)
RETORT_PEAK(peak_avx512, "avx512f", __m512, _mm512_set1_ps, RETORT_FMA512)
RETORT_PEAK(peak_avx2, "avx2,fma", __m256, _mm256_set1_ps, RETORT_FMA256)
RETORT_PEAK(peak_v2, "sse4.1", __m128, _mm_set1_ps, RETORT_MULADD128)
#else
#define RETORT_FMA(x, c) vfmaq_f32(c, x, x)
RETORT_PEAK(peak_neon, "+simd", float32x4_t, vdupq_n_f32, RETORT_FMA)
#endif

/// A low quantile of the times: fast, but not the luckiest.
double fast(std::vector<double>& times) {
  const auto at = times.begin() + ptrdiff_t(times.size() / 20);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

/// Operations per second of one core.
double peak() {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::avx512:
      return peak_avx512();
    case Isa::avx2:
      return peak_avx2();
    case Isa::v2:
      break;
  }
  return peak_v2();
#else
  return peak_neon();
#endif
}

/// Floats in 2 MiB pages, like the weights of a session.
class Floats {
 public:
  explicit Floats(size_t n) {
    constexpr size_t kPage = 2 << 20;
    const size_t bytes = (n * sizeof(float) + kPage) / kPage * kPage;
    data_.reset(static_cast<float*>(std::aligned_alloc(kPage, bytes)));
    if (!data_) std::abort();
    madvise(data_.get(), bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / sizeof(float); ++i) data_.get()[i] = 1e-3f * float(i % 7);
  }
  float* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
};

/// Bytes per second that one core reads from memory.
double read_bandwidth(const Floats& data, size_t n) {
  using Four [[gnu::vector_size(16), gnu::may_alias]] = float;
  const auto* p = reinterpret_cast<const Four*>(data.get());
  Four sums[8] = {};
  const double start = now();
  for (size_t i = 0; i < n / 4; i += 32) {
    __builtin_prefetch(p + i + 1024), __builtin_prefetch(p + i + 1028);
    __builtin_prefetch(p + i + 1032), __builtin_prefetch(p + i + 1036);
    __builtin_prefetch(p + i + 1040), __builtin_prefetch(p + i + 1044);
    __builtin_prefetch(p + i + 1048), __builtin_prefetch(p + i + 1052);
    for (size_t j = 0; j < 32; ++j) sums[j % 8] += p[i + j];
  }
  for (Four& s : sums) asm volatile("" : RETORT_VECTOR(s));
  return double(n) * sizeof(float) / (now() - start);
}

struct Shape {
  size_t m, k, n;
  bool cold = false;
  PackedType type = PackedType::f32;
};

const char* name_of(PackedType type) {
  return type == PackedType::f32 ? "f32" : type == PackedType::bf16 ? "bf16" : "f16";
}

class Product {
 public:
  explicit Product(const Shape& s)
      : shape(s),
        packed_floats_(gemm_packed_bytes(s.k, s.n, s.type) / sizeof(float)),
        weights_(copies()),
        b_(packed_floats_ * weights_),
        a_(s.m * s.k),
        c_(s.m * s.n) {}

  /// Times single products (or several small ones) for about a millisecond.
  void measure(const Parallel& par) {
    constexpr double kTurn = 1e-3, kShortest = 50e-6;
    const double flops = 2.0 * double(shape.m) * double(shape.n) * double(shape.k);
    const size_t together = weights_ > 1 ? 1 : size_t(kShortest * 1e11 / flops) + 1;
    if (weights_ == 1) multiply(par);  // the other shapes have emptied the caches
    double end = now();
    for (const double turn_end = end + kTurn; end < turn_end;) {
      const double start = end;
      for (size_t i = 0; i < together; ++i) multiply(par);
      end = now();
      times_.push_back((end - start) / double(together));
    }
  }

  double seconds() { return fast(times_); }

  Shape shape;

 private:
  void multiply(const Parallel& par) {
    GemmArgs g;
    g.m = shape.m, g.n = shape.n, g.k = shape.k;
    g.a = a_.get(), g.a_stride = shape.k;
    g.packed_b = {b_.get() + next_++ % weights_ * packed_floats_, shape.type};
    g.c = c_.get(), g.c_stride = shape.n;
    gemm(g, par);
  }

  size_t copies() const {
    constexpr size_t kColdBytes = 160 << 20;  // several times a large last-level cache
    return shape.cold ? std::max<size_t>(kColdBytes / (packed_floats_ * sizeof(float)), 24) : 1;
  }

  size_t packed_floats_, weights_;
  Floats b_, a_, c_;
  size_t next_ = 0;
  std::vector<double> times_;
};

}  // namespace

int main(int argc, char** argv) try {
  retort::require_chosen_isa();
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  g_alone = threads == 1;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 20;
  std::vector<Shape> shapes = {
      {64, 64, 64},         {128, 768, 768},      {128, 768, 3072},       {128, 3072, 768}, {16, 768, 3072, true},
      {1, 768, 3072, true}, {4, 768, 3072, true}, {128, 768, 3072, true}, {3136, 64, 256},  {784, 128, 512},
      {196, 1024, 256},     {49, 2048, 512},      {49, 512, 2048},        {12544, 16, 96},  {12544, 96, 24},
  };
  if (argc > 5) {
    shapes = {{size_t(std::atol(argv[3])), size_t(std::atol(argv[4])), size_t(std::atol(argv[5])), argc > 6}};
  }
  for (size_t i = 0, count = shapes.size(); i < count; ++i) {
    if (!shapes[i].cold && count > 1) continue;
    for (const PackedType type : {PackedType::bf16, PackedType::f16}) {
      shapes.push_back(shapes[i]);
      shapes.back().type = type;
    }
  }
  ThreadPoolOptions options;
  options.threads = threads;
  ThreadPool pool(options);
  const Parallel par(threads > 1 ? &pool : nullptr, nullptr);
  std::vector<std::unique_ptr<Product>> products;
  for (const Shape& s : shapes) products.push_back(std::make_unique<Product>(s));
  constexpr size_t kStreamFloats = 12 << 20;
  const Floats stream(kStreamFloats);
  std::vector<double> flop_times, byte_times;
  for (const double end = now() + seconds; now() < end;) {
    byte_times.push_back(1 / read_bandwidth(stream, kStreamFloats));
    for (const auto& p : products) {
      flop_times.push_back(1 / peak());
      p->measure(par);
    }
  }
  const double best_peak = 1 / fast(flop_times), best_read = 1 / fast(byte_times);
  std::printf("%s, %d threads, one core: %.1f GFLOP/s, reads %.1f GB/s\n", isa_name(current_isa()), threads,
              best_peak * 1e-9, best_read * 1e-9);
  std::printf("    m     k     n    B       us  GFLOP/s  of peak  GB/s of B\n");
  for (const auto& p : products) {
    const Shape& s = p->shape;
    const double time = p->seconds(), flops = 2.0 * double(s.m) * double(s.n) * double(s.k) / time;
    const double bytes = double(gemm_packed_bytes(s.k, s.n, s.type));
    std::printf("%5zu %5zu %5zu %4s %8.1f %8.1f %7.1f%% %8.1f %s\n", s.m, s.k, s.n, name_of(s.type), time * 1e6,
                flops * 1e-9, 100 * flops / best_peak / threads, bytes / time * 1e-9, s.cold ? "cold" : "");
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
