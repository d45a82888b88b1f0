#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Tensor kImage = f32({1, 1, 2, 3}, {0, 1, 2, 10, 11, 12});

const OpTest crop_and_resize("CropAndResize",
                             {{.about = "from corner to corner",
                               .inputs = {kImage, f32({1, 4}, {0, 0, 1, 1}), i32({1}, {0}), i32({2}, {3, 3})},
                               .outputs = {f32({1, 1, 3, 3}, {0, 1, 2, 5, 6, 7, 10, 11, 12})}},
                              {.about = "one point: the middle; mirrored columns",
                               .inputs = {kImage, f32({1, 4}, {0, 1, 1, 0}), i32({1}, {0}), i32({2}, {1, 2})},
                               .outputs = {f32({1, 1, 1, 2}, {7, 5})}},
                              {.about = "outside",
                               .attributes = {{"extrapolation_value", 9.0f}},
                               .inputs = {kImage, f32({1, 4}, {0, -0.5, 0, 1.5}), i32({1}, {0}), i32({2}, {1, 3})},
                               .outputs = {f32({1, 1, 1, 3}, {9, 1, 9})}},
                              {.about = "nearest, of several images and channels",
                               .attributes = {{"mode", std::string("nearest")}},
                               .inputs = {f32({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                          f32({2, 4}, {0, 0, 0, 0.375, 0, 0.625, 0, 1}), i32({2}, {1, 0}),
                                          i32({2}, {1, 1})},
                               .outputs = {f32({2, 2, 1, 1}, {5, 7, 2, 4})}}},
                             {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
