#include "ops/quant/common/channels_last.h"

#include "kernels/gemm/gemm_codes.h"

namespace retort::ops {

bool multiplies_channels_last_codes() { return kernels::codes_unit() != kernels::CodesUnit::tiles; }

}  // namespace retort::ops
