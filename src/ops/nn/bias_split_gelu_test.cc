#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTest bias_split_gelu("BiasSplitGelu",
                             {
                                 {.about = "the left half times the GELU of the right half",
                                  .inputs = {f32({1, 2, 4}, {1, 2, 0, 1, 3, -1, 2, -2}), f32({4}, {0, 1, 0, 1})},
                                  .outputs = {f32({1, 2, 2}, {0, 5.8634992f, 5.8634992f, 0})}},
                                 {.about = "no rows", .inputs = {f32({2, 0, 6}, {}), random({6})}},
                                 {.about = "odd sizes", .inputs = {random({3, 5, 14}), random({14}, 2)}},
                             },
                             {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
