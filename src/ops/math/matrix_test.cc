#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTest inverse("Inverse",
                     {{.about = "two matrices, one that needs a pivot",
                       .inputs = {f32({2, 2, 2}, {0, 2, 1, 0, 4, 0, 0, 0.5})},
                       .outputs = {f32({2, 2, 2}, {0, 1, 0.5, 0, 0.25, 0, 0, 2})}},
                      {.about = "no matrix", .inputs = {f32({0, 2, 2}, {})}, .outputs = {f32({0, 2, 2}, {})}}},
                     {.domain = "com.microsoft"});

const OpTest cdist("CDist",
                   {{.about = "squares",
                     .inputs = {f32({2, 2}, {0, 0, 1, 1}), f32({3, 2}, {3, 4, 1, 1, 0, 1})},
                     .outputs = {f32({2, 3}, {25, 2, 1, 13, 0, 1})}},
                    {.about = "their roots",
                     .attributes = {{"metric", std::string("euclidean")}},
                     .inputs = {f32({1, 2}, {0, 0}), f32({2, 2}, {3, 4, 0, 0})},
                     .outputs = {f32({1, 2}, {5, 0})}},
                    {.about = "close rows far from the origin",
                     .inputs = {f32({1, 1}, {16384}), f32({1, 1}, {16384.001953125})},
                     .outputs = {f32({1, 1}, {3.814697265625e-6})},
                     .fixed_types = true},
                    {.about = "many", .inputs = {random({19, 33}, 1), random({37, 33}, 2)}},
                    {.about = "roots of many in several parts",
                     .attributes = {{"metric", std::string("euclidean")}},
                     .inputs = {random({71, 40}, 3), random({133, 40}, 4)}},
                    {.about = "none", .inputs = {f32({3, 2}, {0, 0, 1, 1, 2, 2}), f32({0, 2}, {})}}},
                   {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
