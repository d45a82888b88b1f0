#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes reduced(const char* how) { return {{"reduction", std::string(how)}}; }
// Two elements of three classes, at two positions each.
const Tensor kLogs = f32({2, 3, 2}, {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12});
const Tensor kTargets = i64({2, 2}, {0, 2, 1, 0});

const OpTest likelihood(
    "NegativeLogLikelihoodLoss",
    {{.about = "one for each element",
      .attributes = reduced("none"),
      .inputs = {kLogs, kTargets},
      .outputs = {f32({2, 2}, {1, 6, 9, 8})}},
     {.about = "the mean", .inputs = {kLogs, kTargets}, .outputs = {f32({}, {6})}},
     {.about = "the sum, with weights",
      .attributes = reduced("sum"),
      .inputs = {kLogs, kTargets, f32({3}, {1, 2, 0.5f})},
      .outputs = {f32({}, {1 + 3 + 18 + 8})}},
     {.about = "the mean by the weights of elements that are not ignored; ignored classes may have any index",
      .attributes = {{"ignore_index", int64_t(-5)}},
      .inputs = {kLogs, i32({2, 2}, {0, 2, -5, -5}), f32({3}, {1, 2, 0.5f})},
      .outputs = {f32({}, {4 / 1.5f})}},
     {.about = "a matrix",
      .attributes = reduced("none"),
      .inputs = {f32({2, 2}, {-1, -2, -3, -4}), i32({2}, {1, 0})},
      .outputs = {f32({2}, {2, 3})}}});

const float kLn2 = std::log(2.0f), kLn4 = std::log(4.0f);
const OpTest cross_entropy(
    "SoftmaxCrossEntropyLoss",
    {{.about = "log of the softmax over axis 1",
      .attributes = reduced("none"),
      .inputs = {f32({2, 2}, {0, 0, kLn4, kLn4 - kLn4}), i64({2}, {1, 1})},
      .outputs = {f32({2}, {kLn2, std::log(5.0f)}),
                  f32({2, 2}, {-kLn2, -kLn2, kLn4 - std::log(5.0f), -std::log(5.0f)})}},
     {.about = "the mean at two positions, one of them ignored",
      .attributes = {{"ignore_index", int64_t(1)}},
      .inputs = {f32({1, 2, 2}, {0, 7, 0, 9}), i64({1, 2}, {0, 1})},
      .outputs = {f32({}, {kLn2}), Tensor()}},
     {.about = "the sum, large scores",
      .attributes = reduced("sum"),
      .inputs = {f32({1, 2}, {10000, 10000}), i64({1}, {0}), f32({2}, {2, 1})},
      .outputs = {f32({}, {2 * kLn2}), f32({1, 2}, {-kLn2, -kLn2})},
      .fixed_types = true},
     {.about = "long rows", .attributes = reduced("none"), .inputs = {random({3, 1027}), i64({3}, {0, 1026, 513})}},
     {.about = "a row of -inf and of NaN",
      .attributes = reduced("none"),
      .inputs = {f32({3, 2}, {-kInf, 7, kNaN, 1, -kInf, -kInf}), i64({3}, {1, 0, 0})},
      .outputs = {f32({3}, {0, kNaN, kNaN}), f32({3, 2}, {-kInf, 0, kNaN, kNaN, kNaN, kNaN})}},
     {.about = "many positions, weights",
      .inputs = {random({2, 5, 67}), cast_to(random({2, 67}, 2, 0, 4), DType::i64), random({5})},
      .fixed_types = true}});

}  // namespace
}  // namespace retort::ops
