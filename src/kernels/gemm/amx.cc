#include "kernels/gemm/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace retort::kernels::amx {
namespace {

struct alignas(64) Config {
  uint8_t palette = 1, start = 0;
  uint8_t reserved[14] = {};
  uint16_t column_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Bits of leaf 7, register EDX.
constexpr int kBf16Bit = 22, kTileBit = 24, kCodesBit = 25;

unsigned ask_for_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> kTileBit & 1)) return 0;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? d : 0;
}

constexpr size_t kPanelRow = kPanel * sizeof(float);

/// The sums of the first tile are in registers 0 and 1, those of the second in 2 and 3.
template <bool kTwo>
void step(const char* a, const char* a1, size_t a_stride, const char* b) {
  asm volatile(
      "tileloadd (%0,%1,1), %%tmm4\n\t"
      "tileloadd (%2,%3,1), %%tmm6\n\t"
      "tileloadd 64(%2,%3,1), %%tmm7\n\t"
      "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
      "tdpbf16ps %%tmm7, %%tmm4, %%tmm1"
      :
      : "r"(a), "r"(a_stride), "r"(b), "r"(kPanelRow)
      : "memory");
  if constexpr (kTwo) {
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm5\n\t"
        "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
        "tdpbf16ps %%tmm7, %%tmm5, %%tmm3"
        :
        : "r"(a1), "r"(a_stride)
        : "memory");
  }
}

template <bool kTwo>
void sum(const PairTile& t, float* sums) {
  const size_t stride = t.a_stride * sizeof(float), forward = t.a_step * sizeof(float), lines = t.prefetch_lines;
  const char *a = reinterpret_cast<const char*>(t.a), *a1 = a + t.first * stride;
  const char *b = static_cast<const char*>(t.b), *ahead = t.prefetch;
  asm volatile("tilezero %tmm0\n\ttilezero %tmm1");
  if constexpr (kTwo) asm volatile("tilezero %tmm2\n\ttilezero %tmm3");
  for (size_t i = 0; i < t.steps; ++i, a += forward, a1 += forward, b += kStepPairs * kPanelRow) {
    for (size_t line = 0; line < lines; ++line, ahead += 64) __builtin_prefetch(ahead, 0, 2);
    step<kTwo>(a, a1, stride, b);
  }
  if (t.last_b) step<kTwo>(a, a1, stride, static_cast<const char*>(t.last_b));
  asm volatile(
      "tilestored %%tmm0, (%0,%1,1)\n\t"
      "tilestored %%tmm1, 64(%0,%1,1)"
      :
      : "r"(sums), "r"(kPanelRow)
      : "memory");
  if constexpr (kTwo) {
    asm volatile(
        "tilestored %%tmm2, (%0,%1,1)\n\t"
        "tilestored %%tmm3, 64(%0,%1,1)"
        :
        : "r"(sums + t.first * kPanel), "r"(kPanelRow)
        : "memory");
  }
}

}  // namespace

bool has(Numbers numbers) {
  static const unsigned bits = ask_for_tiles();
  return bits >> (numbers == Numbers::bf16 ? kBf16Bit : kCodesBit) & 1;
}

void begin(size_t first, size_t second, size_t row_bytes) noexcept {
  const size_t rows_of_b = row_bytes / 4;
  const size_t rows[] = {first, first, second, second, first, second, rows_of_b, rows_of_b};
  const size_t bytes[] = {kRowBytes, kRowBytes, kRowBytes, kRowBytes, row_bytes, row_bytes, kRowBytes, kRowBytes};
  Config config;
  for (size_t i = 0; i < 8; ++i) {
    config.rows[i] = uint8_t(rows[i]);
    config.column_bytes[i] = uint16_t(rows[i] > 0 ? bytes[i] : 0);
  }
  asm volatile("ldtilecfg %0" : : "m"(config));
}
void end() noexcept { asm volatile("tilerelease"); }

void sum_pairs(const PairTile& t, float* sums) noexcept { t.second > 0 ? sum<true>(t, sums) : sum<false>(t, sums); }

}  // namespace retort::kernels::amx

#else

namespace retort::kernels::amx {
bool has(Numbers) { return false; }
void begin(size_t, size_t, size_t) noexcept {}
void end() noexcept {}
void sum_pairs(const PairTile&, float*) noexcept {}
}  // namespace retort::kernels::amx

#endif
