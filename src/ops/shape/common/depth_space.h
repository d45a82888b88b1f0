// DepthToSpace and SpaceToDepth: both are a reshape to six axes, a transposition and a reshape back.
#pragma once
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {

struct DepthSpace {
  int64_t blocksize = 0;
  std::string mode = "DCR";
  static constexpr std::tuple attributes{required("blocksize", &DepthSpace::blocksize),
                                         attr("mode", &DepthSpace::mode)};

  void check() const {
    // Products of two block sizes stay far from overflow; products with an extent are checked.
    constexpr int64_t kMost = 1 << 15;
    require(blocksize > 0 && blocksize <= kMost, ErrorCode::invalid_argument, "blocksize is {}, expected 1 to {}",
            blocksize, kMost);
    require(mode == "DCR" || mode == "CRD", ErrorCode::invalid_argument, "mode '{}' is neither DCR nor CRD", mode);
  }

  /// The copy of an image with `depth` channels of blocks, `height` by `width` of them: from the layout with blocks in
  /// the channels to the one with blocks in space, or back.
  StridedBox box(int64_t batch, int64_t depth, int64_t height, int64_t width, bool to_space) const {
    const int64_t b = blocksize, plane = height * width;
    const bool depth_inner = mode == "DCR";
    StridedBox s;
    const auto push = [&](int64_t extent, int64_t in_depth, int64_t in_space) {
      to_space ? s.push(extent, in_depth, in_space) : s.push(extent, in_space, in_depth);
    };
    push(batch, depth * b * b * plane, depth * b * b * plane);
    push(depth, (depth_inner ? 1 : b * b) * plane, b * b * plane);
    push(height, width, b * width * b);
    push(b, (depth_inner ? b * depth : b) * plane, width * b);
    push(width, 1, b);
    push(b, (depth_inner ? depth : 1) * plane, 1);
    return s;
  }
};

}  // namespace retort::ops
