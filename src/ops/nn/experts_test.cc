// Mixtures of experts beside plain loops, and the router that chooses them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/checked.h"
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

// Rows of 32 codes of 3 bits of two experts, the first in the lowest bits: 4, which means 0, but for some (row, column,
// code) of the second.
Tensor triples(int64_t rows, const std::vector<std::array<size_t, 3>>& others) {
  std::vector<uint8_t> bytes(size_t(rows) * 24);
  const auto put = [&](size_t row, size_t column, size_t code) {
    for (size_t bit = 0; bit < 3; ++bit) {
      uint8_t& byte = bytes[row * 12 + (3 * column + bit) / 8];
      const auto mask = uint8_t(1 << (3 * column + bit) % 8);
      byte = code >> bit & 1 ? byte | mask : byte & ~mask;
    }
  };
  for (size_t i = 0; i < size_t(rows) * 64; ++i) put(i / 32, i % 32, 4);
  for (const auto& [row, column, code] : others) put(size_t(rows) + row, column, code);
  return u8({2, rows, 12}, bytes);
}
Tensor halves(const Tensor& t) { return cast_to(t, DType::f16); }
OpCase with_triples() {
  std::vector<float> x(32, 0), y(32, 0);
  x[2] = 1;
  const float inner = -6 / (1 + std::exp(-3.0f));  // gate 3, linear -2, of the inner element 5
  y[0] = inner / 2;                                // the second expert is chosen, whose probability is a half
  y[1] = -4 * inner / 2;
  return {.about = "codes of 3 bits",
          .attributes = {{"activation_type", std::string("swiglu")},
                         {"swiglu_fusion", int64_t(1)},
                         {"weights_prepacked", int64_t(0)},
                         {"block_size", int64_t(32)},
                         {"expert_weight_bits", int64_t(3)}},
          .inputs = {halves(f32({1, 32}, x)),
                     halves(f32({1, 2}, {0, 0})),
                     triples(64, {{10, 2, 7}, {11, 2, 2}}),
                     halves(f32({2, 64, 1}, std::vector<float>(128, 1))),
                     {},
                     triples(32, {{0, 5, 5}, {1, 5, 0}}),
                     halves(f32({2, 32, 1}, std::vector<float>(64, 1)))},
          .outputs = {halves(f32({1, 32}, y))},
          .fixed_types = true};
}

/// The same mixture with codes for weights: constants are packed, others are decoded in the run.
struct CodesMixture {
  size_t bits, block;  ///< block 0: a scale for each row
  bool zeros;
  Mixture floats;
  std::vector<Tensor> layers[2] = {};  ///< codes, scales, zero points

  size_t code(const Tensor& t, size_t i) const {
    return t.data<uint8_t>()[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
  }
  // Draws the codes of a layer, and replaces its floats by what they mean.
  void draw(size_t layer, Tensor& weights, uint32_t seed) {
    const int64_t rows = weights.shape()[1], columns = weights.shape()[2];
    const int64_t size = block ? int64_t(block) : columns, blocks = columns / size;
    const auto bytes = [&](Shape shape, uint32_t from) { return cast_to(random(shape, from, 0, 255), DType::u8); };
    const Tensor codes = bytes({3, rows, columns * int64_t(bits) / 8}, seed);
    const Tensor scales = random(block ? Shape{3, rows, blocks} : Shape{3, rows}, seed + 1, 0.125, 0.5);
    const int64_t per_row = ceil_div((block ? blocks : rows) * int64_t(bits), int64_t(8));
    const Tensor points = bytes(block ? Shape{3, rows, per_row} : Shape{3, per_row}, seed + 2);
    for (int64_t i = 0; i < 3 * rows * columns; ++i) {
      const int64_t row = i / columns, at = i % columns / size, lines = block ? row : row / rows;
      const auto in_row = size_t(block ? at : row % rows);
      const double zero =
          zeros ? double(code(points, size_t(lines * per_row) * 8 / bits + in_row)) : double(1 << (bits - 1));
      const double scale = scales.data<float>()[row * blocks + at];
      weights.mutable_data<float>()[i] = float((double(code(codes, size_t(i))) - zero) * scale);
    }
    layers[layer] = {codes, scales, zeros ? points : Tensor()};
  }
  OpCase test(std::string about) {
    draw(0, floats.first, 10);
    draw(1, floats.second, 20);
    OpCase c = floats.test(std::move(about), true);
    c.attributes.set("expert_weight_bits", int64_t(bits));
    if (block) c.attributes.set("block_size", int64_t(block));
    c.inputs = {floats.x,          floats.scores, layers[0][0], layers[0][1],
                floats.first_bias, layers[1][0],  layers[1][1], floats.second_bias};
    if (zeros) c.inputs.insert(c.inputs.end(), {Tensor(), Tensor(), Tensor(), layers[0][2], layers[1][2]});
    return c;
  }
};
const OpTest q_moe("QMoE",
                   {with_triples(),
                    {.about = "a scale for each row; half of the range is zero",
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
                     .outputs = {f32({1, 2}, {5, -57})}},
                    CodesMixture{4, 32, true, {.tokens = 3, .hidden = 64, .inner = 32}}.test("blocks, few tokens"),
                    CodesMixture{4, 16, false, {.tokens = 29, .hidden = 48, .inner = 80}}.test("blocks, many tokens"),
                    CodesMixture{8, 0, true, {.tokens = 4, .hidden = 32, .inner = 96}}.test("8 bits in rows"),
                    CodesMixture{8, 32, false, {.tokens = 31, .hidden = 64, .inner = 32}}.test("8 bits in blocks"),
                    CodesMixture{2, 0, true, {.tokens = 7, .hidden = 64, .inner = 48}}.test("2 bits"),
                    CodesMixture{4, 512, false, {.tokens = 2, .hidden = 512, .inner = 512}}.test("large blocks")},
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
