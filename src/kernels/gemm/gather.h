// The product of a copy of A in the order in which its tiles read it (gathers_rows() in gemm_plan.h).
#pragma once
#include "kernels/gemm/gemm.h"

namespace retort::kernels {

/// Whether this processor gathers rows: those with 2 MiB of second-level cache, where the copy stays near. With less, as
/// on Zen 5, it was not measured; plain rows reach 92 % of the peak there.
bool gemm_gathers() noexcept;
/// Bytes of scratch, 64-byte aligned, for B in float32; 0 if the product is too small for it.
size_t gemm_gather_bytes(size_t m, size_t n, size_t k);
/// gemm() without Strassen's method, with the same bits. Scratch has gemm_gather_bytes(), which are not 0.
void gemm_gathered(const GemmArgs& args, const Parallel& par, void* scratch) noexcept;

}  // namespace retort::kernels
