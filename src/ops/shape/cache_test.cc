#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;
const Tensor kCache = f32({2, 3, 1}, {1, 2, 3, 4, 5, 6});

const OpTest tensor_scatter("TensorScatter", {{.about = "from index 0 on",
                                               .inputs = {kCache, f32({2, 1, 1}, {7, 8})},
                                               .outputs = {f32({2, 3, 1}, {7, 2, 3, 8, 5, 6})}},
                                              {.about = "each row at its own index",
                                               .inputs = {kCache, f32({2, 1, 1}, {7, 8}), i64({2}, {1, 2})},
                                               .outputs = {f32({2, 3, 1}, {1, 7, 3, 4, 5, 8})}},
                                              {.about = "around the end, along another axis",
                                               .attributes = {{"mode", std::string("circular")}, {"axis", int64_t(-1)}},
                                               .inputs = {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                                                          f32({1, 2, 2}, {7, 8, 9, 10}), i64({1}, {2})},
                                               .outputs = {f32({1, 2, 3}, {8, 2, 7, 10, 5, 9})}}});

const OpTest center_crop_pad(
    "CenterCropPad",
    {{.about = "crops one axis and pads the other",
      .inputs = {f32({1, 4}, {1, 2, 3, 4}), i64({2}, {4, 2})},
      .outputs = {f32({4, 2}, {0, 0, 2, 3, 0, 0, 0, 0})}},
     {.about = "odd differences", .inputs = {f32({4}, {1, 2, 3, 4}), i64({1}, {1})}, .outputs = {f32({1}, {2})}},
     {.about = "some axes",
      .attributes = {{"axes", Ints{-1}}},
      .inputs = {f32({2, 1}, {1, 2}), i32({1}, {2})},
      .outputs = {f32({2, 2}, {1, 0, 2, 0})}}},
    {.weights = {1}});

}  // namespace
}  // namespace retort::ops
