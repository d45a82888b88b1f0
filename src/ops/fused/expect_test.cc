#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;

const OpTest expect("Expect",
                    {{.about = "the shape of another value",
                      .attributes = {{"name", std::string("up")}},
                      .inputs = {f32({2, 1}, {1, 2}), f32({2, 1}, {3, 4})},
                      .outputs = {f32({2, 1}, {1, 2})}},
                     {.about = "a number, any extent, and that of axis 1 of another value",
                      .attributes = {{"name", std::string("x")}, {"dims", Ints{2, -1, -3}}},
                      .inputs = {f32({2, 1, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 3}, {7, 8, 9})},
                      .outputs = {f32({2, 1, 3}, {1, 2, 3, 4, 5, 6})}},
                     {.about = "the last extent of another value",
                      .attributes = {{"name", std::string("x")}, {"dims", Ints{INT64_MIN}}},
                      .inputs = {f32({2}, {1, 2}), f32({1, 2}, {7, 8})},
                      .outputs = {f32({2}, {1, 2})}},
                     {.about = "or one element",
                      .attributes = {{"name", std::string("x")}, {"dims", Ints{3}}, {"or_one", int64_t(1)}},
                      .inputs = {f32({}, {1})},
                      .outputs = {f32({}, {1})}},
                     {.about = "numbers alone",
                      .attributes = {{"name", std::string("x")}, {"dims", Ints{3}}},
                      .inputs = {f32({3}, {1, 2, 3})},
                      .outputs = {f32({3}, {1, 2, 3})}}},
                    {.domain = "retort"});

}  // namespace
}  // namespace retort::ops
