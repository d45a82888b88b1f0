// Measures the speed of matrix multiplication beside the arithmetic peak of the processor, in the same run.
//
//   gemm_bench [threads] [seconds] [m k n [cold] | FILE]; RETORT_ISA=v2|avx2|avx512 chooses the instruction level.
//
// FILE has a line `m k n [cold]` for each shape, such as products.tsv, which has the products of the model zoo; lines
// that begin with # do not count. Cold shapes of the default list, and a shape that is given, are also measured with
// 16-bit B. "dots" are products in bfloat16 arithmetic, beside the peak of that arithmetic.
//
// All shapes are measured in turn, many times. The peak is measured before and after each turn, for about as long, and
// the median of the ratios counts: on a shared machine both change from one moment to the next. "cold" products use another matrix B each time, from a set that is larger than every cache. The last column says how
// many times as fast Strassen's method is, where it is used.
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/isa_choice.h"
#include "base/thread_pool.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/gather.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_bf16.h"

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
inline __m512 dots(__m512 x, __m512 c) {
  asm("vdpbf16ps %1, %1, %0" : "+v"(c) : "v"(x));
  return c;
}
RETORT_PEAK(peak_float_dots, "avx512f", __m512, _mm512_set1_ps, dots)
RETORT_PEAK(peak_v2, "sse4.1", __m128, _mm_set1_ps, RETORT_MULADD128)
#else
#define RETORT_FMA(x, c) vfmaq_f32(c, x, x)
RETORT_PEAK(peak_neon, "+simd", float32x4_t, vdupq_n_f32, RETORT_FMA)
#endif

double median(std::vector<double>& values) {
  const auto at = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
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

#if defined(__x86_64__)
/// Four sums in registers, as in the tiles of products; the factors stay in registers.
double peak_amx() {
  constexpr int kSteps = 4000;
  alignas(64) static const char zeros[1024] = {};
  amx::begin(amx::kRows, amx::kRows);
  asm volatile("tileloadd (%0,%1,1), %%tmm4\n\ttileloadd (%0,%1,1), %%tmm5" : : "r"(zeros), "r"(amx::kRowBytes));
  asm volatile("tileloadd (%0,%1,1), %%tmm6\n\ttileloadd (%0,%1,1), %%tmm7" : : "r"(zeros), "r"(amx::kRowBytes));
  asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
  const double start = now();
  for (int i = 0; i < kSteps; ++i) {
    asm volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm7, %tmm4, %tmm1\n\t"
        "tdpbf16ps %tmm6, %tmm5, %tmm2\n\ttdpbf16ps %tmm7, %tmm5, %tmm3");
  }
  const double seconds = now() - start;
  amx::end();
  return 2.0 * kSteps * 4 * 16 * 16 * 32 / seconds;
}
#endif

/// The same in bfloat16 arithmetic.
double peak_dots() {
#if defined(__x86_64__)
  if (has_bf16_tiles()) return peak_amx();
  return has_bf16_products() ? 2 * peak_float_dots() : 0;
#else
  return 0;
#endif
}

/// The mean of a peak over some time.
double peak_during(double seconds, double (*peak_now)()) {
  double inverses = 0, count = 0;  // of blocks with the same number of operations
  for (const double end = now() + seconds; count == 0 || now() < end; ++count) inverses += 1 / peak_now();
  return count / inverses;
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
  static constexpr const char* kNames[] = {"f32", "bf16", "f16", "dots"};
  return kNames[size_t(type)];
}

size_t packed_floats(const Shape& s) {
  const bool dots = s.type == PackedType::bf16_pairs;
  return (dots ? bf16_packed_bytes(s.k, s.n) : gemm_packed_bytes(s.k, s.n, s.type)) / sizeof(float);
}

/// The matrices B of all cold products, in memory several times as large as a last-level cache. Each use takes the
/// memory after that of the last use, so that none is in the caches.
class ColdWeights {
 public:
  explicit ColdWeights(const std::vector<Shape>& shapes) : floats_(size_of(shapes)), data_(floats_) {}

