#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Attributes kHalves{{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}};
const Tensor kPooled = f32({1, 1, 2, 2}, {5, 7, 13, 15}), kPlaces = i64({1, 1, 2, 2}, {5, 7, 13, 15});

const OpTest max_unpool(
    "MaxUnpool",
    {{.about = "values at their original positions",
      .attributes = kHalves,
      .inputs = {kPooled, kPlaces},
      .outputs = {f32({1, 1, 4, 4}, {0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15})}},
     {.about = "a larger output keeps rows and columns",
      .attributes = kHalves,
      .inputs = {kPooled, kPlaces, i64({4}, {1, 1, 4, 5})},
      .outputs = {f32({1, 1, 4, 5}, {0, 0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 0, 15, 0})}},
     {.about = "images and channels",
      .attributes = kHalves,
      .inputs = {random({2, 3, 1, 2}), i64({2, 3, 1, 2}, {0, 7, 9, 14, 16, 23, 25, 30, 33, 38, 40, 46})}}},
    {.weights = {2}});

}  // namespace
}  // namespace retort::ops
