// Measures products and convolutions of 8-bit codes, and products with n-bit weights, in per cent of the arithmetic peak
// of the processor, which is measured in the same run: of AMX, of VNNI, or of pairs of products (vpmaddubsw, vpmaddwd
// and vpaddd), which also bound exact sums of constant weights without VNNI (kernels/gemm/codes_excess.h).
//
//   codes_bench [threads] [seconds] [gemm|conv|depthwise|nbits]; RETORT_ISA, as in avx512-amx, chooses the instructions.
//
// All shapes are measured in turn, many times; a low quantile of the times counts, as the machine may be shared. "cold"
// weights are others each time, from memory. On processors with AMX, steps of tiles take about four times as long while
// the other hardware thread of the core computes, since the threads share the few tile registers: times with an idle
// and with a busy neighbour are told apart by a step that is timed before and after each.
#include <immintrin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/isa_choice.h"
#include "base/thread_pool.h"
#include "kernels/conv/conv_codes.h"
#include "kernels/gemm/codes_amx.h"
#include "kernels/gemm/gemm_codes.h"
#include "kernels/gemm/gemm_nbits.h"

namespace {

using namespace retort;
using namespace retort::kernels;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

double fast(std::vector<double>& times) {
  if (times.empty()) return 0;
  const auto at = times.begin() + ptrdiff_t(times.size() / 20);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

constexpr int kPeakSteps = 2000;

double tile_peak() {
  codes_detail::begin_tiles();
  const double start = now();
  for (int i = 0; i < kPeakSteps; ++i) {
    asm volatile(
        "tdpbusd %tmm6, %tmm4, %tmm0\n\ttdpbusd %tmm7, %tmm4, %tmm1\n\t"
        "tdpbusd %tmm6, %tmm5, %tmm2\n\ttdpbusd %tmm7, %tmm5, %tmm3");
  }
  const double time = now() - start;
  codes_detail::end_tiles();
  return kPeakSteps * 4.0 * 16 * 16 * 64 / time;
}
constexpr int kSteps = 40;
/// Seconds of some steps of tiles, with loads from the first-level cache.
double step_time() {
  alignas(64) static uint8_t data[8192];
  codes_detail::begin_tiles();
  const double start = now();
  for (int i = 0; i < kSteps; ++i)
    codes_detail::multiply_tiles<codes_detail::TileSigns::unsigned_signed>(data, data + 1024, 64, data + 2048);
  const double time = now() - start;
  codes_detail::end_tiles();
  return time;
}
__attribute__((target("avx512f"))) double wide_quad_peak() {
  constexpr int kSums = 12;
  __m512i sums[kSums] = {}, x = _mm512_set1_epi32(1);
  const double start = now();
  for (int i = 0; i < 10 * kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (__m512i& s : sums) asm volatile("vpdpbusd %1, %1, %0" : "+v"(s) : "v"(x));
  }
  return 10.0 * kPeakSteps * kSums * 64 / (now() - start);
}
__attribute__((target("avx2"))) double quad_peak() {
  constexpr int kSums = 12;
  __m256i sums[kSums] = {}, x = _mm256_set1_epi32(1);
  const double start = now();
  for (int i = 0; i < 10 * kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (__m256i& s : sums) asm volatile("%{vex%} vpdpbusd %1, %1, %0" : "+x"(s) : "x"(x));
  }
  return 10.0 * kPeakSteps * kSums * 32 / (now() - start);
}
__attribute__((target("avx2"))) double wide_pair_peak() {
  constexpr int kSums = 8;
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kSums] = {}, x = _mm256_set1_epi8(1);
  const double start = now();
  for (int i = 0; i < 10 * kPeakSteps; ++i) {
#pragma GCC unroll 8
    for (__m256i& s : sums) {
      s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(x, x), ones));
      asm volatile("" : "+x"(s), "+x"(x));
    }
  }
  return 10.0 * kPeakSteps * kSums * 32 / (now() - start);
}
double pair_peak() {
  constexpr int kSums = 8;
  const __m128i ones = _mm_set1_epi16(1);
  __m128i sums[kSums] = {}, x = _mm_set1_epi8(1);
  const double start = now();
  for (int i = 0; i < 10 * kPeakSteps; ++i) {
#pragma GCC unroll 8
    for (__m128i& s : sums) {
      s = _mm_add_epi32(s, _mm_madd_epi16(_mm_maddubs_epi16(x, x), ones));
      asm volatile("" : "+x"(s), "+x"(x));
    }
  }
  return 10.0 * kPeakSteps * kSums * 16 / (now() - start);
}
/// Products per second, with instructions of the current level.
double peak() {
  const CodesUnit unit = codes_unit();
  if (unit == CodesUnit::tiles) return tile_peak();
  if (unit == CodesUnit::quads) return current_isa() == Isa::avx512 ? wide_quad_peak() : quad_peak();
  return current_isa() == Isa::v2 ? pair_peak() : wide_pair_peak();
}