  const float* take(size_t n) {
    if (next_ + n > floats_) next_ = 0;
    next_ += n;
    return data_.get() + next_ - n;
  }

 private:
  static size_t size_of(const std::vector<Shape>& shapes) {
    size_t most = 64 << 20;
    for (const Shape& s : shapes) most = std::max(most, s.cold ? packed_floats(s) : 0);
    return most;
  }

  size_t floats_;
  Floats data_;
  size_t next_ = 0;
};

class Product {
 public:
  Product(const Shape& s, ColdWeights& cold, const Parallel& par)
      : shape(s),
        cold_(cold),
        par_(par),
        own_b_(s.cold ? 0 : packed_floats(s)),
        a_(s.m * s.k),
        c_(s.m * s.n),
        scratch_(std::max(scratch_bytes(), gather_bytes()) / sizeof(float)),
        fit_(gemm_fit_bytes(s.k, s.n), 1) {}

  /// Times the product as it is, beside the peak, and with fewer multiplications if that pays.
  void measure() {
    double (*const peak_now)() = is_dots() ? peak_dots : peak;
    const double before = peak_during(length_, peak_now);
    const double rate = measure(gather_bytes() > 0 ? scratch_.get() : nullptr, times_);
    const double after = peak_during(length_, peak_now);
    shares_.push_back(rate / ((before + after) / 2));
    if (saves()) measure(scratch_.get(), saving_times_);
  }

  double seconds() { return median(times_); }
  double share_of_peak() { return median(shares_); }
  bool saves() const { return !is_dots() && scratch_bytes() > 0; }
  double saving_seconds() { return median(saving_times_); }

  Shape shape;

 private:
  /// Times single products (or several small ones) for about a millisecond. Returns the operations per second.
  double measure(float* scratch, std::vector<double>& times) {
    constexpr double kTurn = 1e-3, kShortest = 50e-6;
    const double flops = 2.0 * double(shape.m) * double(shape.n) * double(shape.k);
    const size_t together = shape.cold ? 1 : size_t(kShortest * 1e11 / flops) + 1;
    if (!shape.cold) multiply(scratch);  // the other shapes have emptied the caches
    const double begin = now();
    double end = begin, done = 0;
    while (end < begin + kTurn) {
      const double start = end;
      for (size_t i = 0; i < together; ++i) multiply(scratch);
      end = now();
      done += flops * double(together);
      times.push_back((end - start) / double(together));
    }
    length_ = end - begin;
    return done / length_;
  }

  void multiply(float* scratch) {
    GemmArgs g;
    g.m = shape.m, g.n = shape.n, g.k = shape.k;
    g.a = a_.get(), g.a_stride = shape.k;
    g.packed_b = {shape.cold ? cold_.take(packed_floats(shape)) : own_b_.get(), shape.type, fit_.data()};
    g.c = c_.get(), g.c_stride = shape.n;
    if (is_dots()) return bf16_gemm(g, par_, scratch_.get());
    scratch&& gather_bytes() > 0 ? gemm_gathered(g, par_, scratch) : gemm(g, par_, scratch);
  }

  bool is_dots() const { return shape.type == PackedType::bf16_pairs; }
  size_t scratch_bytes() const {
    return is_dots() ? bf16_scratch_bytes(shape.m, shape.k)
                     : gemm_scratch_bytes(shape.m, shape.n, shape.k, par_.workers());
  }

  /// Products that save multiplications have scratch for nothing else.
  size_t gather_bytes() const {
    return shape.type == PackedType::f32 ? gemm_gather_bytes(shape.m, shape.n, shape.k) : 0;
  }

  ColdWeights& cold_;
  const Parallel& par_;
  Floats own_b_, a_, c_, scratch_;
  std::vector<uint8_t> fit_;  // all columns
  std::vector<double> times_, saving_times_, shares_;
  double length_ = 1e-3;  // of the last turn
};

