#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

Tensor sample() { return f32({7}, {-3, -1, -0.25f, 0, 0.5f, 1, 4}); }

// A case with expected y at the points of sample().
OpCase at_sample(const std::vector<float>& y, Attributes attributes = {}) {
  return {.about = "values", .attributes = std::move(attributes), .inputs = {sample()}, .outputs = {f32({7}, y)}};
}
// A case with the results for -inf, inf and NaN.
OpCase extremes(float low, float high, Attributes attributes = {}) {
  return {.about = "the ends of the line and NaN",
          .attributes = std::move(attributes),
          .inputs = {f32({3}, {-kInf, kInf, kNaN})},
          .outputs = {f32({3}, {low, high, kNaN})}};
}
// Compares the vector part and the tail, also with other parameters.
OpCase compared_values(Attributes attributes = {}) {
  return {.about = "compared", .attributes = std::move(attributes), .inputs = {random({3, 67}, 1, -12, 12)}};
}

const OpTest relu("Relu", {at_sample({0, 0, 0, 0, 0.5f, 1, 4}), extremes(0, kInf)});
const OpTest leaky_relu("LeakyRelu", {at_sample({-0.75f, -0.25f, -0.0625f, 0, 0.5f, 1, 4}, {{"alpha", 0.25f}}),
                                      at_sample({-0.03f, -0.01f, -0.0025f, 0, 0.5f, 1, 4}), extremes(-kInf, kInf),
                                      compared_values({{"alpha", -2.0f}})});
const OpTest elu("Elu", {at_sample({-1.90042586f, -1.26424112f, -0.442398434f, 0, 0.5f, 1, 4}, {{"alpha", 2.0f}}),
                         extremes(-1, kInf), compared_values({{"alpha", -0.5f}})});
const OpTest selu("Selu",
                  {at_sample({-1.67056873f, -1.11133074f, -0.388890199f, 0, 0.525350511f, 1.05070102f, 4.20280409f}),
                   extremes(-1.75809934f, kInf), compared_values({{"alpha", 2.0f}, {"gamma", -3.0f}})});
const OpTest celu("Celu", {at_sample({-1.55373968f, -0.786938681f, -0.235006195f, 0, 0.5f, 1, 4}, {{"alpha", 2.0f}}),
                           extremes(-1, kInf), compared_values({{"alpha", -0.5f}})});
const OpTest hard_sigmoid("HardSigmoid", {at_sample({0, 0.3f, 0.45f, 0.5f, 0.6f, 0.7f, 1}), extremes(0, 1),
                                          compared_values({{"alpha", -0.5f}, {"beta", 0.25f}})});
const OpTest hard_swish("HardSwish", {at_sample({0, -0.333333333f, -0.114583333f, 0, 0.291666667f, 0.666666667f, 4}),
                                      extremes(kNaN, kInf), compared_values()});
const OpTest sigmoid("Sigmoid", {at_sample({0.0474258732f, 0.268941421f, 0.437823499f, 0.5f, 0.622459331f, 0.731058579f,
                                            0.98201379f}),
                                 extremes(0, 1), compared_values()});
const OpTest tanh_test("Tanh", {at_sample({-0.995054754f, -0.761594156f, -0.244918662f, 0, 0.462117157f, 0.761594156f,
                                           0.9993293f}),
                                extremes(-1, 1), compared_values()});
const OpTest softplus("Softplus", {at_sample({0.0485873516f, 0.313261688f, 0.57593942f, 0.693147181f, 0.974076984f,
                                              1.31326169f, 4.01814993f}),
                                   extremes(0, kInf), compared_values()});
const OpTest softsign("Softsign", {at_sample({-0.75f, -0.5f, -0.2f, 0, 0.333333333f, 0.5f, 0.8f}), compared_values()});
const OpTest mish("Mish",
                  {at_sample({-0.145647461f, -0.303401461f, -0.129926964f, 0, 0.375245211f, 0.865098388f, 3.99741281f}),
                   extremes(kNaN, kInf), compared_values()});