/// Packed weights: one copy, or as many as exceed all caches.
class Weights {
 public:
  Weights(size_t bytes, bool cold, const std::function<void(void*)>& pack) : bytes_((bytes + 127) / 64 * 64) {
    constexpr size_t kCold = 160 << 20;
    copies_ = cold ? std::max<size_t>(1, kCold / bytes_) : 1;
    data_ = static_cast<char*>(std::aligned_alloc(2 << 20, (bytes_ * copies_ + (2 << 20)) >> 21 << 21));
    std::memset(data_, 0, bytes_ * copies_);
    pack(data_);
    for (size_t i = 1; i < copies_; ++i) std::memcpy(data_ + i * bytes_, data_, bytes_);
  }
  const void* take() { return data_ + next_++ % copies_ * bytes_; }

 private:
  size_t bytes_, copies_, next_ = 0;
  char* data_;
};

struct Job {
  std::string name;
  double products;
  std::function<void()> run;
  std::vector<double> times{}, shared{};  ///< with a neighbour that is idle, and with one that is busy

  void time_once(double least_step) {
    const bool tiles = codes_unit() == CodesUnit::tiles;
    const double before = tiles ? step_time() : 0, start = now();
    run();
    const double time = now() - start, after = tiles ? step_time() : 0;
    if (std::max(before, after) <= 1.5 * least_step) times.push_back(time);
    if (std::min(before, after) > 2 * least_step) shared.push_back(time);
  }
};

template <typename T>
T* filled(size_t n, int mask) {
  T* p = static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 4096) / 64 * 64));
  unsigned x = 1;
  for (size_t i = 0; i < n; ++i) p[i] = T(int((x = x * 1664525 + 1013904223) >> 16 & unsigned(mask)) - mask / 2);
  return p;
}

/// Weights of which few are large, as in trained networks: about 1 % of their pairs have an excess.
int8_t* filled_weights(size_t n) {
  int8_t* w = filled<int8_t>(4 * n, 255);
  for (size_t i = 0; i < n; ++i) w[i] = int8_t((w[4 * i] + w[4 * i + 1] + w[4 * i + 2] + w[4 * i + 3]) / 4);
  return w;
}

Job gemm_job(size_t m, size_t k, size_t n, bool cold, const Parallel& par) {
  const CodesSums sums = corrects_code_pairs() ? CodesSums::corrected : CodesSums::exact;  // of constant weights
  const auto* a = filled<int8_t>(m * k, 255);
  auto* packed_a = filled<int8_t>(codes_rows_bytes(m, k), 0);
  auto* rows = new CodeRow[m];
  pack_code_rows({a, true}, k, m, k, {}, packed_a, rows, sums);
  for (size_t i = 0; i < m; ++i) rows[i].scale = 1e-4f;
  const auto* b = filled_weights(k * n);
  const bool corrects = sums == CodesSums::corrected;
  const size_t panels = round_up(codes_packed_bytes(k, n), 64);
  const size_t excess = corrects ? code_excess_bytes({b, true}, n, k, n) : 0;
  auto* weights = new Weights(panels + excess, cold, [&](void* to) {
    pack_code_panels({b, true}, n, k, 0, n, {}, to, sums);
    if (corrects) split_code_excess(k, n, to, static_cast<char*>(to) + panels);
  });
  auto* transposed = filled<uint8_t>(codes_transposed_bytes(m, k), 0);
  for (size_t row = 0; corrects && row < m; row += kCodesBlockRows)
    transpose_code_rows(packed_a, m, k, row, transposed);
  auto* c = filled<float>(m * n, 0);
  const auto* scale = filled<float>(n, 15);
  return {"gemm " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n) + (cold ? " cold" : ""),
          double(m * n * k), [=, &par] {
            GemmCodesArgs g{.m = m, .n = n, .k = k, .a = packed_a, .rows = rows, .packed_b = weights->take()};
            g.same_zero = true;
            g.sums = sums;
            if (corrects) g.excess = static_cast<const char*>(g.packed_b) + panels;
            g.transposed = transposed;
            g.c = {.data = c, .stride = n, .is_float = true, .column_scale = scale};
            gemm_codes(g, par);
          }};
}

