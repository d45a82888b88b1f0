#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTest dynamic_time_warping("DynamicTimeWarping",
                                  {{.about = "around what is dear",
                                    .inputs = {f32({3, 3}, {1, 9, 9, 1, 9, 9, 1, 1, 1})},
                                    .outputs = {i32({2, 4}, {0, 1, 2, 2, 0, 0, 1, 2})}},
                                   {.about = "of equal ways that to the right",
                                    .inputs = {f32({1, 2, 3}, {0, 0, 0, 0, 0, 0})},
                                    .outputs = {i32({2, 4}, {0, 1, 1, 1, 0, 0, 1, 2})}},
                                   {.about = "nothing", .inputs = {f32({0, 3}, {})}, .outputs = {i32({2, 0}, {})}}},
                                  {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
