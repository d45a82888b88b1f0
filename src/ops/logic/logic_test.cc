#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Tensor kA = booleans({4}, {false, false, true, true}), kB = booleans({4}, {false, true, false, true});
const OpTest conjunction(
    "And", {{.about = "table", .inputs = {kA, kB}, .outputs = {booleans({4}, {false, false, false, true})}},
            {.about = "broadcasts",
             .inputs = {booleans({2, 1}, {true, false}), booleans({2}, {true, false})},
             .outputs = {booleans({2, 2}, {true, false, false, false})}}});
const OpTest disjunction(
    "Or", {{.about = "table", .inputs = {kA, kB}, .outputs = {booleans({4}, {false, true, true, true})}}});
const OpTest exclusive(
    "Xor", {{.about = "table", .inputs = {kA, kB}, .outputs = {booleans({4}, {false, true, true, false})}}});
const OpTest negation(
    "Not", {{.about = "table", .inputs = {booleans({2}, {true, false})}, .outputs = {booleans({2}, {false, true})}}});

OpCase compared(const std::vector<bool>& expected) {
  return {.about = "less, equal, greater, NaN",
          .inputs = {f32({4}, {1, 2, 3, kNaN}), f32({}, {2})},
          .outputs = {booleans({4}, expected)}};
}
const OpTest equal("Equal", {compared({false, true, false, false}),
                             {.about = "strings",
                              .inputs = {strings({2}, {"a", "b"}), strings({1}, {"b"})},
                              .outputs = {booleans({2}, {false, true})}},
                             {.about = "booleans",
                              .inputs = {kA, kB},
                              .outputs = {booleans({4}, {true, false, false, true})},
                              .fixed_types = true}});
const OpTest less("Less", {compared({true, false, false, false})});
const OpTest less_or_equal("LessOrEqual", {compared({true, true, false, false})});
const OpTest greater("Greater", {compared({false, false, true, false})});
const OpTest greater_or_equal("GreaterOrEqual",
                              {compared({false, true, true, false}),
                               {.about = "large numbers",
                                .inputs = {i64({2}, {INT64_MAX, INT64_MAX - 1}), i64({1}, {INT64_MAX})},
                                .outputs = {booleans({2}, {true, false})},
                                .fixed_types = true}});

const OpTest where("Where", {{.about = "broadcasts all three",
                              .inputs = {booleans({2, 1}, {true, false}), f32({2}, {1, 2}), f32({}, {9})},
                              .outputs = {f32({2, 2}, {1, 2, 9, 9})}},
                             {.about = "strings",
                              .inputs = {booleans({2}, {true, false}), strings({2}, {"a", "b"}), strings({1}, {"c"})},
                              .outputs = {strings({2}, {"a", "c"})}},
                             {.about = "empty",
                              .inputs = {booleans({0}, {}), f32({0}, {}), f32({1}, {9})},
                              .outputs = {f32({0}, {})}}});

}  // namespace
}  // namespace retort::ops
