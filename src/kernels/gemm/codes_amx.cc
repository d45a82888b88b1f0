// Products of codes in AMX registers. The instructions are inline assembly, so that no part of the library has to be
// compiled for processors with AMX.
#include "kernels/gemm/codes_tile.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace retort::kernels::codes_detail {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start = 0;
  uint8_t reserved[14] = {};
  uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

bool ask_for_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 24 & 1) || !(d >> 25 & 1)) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_tiles() {
  static const bool has = ask_for_tiles();
  return has;
}

void begin_tiles() noexcept {
  static constexpr TileConfig kConfig;
  asm volatile("ldtilecfg %0" : : "m"(kConfig));
}
void begin_tiles(size_t rows, size_t depth) noexcept {
  TileConfig config;
  for (size_t i : {0, 1, 2, 3, 4, 5}) config.rows[i] = uint8_t(rows);
  for (size_t i : {4, 5}) config.column_bytes[i] = uint16_t(depth);
  for (size_t i : {6, 7}) config.rows[i] = uint8_t(depth / 4);
  asm volatile("ldtilecfg %0" : : "m"(config));
}
void end_tiles() noexcept { asm volatile("tilerelease"); }

void sum_tiles(const int8_t* a, size_t depth, size_t row_tiles, const uint8_t* b, int32_t* sums) noexcept {
  constexpr size_t kPanelRow = kTilePanel * 4, kStep = kTileDepth / 4 * kPanelRow;
  const int8_t* a1 = a + kTileRows * depth;
  asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
  for (size_t i = 0; i < depth; i += kTileDepth, b += kStep) {
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm4\n\t"
        "tileloadd (%2,%3,1), %%tmm6\n\t"
        "tileloadd 64(%2,%3,1), %%tmm7\n\t"
        "tdpbsud %%tmm6, %%tmm4, %%tmm0\n\t"
        "tdpbsud %%tmm7, %%tmm4, %%tmm1"
        :
        : "r"(a + i), "r"(depth), "r"(b), "r"(kPanelRow)
        : "memory");
    if (row_tiles == 1) continue;
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm5\n\t"
        "tdpbsud %%tmm6, %%tmm5, %%tmm2\n\t"
        "tdpbsud %%tmm7, %%tmm5, %%tmm3"
        :
        : "r"(a1 + i), "r"(depth)
        : "memory");
  }
  asm volatile(
      "tilestored %%tmm0, (%0,%1,1)\n\t"
      "tilestored %%tmm1, 64(%0,%1,1)"
      :
      : "r"(sums), "r"(kPanelRow)
      : "memory");
  if (row_tiles == 1) return;
  asm volatile(
      "tilestored %%tmm2, (%0,%1,1)\n\t"
      "tilestored %%tmm3, 64(%0,%1,1)"
      :
      : "r"(sums + kTileRows * kTilePanel), "r"(kPanelRow)
      : "memory");
}

}  // namespace retort::kernels::codes_detail

#else

namespace retort::kernels::codes_detail {
bool has_tiles() { return false; }
void begin_tiles() noexcept {}
void begin_tiles(size_t, size_t) noexcept {}
void end_tiles() noexcept {}
void sum_tiles(const int8_t*, size_t, size_t, const uint8_t*, int32_t*) noexcept {}
}  // namespace retort::kernels::codes_detail

#endif