/// `groups` is 1 or, for a depthwise convolution, the number of channels.
Job conv_job(size_t in_c, size_t out_c, size_t size, size_t kernel, size_t stride, bool is_signed, const Parallel& par,
             size_t groups = 1) {
  CodesConvShape s{};
  s.batch = 1, s.in_h = s.in_w = size, s.in_c = in_c, s.out_c = out_c, s.kernel_h = s.kernel_w = kernel;
  s.groups = groups;
  s.stride_h = s.stride_w = stride, s.pad_top = s.pad_left = kernel / 2;
  s.out_h = s.out_w = (size + 2 * (kernel / 2) - kernel) / stride + 1;
  s.in_pixel_stride = in_c, s.out_pixel_stride = out_c;
  s.input_signed = is_signed;
  const auto* image = filled<uint8_t>(size * size * in_c, 255);
  const size_t per_channel = in_c / groups;
  const auto* filters = filled_weights(out_c * per_channel * kernel * kernel);
  auto* y = filled<uint8_t>(s.out_h * s.out_w * out_c, 0);
  const size_t places = conv_codes_places(s);
  auto* weights =
      new Weights(conv_codes_packed_bytes(s, filters), false, [&](void* to) { pack_conv_codes(s, filters, to); });
  const auto* bias = filled<int32_t>(places, 255);
  auto* scale = filled<float>(places, 0);
  for (size_t i = 0; i < places; ++i) scale[i] = 1e-4f;
  const auto* offset = filled<float>(places, 0);
  auto* scratch = filled<uint8_t>(conv_codes_scratch_bytes(s, false, par.workers()), 0);
  char name[80];
  std::snprintf(name, sizeof name, "%s %zux%zu/%zu %zu to %zu, %zux%zu%s", groups > 1 ? "depthwise" : "conv", kernel,
                kernel, stride, in_c, out_c, size, size, is_signed ? " signed" : "");
  return {name, double(s.out_h * s.out_w * out_c * per_channel * kernel * kernel), [=, &par] {
            ConvCodesArgs a{.shape = s, .input = image};
            a.packed = static_cast<const int8_t*>(weights->take());
            a.bias = bias, a.scale = scale, a.offset = offset, a.output = y;
            conv_codes(a, scratch, par);
          }};
}

Job nbits_job(size_t bits, size_t block, size_t m, size_t k, size_t n, bool cold, const Parallel& par) {
  const NBitForm form{.bits = bits, .n = n, .k = k, .block = block, .halves = true};
  const auto* codes = filled<uint8_t>(n * k * bits / 8, 255);
  auto* weights = new Weights(nbits_packed_bytes(form), cold, [&](void* to) {
    const auto parameters = [](const NBitRun& run) {
      for (size_t i = 0; i < run.count; ++i) {
        run.scales[i * run.stride] = 0.5f;
        run.zeros[i * run.stride] = 0;
      }
    };
    nbits_pack(form, {codes, parameters}, to, Parallel());
  });
  const auto* a = filled<float>(m * k, 255);
  auto* c = filled<float>(m * n, 0);
  auto* scratch = filled<char>(nbits_scratch_bytes(form, m, NBitInput::rounded, par.workers()), 0);
  char name[80];
  std::snprintf(name, sizeof name, "%zu bits/%zu %zux%zux%zu%s", bits, block, m, k, n, cold ? " cold" : "");
  return {name, double(m * n * k), [=, &par] {
            gemm_nbits({.form = form, .packed = weights->take(), .m = m, .a = a, .input = NBitInput::rounded, .c = c},
                       scratch, par);
          }};
}

