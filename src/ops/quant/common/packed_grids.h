// Tables of points, by the indices that packed formats store. A point has eight coordinates of 2 bits, for the levels
// 8, 25 and 43, or four of 3 bits, for the levels 4, 12, … 52 and 62. The first coordinate is in the lowest bits.
#pragma once
#include <cstdint>

namespace retort::ops {

extern const uint16_t kGrid2Xxs[256], kGrid2Xs[512], kGrid2S[1024], kGrid3Xxs[256];

}  // namespace retort::ops
