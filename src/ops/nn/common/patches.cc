#include "ops/nn/common/patches.h"

#include <algorithm>

#include "base/checked.h"

namespace retort::ops {

PatchBlocks::PatchBlocks(int64_t out_pixels, int64_t patch) : k(patch) {
  constexpr int64_t kFloats = 64 << 10;  // a block of patches that stays in the second-level cache
  const int64_t width = int64_t(kernels::gemm_panel_width());
  pixels = std::clamp<int64_t>(kFloats / std::max<int64_t>(k * width, 1), 1, 16) * width;
  count = ceil_div(out_pixels, pixels);
  bytes = round_up(kernels::gemm_packed_bytes(size_t(k), size_t(pixels)), 128);
}

void multiply_patches(const PatchProduct& p, const PatchBlocks& b, const Parallel& parallel,
                      FunctionRef<void(const PatchTask&)> gather) {
  parallel.for_each(size_t(p.batch * p.group * b.count), [&](size_t task, int worker) {
    const int64_t image_group = int64_t(task) / b.count, g = image_group % p.group;
    const int64_t first = int64_t(task) % b.count * b.pixels, n = std::min(b.pixels, p.out_pixels - first);
    auto* packed = reinterpret_cast<float*>(static_cast<char*>(p.scratch) + size_t(worker) * p.scratch_stride);
    gather({image_group / p.group, g, first, n, packed});
    kernels::GemmArgs args;
    args.m = size_t(p.group_out);
    args.n = size_t(n);
    args.k = size_t(b.k);
    args.run = &parallel;
    args.a = p.weights + g * p.group_out * b.k;
    args.a_stride = size_t(b.k);
    args.packed_b = packed;
    args.c = p.output + image_group * p.group_out * p.out_pixels + first;
    args.c_stride = size_t(p.out_pixels);
    kernels::gemm_block(args, 0, args.n);
    for (size_t o = 0; p.bias && o < args.m; ++o) {
      for (size_t i = 0; i < args.n; ++i) args.c[o * args.c_stride + i] += p.bias[size_t(g * p.group_out) + o];
    }
  });
}

}  // namespace retort::ops
