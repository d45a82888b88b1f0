#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

const float kLog2 = std::log(2.0f);

Attributes heads(int64_t q, int64_t kv, std::string rule, Attributes more = {}) {
  more.set("q_num_heads", q);
  more.set("kv_num_heads", kv);
  more.set("update_rule", std::move(rule));
  return more;
}

std::vector<OpCase> common_cases() {
  return {{.about = "linear: the sum of values times the products of queries and keys",
           .attributes = heads(1, 1, "linear"),
           .inputs = {f32({1, 2, 1}, {1, 2}), f32({1, 2, 1}, {1, 3}), f32({1, 2, 1}, {5, 7})},
           .outputs = {f32({1, 2, 1}, {5, 52}), f32({1, 1, 1, 1}, {26})},
           .fixed_types = true},
          {.about = "gated: the state halves before each token",
           .attributes = heads(1, 1, "gated", {{"scale", 2.0f}}),
           .inputs = {f32({1, 2, 1}, {1, 1}), f32({1, 2, 1}, {1, 1}), f32({1, 2, 1}, {4, 4}), f32({1, 1, 1, 1}, {8}),
                      f32({1, 2, 1}, {-kLog2, -kLog2})},
           .outputs = {f32({1, 2, 1}, {16, 16}), f32({1, 1, 1, 1}, {8})},
           .tolerance = 4},
          {.about = "delta: what is known already is not added",
           .attributes = heads(1, 1, "delta"),
           .inputs = {f32({1, 2, 1}, {1, 1}), f32({1, 2, 1}, {1, 1}), f32({1, 2, 1}, {4, 4}), kNone, kNone,
                      f32({1, 2, 1}, {0.5f, 1})},
           .outputs = {f32({1, 2, 1}, {2, 4}), f32({1, 1, 1, 1}, {4})},
           .fixed_types = true},
          {.about = "gated_delta, a decay for each key, one rate for all heads",
           .attributes = heads(2, 2, "gated_delta", {{"scale", 1.0f}}),
           .inputs = {f32({1, 1, 4}, {1, 1, 1, 1}), f32({1, 1, 4}, {1, 0, 0, 1}), f32({1, 1, 2}, {3, 5}),
                      f32({1, 2, 2, 1}, {2, 4, 2, 4}), f32({1, 1, 4}, {-kLog2, 0, 0, -kLog2}), f32({1, 1, 1}, {1})},
           .outputs = {f32({1, 1, 2}, {7, 7}), f32({1, 2, 2, 1}, {3, 4, 2, 5})},
           .tolerance = 4},
          {.about = "two heads of queries share a state",
           .attributes = heads(2, 1, "linear"),
           .inputs = {f32({1, 1, 2}, {1, 2}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {5})},
           .outputs = {f32({1, 1, 2}, {5, 10}), f32({1, 1, 1, 1}, {5})},
           .fixed_types = true},
          {.about = "two heads of queries for each of two states, in two batches",
           .attributes = heads(4, 2, "linear"),
           .inputs = {f32({2, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), f32({2, 1, 2}, {1, 10, 2, 3}),
                      f32({2, 1, 2}, {5, 7, 1, 4})},
           .outputs = {f32({2, 1, 4}, {5, 10, 210, 280, 10, 12, 84, 96}), f32({2, 2, 1, 1}, {5, 70, 2, 12})},
           .fixed_types = true},
          {.about = "each head and token has its decay and its rate; the state has a type of its own",
           .attributes = heads(2, 2, "gated_delta", {{"scale", 1.0f}}),
           .inputs = {f32({1, 2, 2}, {1, 1, 1, 2}), f32({1, 2, 2}, {1, 2, 1, 1}), f32({1, 2, 2}, {6, 8, 4, 10}),
                      cast_to(f32({1, 2, 1, 1}, {4, 2}), DType::f16), f32({1, 2, 2}, {-kLog2, 0, 0, -kLog2}),
                      f32({1, 2, 2}, {0.5f, 1, 1, 0.25f})},
           .outputs = {f32({1, 2, 2}, {4, 10, 4, 12.5f}), cast_to(f32({1, 2, 1, 1}, {4, 6.25f}), DType::f16)},
           .fixed_types = true,
           .tolerance = 4},
          {.about = "each batch has its decay",
           .attributes = heads(1, 1, "gated"),
           .inputs = {f32({2, 1, 1}, {1, 1}), f32({2, 1, 1}, {1, 1}), f32({2, 1, 1}, {0, 1}), f32({2, 1, 1, 1}, {8, 8}),
                      f32({2, 1, 1}, {-kLog2, 0})},
           .outputs = {f32({2, 1, 1}, {4, 9}), f32({2, 1, 1, 1}, {4, 9})},
           .tolerance = 4},
          {.about = "the state is not requested",
           .attributes = heads(1, 1, "linear"),
           .inputs = {f32({1, 2, 1}, {1, 2}), f32({1, 2, 1}, {1, 3}), f32({1, 2, 1}, {5, 7}), f32({1, 1, 1, 1}, {1})},
           .outputs = {f32({1, 2, 1}, {6, 54})},
           .fixed_types = true},
          {.about = "many of everything",
           .attributes = heads(4, 2, "gated_delta"),
           .inputs = {random({2, 9, 32}, 1, -1, 1), random({2, 9, 16}, 2, -0.5, 0.5), random({2, 9, 12}, 3),
                      random({2, 2, 8, 6}, 4), random({2, 9, 2}, 5, -1, 0), random({2, 9, 2}, 6, 0, 1)}}};
}

std::vector<OpCase> microsoft_cases() {
  std::vector<OpCase> cases = common_cases();
  cases.push_back({.about = "two states for a head of queries and keys",
                   .attributes = heads(1, 2, "linear"),
                   .inputs = {f32({1, 1, 1}, {2}), f32({1, 1, 1}, {3}), f32({1, 1, 2}, {5, 7})},
                   .outputs = {f32({1, 1, 2}, {30, 42}), f32({1, 2, 1, 1}, {15, 21})},
                   .fixed_types = true});
  cases.push_back({.about = "two states for each head of queries and of keys, in two batches",
                   .attributes = heads(2, 4, "linear"),
                   .inputs = {f32({2, 1, 2}, {2, 3, 5, 7}), f32({2, 1, 2}, {1, 10, 100, 1000}),
                              f32({2, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
                   .outputs = {f32({2, 1, 4}, {2, 4, 90, 120, 2500, 3000, 49000, 56000}),
                               f32({2, 4, 1, 1}, {1, 2, 30, 40, 500, 600, 7000, 8000})},
                   .fixed_types = true});
  return cases;
}

const OpTest linear_attention("LinearAttention", common_cases(), {.tolerance = 4});
const OpTest microsoft_linear_attention("LinearAttention", microsoft_cases(),
                                        {.domain = "com.microsoft", .tolerance = 4});

// A model with one head of keys of two elements and values of three, of which one input is replaced.
void expect_refused(const char* domain, const Attributes& attributes, size_t input, const Tensor& other) {
  std::vector<Tensor> inputs = {random({2, 5, 2}),    random({2, 5, 2}), random({2, 5, 3}),
                                random({2, 1, 2, 3}), random({2, 5, 1}), random({2, 5, 1})};
  EXPECT_NO_THROW(OpRun(domain, "LinearAttention", attributes, inputs, 2).run());
  inputs[input] = other;
  EXPECT_THROW(OpRun(domain, "LinearAttention", attributes, inputs, 2).run(), Error) << "input " << input;
}

TEST(LinearAttention, RefusesInputsThatDoNotFit) {
  for (const char* domain : {"", "com.microsoft"}) {
    const Attributes attributes = heads(1, 1, "gated_delta");
    expect_refused(domain, attributes, 0, random({5, 2}));
    expect_refused(domain, attributes, 1, random({2, 4, 2}));
    expect_refused(domain, attributes, 1, random({2, 5, 3}));
    expect_refused(domain, attributes, 2, random({1, 5, 3}));
    expect_refused(domain, attributes, 3, random({2, 1, 3, 2}));
    expect_refused(domain, attributes, 4, random({2, 5, 3}));
    expect_refused(domain, attributes, 4, {});
    expect_refused(domain, attributes, 5, random({2, 5, 2}));
    expect_refused(domain, attributes, 5, {});
  }
}

TEST(LinearAttention, RefusesHeadsThatAreNoMultiples) {
  const auto run = [](const char* domain, int64_t q, int64_t kv, int64_t keys) {
    OpRun(domain, "LinearAttention", heads(q, kv, "linear"),
          {random({1, 2, q}), random({1, 2, keys}), random({1, 2, kv})}, 2)
        .run();
  };
  EXPECT_NO_THROW(run("", 4, 2, 2));
  EXPECT_THROW(run("", 2, 4, 2), Error);
  EXPECT_NO_THROW(run("com.microsoft", 2, 4, 2));
  EXPECT_THROW(run("com.microsoft", 2, 3, 3), Error);
  EXPECT_THROW(run("com.microsoft", 3, 2, 2), Error);
  EXPECT_THROW(run("com.microsoft", 2, 4, 3), Error);
}

const OpTest gated_delta_net(
    "GatedDeltaNet",
    {{.about = "two requests, one of no tokens, whose states are kept by value",
      .attributes = {{"update_rule", std::string("linear")}},
      .inputs = {f32({2, 1, 1}, {1, 2}), f32({2, 1, 1}, {1, 3}), f32({2, 1, 1}, {5, 7}), i32({3}, {0, 0, 2}), kNone,
                 kNone, f32({2, 1, 1, 1}, {9, 1})},
      .outputs = {f32({2, 1, 1}, {6, 54}), f32({2, 1, 1, 1}, {9, 27})}},
     {.about = "side by side, two heads of values for one of keys, what is added is kept",
      .attributes = {{"update_rule", std::string("delta")}, {"state_update_capacity", int64_t(2)}},
      .inputs = {f32({1, 4}, {1, 1, 4, 6}), kNone, kNone, i32({2}, {0, 1}), kNone, f32({1, 2}, {1, 0.5f}),
                 f32({1, 2, 1, 1}, {1, 2}), kNone, kNone, i32({1}, {5})},
      .outputs = {f32({1, 2, 1}, {4, 4}), f32({1, 2, 1, 1}, {4, 4}), f32({1, 10}, {1, 1, 0, 0, 1, 0, 3, 2, 0, 0})}},
     {.about = "gates of activations, keys normalised",
      .attributes = {{"gate_activation", std::string("softplus")},
                     {"beta_activation", std::string("sigmoid")},
                     {"qk_l2_norm", int64_t(1)}},
      .inputs = {f32({1, 1, 1, 1}, {4}), f32({1, 1, 1, 1}, {-2}), f32({1, 1, 1, 1}, {6}), kNone, f32({1, 1, 1}, {1}),
                 f32({1, 1, 1}, {0}), f32({1, 1, 1, 1}, {8}), f32({1}, {0}), f32({1}, {-1})},
      .outputs = {f32({1, 1, 1, 1}, {-1}), f32({1, 1, 1, 1}, {-1})},
      .tolerance = 4},
     {.about = "bounded decays for each key",
      .attributes = {{"update_rule", std::string("gated")},
                     {"gate_activation", std::string("kda")},
                     {"gate_lower_bound", -2 * kLog2}},
      .inputs = {f32({1, 1, 2}, {1, 1}), f32({1, 1, 2}, {0, 0}), f32({1, 1, 1}, {6}), i32({2}, {0, 1}),
                 f32({1, 1, 2}, {0, 0}), kNone, f32({1, 1, 1, 2}, {8, 4}), f32({1}, {0}), f32({1, 2}, {0, 0})},
      .outputs = {kNone, f32({1, 1, 1, 2}, {4, 2})},
      .tolerance = 4},
     {.about = "several blocks of tokens",
      .attributes = {{"qk_l2_norm", int64_t(1)}},
      .inputs = {random({70, 2, 9}), random({70, 2, 9}, 2), random({70, 4, 37}, 3), i32({4}, {0, 1, 1, 70}),
                 random({70, 4}, 4, -1, 0), random({70, 4}, 5, 0, 1), random({3, 4, 37, 9}, 6)}},
     {.about = "a decay for each key, side by side, of two requests of as many tokens",
      .attributes = {{"update_rule", std::string("gated")}},
      .inputs = {random({2, 35, 28}), kNone, kNone, kNone, random({2, 35, 1, 5}, 2, -1, 0), kNone,
                 random({2, 1, 18, 5}, 3)}}},
    {.domain = "com.microsoft", .tolerance = 4});

const OpTest varlen_causal_conv_with_state(
    "VarlenCausalConvWithState",
    {{.about = "each sequence follows its own state",
      .inputs = {f32({3, 1}, {1, 2, 3}), f32({1, 1, 2}, {10, 1}), i32({3}, {0, 1, 3}), f32({1}, {0.5f}),
                 f32({2, 1, 1}, {7, 8})},
      .outputs = {f32({3, 1}, {71.5f, 82.5f, 23.5f}), f32({2, 1, 1}, {1, 3})}},
     {.about = "taps that lie apart, first tokens kept",
      .attributes = {{"dilation", int64_t(2)}, {"state_update_capacity", int64_t(2)}},
      .inputs = {f32({1, 2}, {1, 2}), f32({2, 1, 2}, {1, 0, 1, 1}), i32({2}, {0, 1}), kNone,
                 f32({1, 2, 2}, {5, 6, 7, 8}), i32({1}, {9})},
      .outputs = {f32({1, 2}, {5, 9}), f32({1, 2, 2}, {6, 1, 8, 2}), f32({1, 2, 2}, {1, 2, 0, 0})}},
     {.about = "activated",
      .attributes = {{"activation", std::string("silu")}},
      .inputs = {f32({1, 1}, {1}), f32({1, 1, 1}, {0}), i32({2}, {0, 1}), kNone, f32({1, 1, 0}, {})},
      .outputs = {f32({1, 1}, {0}), f32({1, 1, 0}, {})}}},
    {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
