// Instructions that only some processors of an instruction level have.
#pragma once
#include <cstdint>

namespace retort {

/// Kernels use these beside the instructions of the level.
enum class Feature : uint8_t {
  vnni,  ///< sums of products of 8-bit codes: AVX-512 VNNI, AVX-VNNI at level avx2, dot products on AArch64
  bf16,  ///< AVX-512 BF16
  amx,   ///< AMX with 8-bit integers, and with bfloat16 numbers unless bf16 is taken away
  vbmi,  ///< AVX-512 VBMI: tables of 256 bytes
};
inline constexpr int kFeatureCount = 4;

const char* feature_name(Feature feature);

/// Whether kernels may use the feature if the processor has it: RETORT_ISA can take it away, as in avx512-vnni.
bool allows(Feature feature);

}  // namespace retort