std::vector<Shape> read_shapes(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string(path) + ": cannot be read");
  std::vector<Shape> shapes;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Shape s{};
    if (!(words >> s.m >> s.k >> s.n) || s.m * s.k * s.n == 0) {
      throw std::runtime_error(std::string(path) + ": '" + line + "', expected: m k n [cold]");
    }
    std::string word;
    s.cold = words >> word && word == "cold";
    shapes.push_back(s);
  }
  return shapes;
}

std::vector<Shape> default_shapes() {
  return {
      {64, 64, 64},         {128, 768, 768},      {128, 768, 3072},       {128, 3072, 768}, {16, 768, 3072, true},
      {1, 768, 3072, true}, {4, 768, 3072, true}, {128, 768, 3072, true}, {3136, 64, 256},  {784, 128, 512},
      {196, 1024, 256},     {49, 2048, 512},      {49, 512, 2048},        {12544, 16, 96},  {12544, 96, 24},
  };
}

/// Adds those shapes again with 16-bit B, if they are cold or there is only one.
std::vector<Shape> with_narrow(std::vector<Shape> shapes) {
  for (size_t i = 0, count = shapes.size(); i < count; ++i) {
    if (!shapes[i].cold && count > 1) continue;
    for (const PackedType type : {PackedType::bf16, PackedType::f16, PackedType::bf16_pairs}) {
      if (type == PackedType::bf16_pairs && !has_bf16_products()) continue;
      shapes.push_back(shapes[i]);
      shapes.back().type = type;
    }
  }
  return shapes;
}

std::vector<Shape> chosen_shapes(int argc, char** argv) {
  if (argc == 4) return read_shapes(argv[3]);
  if (argc <= 5) return with_narrow(default_shapes());
  const bool cold = argc > 6 && std::strcmp(argv[6], "cold") == 0;
  return with_narrow({{size_t(std::atol(argv[3])), size_t(std::atol(argv[4])), size_t(std::atol(argv[5])), cold}});
}

/// `read`: bytes per second.
void print(Product& product, double read, int threads) {
  const Shape& s = product.shape;
  const double time = product.seconds(), flops = 2.0 * double(s.m) * double(s.n) * double(s.k) / time;
  const double bytes = double(packed_floats(s)) * sizeof(float) / time;
  std::printf("%5zu %5zu %5zu %4s %8.1f %8.1f %7.1f%% %8.1f %7.1f%% %s", s.m, s.k, s.n, name_of(s.type), time * 1e6,
              flops * 1e-9, 100 * product.share_of_peak() / threads, bytes * 1e-9, 100 * bytes / read,
              s.cold ? "cold" : "");
  if (product.saves()) std::printf("%*.3f", s.cold ? 8 : 12, time / product.saving_seconds());
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) try {
  retort::require_chosen_isa();
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  g_alone = threads == 1;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 20;
  const std::vector<Shape> shapes = chosen_shapes(argc, argv);
  ColdWeights weights(shapes);
  ThreadPoolOptions options;
  options.threads = threads;
  ThreadPool pool(options);
  const Parallel par(threads > 1 ? &pool : nullptr, nullptr);
  std::vector<std::unique_ptr<Product>> products;
  for (const Shape& s : shapes) products.push_back(std::make_unique<Product>(s, weights, par));
  constexpr size_t kStreamFloats = 12 << 20;
  const Floats stream(kStreamFloats);
  std::vector<double> peaks, reads;
  for (const double end = now() + seconds; now() < end;) {
    reads.push_back(read_bandwidth(stream, kStreamFloats));
    peaks.push_back(peak_during(1e-3, peak));
    for (const auto& p : products) p->measure();
  }
  const double read = median(reads);
  std::printf("%s, %d threads, one core: %.1f GFLOP/s, reads %.1f GB/s\n", isa_name(current_isa()), threads,
              median(peaks) * 1e-9, read * 1e-9);
  std::printf("    m     k     n    B       us  GFLOP/s  of peak  GB/s of B  of reads        Strassen\n");
  for (const auto& p : products) print(*p, read, threads);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