void add_gemms(std::vector<Job>& jobs, const Parallel& par) {
  for (const size_t m : {1, 2, 4, 6, 8, 12, 16, 32}) jobs.push_back(gemm_job(m, 768, 768, false, par));
  for (const bool cold : {false, true}) {
    jobs.push_back(gemm_job(128, 768, 768, cold, par));
    jobs.push_back(gemm_job(128, 768, 3072, cold, par));
    jobs.push_back(gemm_job(128, 3072, 768, cold, par));
  }
  jobs.push_back(gemm_job(1024, 768, 768, false, par));
  jobs.push_back(gemm_job(784, 64, 256, false, par));
}
void add_convs(std::vector<Job>& jobs, const Parallel& par) {
  for (const bool is_signed : {false, true}) {
    jobs.push_back(conv_job(64, 64, 56, 1, 1, is_signed, par));
    jobs.push_back(conv_job(64, 256, 56, 1, 1, is_signed, par));
    jobs.push_back(conv_job(512, 128, 28, 1, 1, is_signed, par));
    jobs.push_back(conv_job(1024, 256, 14, 1, 1, is_signed, par));
    jobs.push_back(conv_job(2048, 512, 7, 1, 1, is_signed, par));
    jobs.push_back(conv_job(64, 64, 56, 3, 1, is_signed, par));
    jobs.push_back(conv_job(256, 256, 14, 3, 1, is_signed, par));
    jobs.push_back(conv_job(512, 512, 7, 3, 1, is_signed, par));
    jobs.push_back(conv_job(128, 128, 56, 3, 2, is_signed, par));
    jobs.push_back(conv_job(24, 144, 56, 1, 1, is_signed, par));
    jobs.push_back(conv_job(16, 96, 112, 1, 1, is_signed, par));
    jobs.push_back(conv_job(32, 16, 112, 1, 1, is_signed, par));
    jobs.push_back(conv_job(144, 24, 56, 1, 1, is_signed, par));
    jobs.push_back(conv_job(192, 64, 14, 1, 1, is_signed, par));
    jobs.push_back(conv_job(3, 32, 224, 3, 2, is_signed, par));
    jobs.push_back(conv_job(3, 64, 224, 7, 2, is_signed, par));
  }
}
void add_depthwise(std::vector<Job>& jobs, const Parallel& par) {
  const auto add = [&](size_t c, size_t size, size_t kernel, size_t stride) {
    jobs.push_back(conv_job(c, c, size, kernel, stride, false, par, c));
  };
  add(32, 112, 3, 1), add(64, 112, 3, 1), add(144, 56, 3, 1), add(192, 28, 3, 1), add(384, 14, 3, 1), add(960, 7, 3, 1);
  add(64, 112, 3, 2), add(96, 112, 3, 2), add(144, 56, 3, 2), add(192, 28, 3, 2), add(576, 14, 3, 2);
  add(240, 28, 5, 1), add(672, 14, 5, 1), add(144, 56, 5, 2), add(672, 14, 5, 2);
}
void add_nbits(std::vector<Job>& jobs, const Parallel& par) {
  for (const size_t m : {1, 4, 8, 12, 16, 32, 128}) jobs.push_back(nbits_job(4, 32, m, 1024, 1024, false, par));
  jobs.push_back(nbits_job(4, 32, 1, 2048, 8192, true, par));
  for (const size_t bits : {2, 4, 8}) jobs.push_back(nbits_job(bits, 32, 128, 1024, 4096, true, par));
  jobs.push_back(nbits_job(4, 128, 128, 1024, 4096, true, par));
}

}  // namespace

int main(int argc, char** argv) try {
  require_chosen_isa();
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 10;
  const std::string kind = argc > 3 ? argv[3] : "";
  require(kind.empty() || kind == "gemm" || kind == "conv" || kind == "depthwise" || kind == "nbits",
          ErrorCode::invalid_argument, "the third argument is {}, expected gemm, conv, depthwise or nbits", kind);
  ThreadPoolOptions options;
  options.threads = threads;
  ThreadPool pool(options);
  const Parallel par(threads > 1 ? &pool : nullptr, nullptr);
  std::vector<Job> jobs;
  if (kind.empty() || kind == "gemm") add_gemms(jobs, par);
  if (kind.empty() || kind == "conv") add_convs(jobs, par);
  if (kind.empty() || kind == "depthwise") add_depthwise(jobs, par);
  if (kind.empty() || kind == "nbits") add_nbits(jobs, par);
  std::vector<double> peak_times;
  constexpr double kTurn = 2e-3;
  double best_peak = 0;
  for (int i = 0; i < 20; ++i) best_peak = std::max(best_peak, peak());
  const double least_step = kSteps * 4.0 * 16 * 16 * 64 / best_peak;
  for (const double end = now() + seconds; now() < end;) {
    for (Job& job : jobs) {
      peak_times.push_back(1 / peak());
      job.run();
      for (const double turn_end = now() + kTurn; now() < turn_end;) job.time_once(least_step);
    }
  }
  const double limit = 1 / fast(peak_times);
  static constexpr const char* kUnits[] = {"pairs", "VNNI", "AMX"};
  std::printf("%s with %s, %d threads; one core: %.0f G products/s; on the right, with a busy neighbour\n",
              isa_name(current_isa()), kUnits[size_t(codes_unit())], threads, limit * 1e-9);
  for (Job& job : jobs) {
    std::printf("%-36s", job.name.c_str());
    for (std::vector<double>* times : {&job.times, &job.shared}) {
      if (times->empty()) {
        std::printf("%*s", times == &job.times ? 33 : 0, "");
        continue;
      }
      const double time = fast(*times);
      std::printf("%9.1f us %8.1f G/s %6.1f %%", time * 1e6, job.products / time * 1e-9,
                  100 * job.products / time / limit / threads);
    }
    std::printf("\n");
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
