#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTest unfold("UnfoldTensor",
                    {{.about = "windows of the last axis",
                      .attributes = {{"size", int64_t(2)}},
                      .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
                      .outputs = {f32({2, 2, 2}, {1, 2, 2, 3, 4, 5, 5, 6})}},
                     {.about = "of the first, with steps",
                      .attributes = {{"size", int64_t(1)}, {"step", int64_t(2)}, {"dim", int64_t(0)}},
                      .inputs = {f32({3, 2}, {1, 2, 3, 4, 5, 6})},
                      .outputs = {f32({2, 2, 1}, {1, 2, 5, 6})}},
                     {.about = "strings",
                      .attributes = {{"size", int64_t(2)}},
                      .inputs = {strings({3}, {"a", "b", "c"})},
                      .outputs = {strings({2, 2}, {"a", "b", "b", "c"})}}},
                    {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
