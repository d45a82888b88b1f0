// For tests: products in bfloat16 arithmetic as on a processor without AMX.
#pragma once
#include "kernels/gemm/gemm_bf16.h"

namespace retort::kernels::testing {

/// Weights that were packed before must not be used after.
void allow_bf16_tiles(bool allowed);

class WithoutTiles {
 public:
  WithoutTiles() { allow_bf16_tiles(false); }
  ~WithoutTiles() { allow_bf16_tiles(true); }
  WithoutTiles(const WithoutTiles&) = delete;
  WithoutTiles& operator=(const WithoutTiles&) = delete;
};

}  // namespace retort::kernels::testing