const OpTest swish(
    "Swish",
    {at_sample({-0.14227762f, -0.268941421f, -0.109455875f, 0, 0.311229666f, 0.731058579f, 3.92805516f}),
     at_sample({-0.00741786947f, -0.119202922f, -0.0943851672f, 0, 0.365529289f, 0.880797078f, 3.9986586f},
               {{"alpha", 2.0f}}),
     extremes(kNaN, kInf), extremes(kNaN, kInf, {{"alpha", 2.0f}}), extremes(-kInf, kNaN, {{"alpha", -1.0f}}),
     compared_values({{"alpha", 0.5f}}), compared_values({{"alpha", -1.0f}}), compared_values({{"alpha", 0.0f}})});
const OpTest gelu(
    "Gelu", {at_sample({-0.00404969409f, -0.158655254f, -0.100323419f, 0, 0.345731231f, 0.841344746f, 3.99987332f}),
             at_sample({-0.00363739208f, -0.158808009f, -0.100324649f, 0, 0.34571401f, 0.841191991f, 3.99992975f},
                       {{"approximate", std::string("tanh")}}),
             extremes(kNaN, kInf), extremes(kNaN, kInf, {{"approximate", std::string("tanh")}}), compared_values(),
             compared_values({{"approximate", std::string("tanh")}})});
const OpTest quick_gelu(
    "QuickGelu",
    {at_sample({-0.0180713097f, -0.154204234f, -0.0988003501f, 0, 0.350388437f, 0.845795766f, 3.99558528f}),
     extremes(kNaN, kInf), compared_values({{"alpha", 1.0f}}), compared_values({{"alpha", -0.75f}})},
    {.domain = "com.microsoft"});
const OpTest shrink("Shrink", {at_sample({-2, 0, 0, 0, 0, 0, 3}, {{"lambd", 1.0f}, {"bias", 1.0f}}),
                               at_sample({-3, -1, 0, 0, 0, 1, 4}),
                               {.about = "whole numbers",
                                .attributes = {{"lambd", 1.5f}, {"bias", 1.5f}},
                                .inputs = {i32({4}, {-3, -1, 1, 3})},
                                .outputs = {i32({4}, {-1, 0, 0, 1})},
                                .fixed_types = true}});
const OpTest thresholded_relu("ThresholdedRelu", {at_sample({0, 0, 0, 0, 0, 0, 4}),
                                                  at_sample({0, 0, 0, 0, 0.5f, 1, 4}, {{"alpha", 0.25f}})});

const OpTest prelu("PRelu", {{.about = "a slope for each column",
                              .inputs = {f32({2, 3}, {-1, 2, -3, 4, -5, 0}), f32({3}, {2, 3, 0.5f})},
                              .outputs = {f32({2, 3}, {-2, 2, -1.5f, 4, -15, 0})}},
                             {.about = "a slope for each channel",
                              .inputs = {f32({1, 2, 2}, {-1, 2, -3, -4}), f32({2, 1}, {2, 0.5f})},
                              .outputs = {f32({1, 2, 2}, {-2, 2, -1.5f, -2})}},
                             {.about = "NaN and infinities",
                              .inputs = {f32({4}, {kNaN, -kInf, kInf, -1}), f32({4}, {1, 0.5f, -1, kNaN})},
                              .outputs = {f32({4}, {kNaN, -kInf, kInf, kNaN})}}});

OpCase biased(const std::vector<float>& y) {
  return {.about = "the bias repeats with every row",
          .inputs = {f32({2, 2}, {-1, 1, 0.5f, -1.5f}), f32({2}, {1, 1})},
          .outputs = {f32({2, 2}, y)}};
}
const OpTest bias_gelu("BiasGelu",
                       {biased({0, 1.95449974f, 1.3997892f, -0.154268769f}),
                        {.about = "larger", .inputs = {random({3, 5, 67}), random({67}, 2)}}},
                       {.domain = "com.microsoft"});
const OpTest fast_gelu("FastGelu",
                       {biased({0, 1.95459769f, 1.39957158f, -0.15428599f}),
                        {.about = "without a bias",
                         .inputs = {f32({4}, {0, 2, 1.5f, -0.5f})},
                         .outputs = {f32({4}, {0, 1.95459769f, 1.39957158f, -0.15428599f})}},
                        {.about = "larger", .inputs = {random({3, 5, 67}), random({67}, 2)}}},
                       {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
