#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes kernel(std::vector<int64_t> shape) { return {{"kernel_shape", std::move(shape)}}; }
constexpr float kLeast = -3.4028234663852886e38f;

const OpTest maxpool_with_mask("MaxpoolWithMask",
                               {{.about = "a window ends at 0",
                                 .attributes = kernel({3}),
                                 .inputs = {f32({1, 1, 5}, {1, 2, 3, 4, 5}), i32({1, 1, 5}, {1, 1, 0, 1, 1})},
                                 .outputs = {f32({1, 1, 3}, {2, 2, kLeast})}},
                                {.about = "a line of it does; the first element of a mask counts in one axis only",
                                 .attributes = kernel({2, 2}),
                                 .inputs = {f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                                            i32({1, 1, 2, 3}, {0, 0, 1, 1, 0, 1})},
                                 .outputs = {f32({1, 1, 1, 2}, {4, kLeast})}},
                                {.about = "where the mask of the second channel begins",
                                 .attributes = kernel({2}),
                                 .inputs = {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), i32({1, 2, 3}, {1, 1, 1, 0, 0, 0})},
                                 .outputs = {f32({1, 2, 2}, {2, 3, 5, 5})}}},
                               {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
