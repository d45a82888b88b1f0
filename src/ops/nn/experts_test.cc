// Mixtures of experts beside plain loops, and the router that chooses them.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

/// A mixture of two of three experts by plain loops: floats for weights, ReLU between the layers.
struct Mixture {
  int64_t tokens, hidden, inner;
  Tensor x = random({tokens, hidden}, 1, -1, 1), scores = random({tokens, 3}, 2, -2, 2);
  Tensor first = random({3, inner, hidden}, 3, -1, 1), second = random({3, hidden, inner}, 4, -1, 1);
  Tensor first_bias = random({3, inner}, 5, -1, 1), second_bias = random({3, hidden}, 6, -1, 1);

  double expert(int64_t e, int64_t token, int64_t out) const {
    double sum = second_bias.data<float>()[e * hidden + out];
    for (int64_t i = 0; i < inner; ++i) {
      double between = first_bias.data<float>()[e * inner + i];
      for (int64_t j = 0; j < hidden; ++j)
        between +=
            double(first.data<float>()[(e * inner + i) * hidden + j]) * double(x.data<float>()[token * hidden + j]);
      sum += std::max(between, 0.0) * double(second.data<float>()[(e * hidden + out) * inner + i]);
    }
    return sum;
  }
  /// `normalize`: the shares of the chosen add up to 1.
  Tensor result(bool normalize) const {
    Tensor y(DType::f32, {tokens, hidden});
    for (int64_t t = 0; t < tokens; ++t) {
      const float* s = scores.data<float>() + t * 3;
      int64_t least = 0;  // the expert that is not chosen: of equal ones the first
      for (int64_t e = 1; e < 3; ++e)
        if (s[e] < s[least]) least = e;
      double all = 0;
      for (int64_t e = 0; e < 3; ++e) all += normalize && e == least ? 0 : std::exp(double(s[e]));
      for (int64_t j = 0; j < hidden; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < 3; ++e) sum += e == least ? 0 : std::exp(double(s[e])) / all * expert(e, t, j);
        y.mutable_data<float>()[t * hidden + j] = float(sum);
      }
    }
    return y;
  }
  OpCase test(std::string about, bool normalize) const {
    return {.about = std::move(about),
            .attributes = {{"k", int64_t(2)}, {"normalize_routing_weights", int64_t(normalize)}},
            .inputs = {x, scores, first, first_bias, second, second_bias},
            .outputs = {result(normalize)},
            .fixed_types = true,
            .tolerance = 20};
  }
};

const Attributes gated(int64_t fusion) {
  return {{"activation_type", std::string("swiglu")},
          {"swiglu_fusion", fusion},
          {"swiglu_limit", 2.0f},
          {"activation_beta", 1.0f}};
}
// One expert of one number: gate 4 · x and linear -3 · x; twice their product with the sigmoid.
const float kGated = 2 * (2 / (1 + std::exp(-2.0f))) * (-2 + 1);

const OpTest moe(
    "MoE",
    {Mixture{.tokens = 5, .hidden = 8, .inner = 6}.test("two of three experts", false),
     Mixture{.tokens = 9, .hidden = 17, .inner = 33}.test("shares add up to 1", true),
     {.about = "gated: operands side by side, both clipped",
      .attributes = gated(1),
      .inputs = {f32({1, 1, 1}, {1}), f32({1, 1}, {0}), f32({1, 2, 1}, {4, -3}), {}, f32({1, 1, 1}, {2})},
      .outputs = {f32({1, 1, 1}, {kGated})}},
     {.about = "gated: operands one after the other",
      .attributes = gated(2),
      .inputs = {f32({1, 1}, {1}), f32({1, 1}, {0}), f32({1, 2, 1}, {4, -3}), {}, f32({1, 1, 1}, {2})},
      .outputs = {f32({1, 1}, {kGated})}},
     {.about = "gated: a matrix of their own",
      .attributes = gated(0),
      .inputs =
          {f32({1, 1}, {1}), f32({1, 1}, {0}), f32({1, 1, 1}, {4}), {}, f32({1, 1, 1}, {2}), {}, f32({1, 1, 1}, {-3})},
      .outputs = {f32({1, 1}, {kGated})}},
     {.about = "no tokens",
      .inputs = {f32({0, 4}, {}), f32({0, 2}, {}), random({2, 3, 4}), {}, random({2, 4, 3})},
      .outputs = {f32({0, 4}, {})}}},
    {.domain = "com.microsoft", .tolerance = 8});

const OpTest q_moe("QMoE",
                   {{.about = "a scale for each row; half of the range is zero",
                     .attributes = {{"activation_type", std::string("identity")}},
                     .inputs = {f32({1, 2}, {1, 10}), f32({1, 2}, {0, 1}), u8({2, 2, 1}, {0, 0, 0x98, 0x7a}),
                                f32({2, 2}, {9, 9, 1, 2}), f32({2, 2}, {0, 0, 1, 0}), u8({2, 2, 1}, {0, 0, 0x89, 0x98}),
                                f32({2, 2}, {9, 9, 1, 3})},
                     .outputs = {f32({1, 2}, {11, -48})}},
                    {.about = "zero points by row, router weights",
                     .attributes = {{"activation_type", std::string("identity")}, {"k", int64_t(1)}},
                     .inputs = {f32({1, 2}, {1, 10}),
                                f32({1, 1}, {0}),
                                u8({1, 2, 1}, {0x98, 0x7a}),
                                f32({1, 2}, {1, 2}),
                                {},
                                u8({1, 2, 1}, {0x89, 0x98}),
                                f32({1, 2}, {1, 3}),
                                {},
                                {},
                                {},
                                {},
                                u8({1, 1}, {0x98}),
                                {},
                                {},
                                f32({1, 1}, {0.5f})},
                     .outputs = {f32({1, 2}, {5, -57})}}},
                   {.domain = "com.microsoft", .tolerance = 8});

float log_sigmoid(float x) { return -std::log(1 + std::exp(-x)); }
const OpTest moe_group_router(
    "MoEGroupRouter",
    {{.about = "the best of all",
      .attributes = {{"top_k", int64_t(2)}},
      .inputs = {f32({1, 4}, {1, 2, -1, 0}), f32({4}, {0, 0, 2, 0})},
      .outputs = {f32({1, 4}, {-10000, log_sigmoid(2), log_sigmoid(-1), -10000})}},
     {.about = "of two groups, the one with the better pair",
      .attributes = {{"top_k", int64_t(1)}, {"n_group", int64_t(2)}, {"router_sentinel", -1.0f}},
      .inputs = {f32({1, 1, 4}, {9, -9, 1, 1}), f32({4}, {0, 0, 0, 0})},
      .outputs = {f32({1, 4}, {-1, -1, log_sigmoid(1), -1})}},
     {.about = "all scores, of projected activations",
      .attributes = {{"top_k", int64_t(1)}},
      .inputs = {f32({1, 2}, {1, 0}), f32({2}, {0, 1}), f32({2, 2}, {0, 7, 0, 8})},
      .outputs = {{}, f32({1, 2}, {0.5f, 1.5f}), f32({1, 2}, {0.5f, 0.5f})}}},
    {.domain = "com.microsoft", .tolerance = 8});

}  // namespace
}  // namespace retort::ops
