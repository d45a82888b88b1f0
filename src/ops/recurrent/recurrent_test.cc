#include "ops/op_test.h"

namespace retort::ops {
namespace {

// Cases with weights of `gates` blocks for every form that the operators have in common: shapes with tails, all
// options.
std::vector<OpCase> forms(int64_t gates, bool cell, std::vector<OpCase> own) {
  const int64_t hidden = 35, width = gates * hidden;
  const auto inputs = [&](int64_t steps, int64_t batch, int64_t in, int64_t d, bool batch_major) {
    return std::vector<Tensor>{random(batch_major ? Shape{batch, steps, in} : Shape{steps, batch, in}, 1, -1, 1),
                               random({d, width, in}, 2, -0.5, 0.5), random({d, width, hidden}, 3, -0.5, 0.5)};
  };
  const auto add = [&](std::string about, Attributes attributes, std::vector<Tensor> in) {
    own.push_back({.about = std::move(about),
                   .attributes = std::move(attributes),
                   .inputs = std::move(in),
                   .output_count = size_t(cell ? 3 : 2)});
  };
  const auto with_state = [&](std::vector<Tensor> in, int64_t batch, int64_t d, bool batch_major, Tensor lengths) {
    const Shape state = batch_major ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
    in.push_back(random({d, 2 * width}, 4, -1, 1));
    in.push_back(std::move(lengths));
    in.push_back(random(state, 5, -1, 1));
    if (cell) in.push_back(random(state, 6, -1, 1));
    if (cell) in.push_back(random({d, 3 * hidden}, 7, -1, 1));
    return in;
  };
  add("one item", {}, inputs(9, 1, 17, 1, false));
  add("a batch, backwards", {{"direction", "reverse"}}, inputs(5, 3, 16, 1, false));
  add("both directions, states and lengths", {{"direction", "bidirectional"}, {"hidden_size", hidden}},
      with_state(inputs(4, 3, 7, 2, false), 3, 2, false, i32({3}, {4, 0, 2})));
  add("batch first", {{"direction", "bidirectional"}, {"layout", int64_t(1)}},
      with_state(inputs(4, 3, 7, 2, true), 3, 2, true, i32({3}, {1, 4, 3})));
  add("clipped", {{"clip", 0.25f}}, with_state(inputs(3, 2, 5, 1, false), 2, 1, false, kNone));
  add("no steps", {}, with_state(inputs(0, 2, 5, 1, false), 2, 1, false, kNone));
  add("no batch", {}, inputs(3, 0, 5, 1, false));
  add("no input elements", {}, inputs(3, 2, 0, 1, false));
  return own;
}

// Cases whose steps have several tasks (unit_tasks.h): a batch, one item, and items that end early.
std::vector<OpCase> large(int64_t gates, bool cell, int64_t hidden, const Attributes& attributes) {
  const int64_t width = gates * hidden;
  std::vector<OpCase> cases;
  for (const int64_t batch : {1, 3}) {
    std::vector<Tensor> inputs{random({4, batch, 5}, 1, -1, 1), random({1, width, 5}, 2, -0.5, 0.5),
                               random({1, width, hidden}, 3, -0.25, 0.25), random({1, 2 * width}, 4, -0.5, 0.5)};
    if (batch == 3) inputs.push_back(i32({3}, {4, 0, 2}));
    cases.push_back({.about = cat("several tasks, {} items", batch),
                     .attributes = attributes,
                     .inputs = std::move(inputs),
                     .output_count = size_t(cell ? 3 : 2),
                     .fixed_types = true});
  }
  return cases;
}

const OpTest large_rnn("RNN", large(1, false, 384, {}));
const OpTest large_gru("GRU", large(3, false, 288, {}));
const OpTest large_gru_reset_after("GRU", large(3, false, 288, {{"linear_before_reset", int64_t(1)}}));
const OpTest large_gru_clipped("GRU", large(3, false, 288, {{"linear_before_reset", int64_t(1)}, {"clip", 0.25f}}));
const OpTest large_lstm("LSTM", large(4, true, 224, {}));
// Several tasks only with several threads.
const OpTest divided_lstm("LSTM", large(4, true, 160, {}));
const OpTest large_lstm_backwards("LSTM", large(4, true, 224, {{"direction", "reverse"}}));

const OpTest rnn("RNN",
                 forms(1, false,
                       {{.about = "only weights, the schema's two functions for one direction",
                         .attributes = {{"activations", std::vector<std::string>{"Tanh", "Tanh"}}},
                         .inputs = {f32({2, 2, 1}, {0, 0, 0.5f, 1}), f32({1, 2, 1}, {-1, -0.75f}),
                                    f32({1, 2, 2}, {0.75f, 1, -0.5f, -0.5f})},
                         .outputs = {f32({2, 1, 2, 2}, {0, 0, 0, 0, -0.4621171f, -0.3583574f, -0.7615942f, -0.635149f}),
                                     f32({1, 2, 2}, {-0.4621171f, -0.3583574f, -0.7615942f, -0.635149f})}},
                        {.about = "both directions, all inputs",
                         .attributes = {{"direction", "bidirectional"}},
                         .inputs = {f32({2, 2, 1}, {0, 0, 0.5f, 1}), f32({2, 2, 1}, {0.75f, -0.25f, -0.5f, 0.75f}),
                                    f32({2, 2, 2}, {-0.5f, -0.25f, 0.25f, 0, -1, -1, 0.75f, 0.5f}),
                                    f32({2, 4}, {0.75f, 0, 0.75f, -0.5f, 0, 0.75f, -0.75f, -0.5f}), i32({2}, {1, 2}),
                                    f32({2, 2, 2}, {-0.75f, 0, 1, -0.75f, -0.25f, -0.25f, 1, -0.75f})},
                         .outputs = {f32({2, 2, 2, 2}, {0.9540453f, -0.5963736f, 0.8298019f, -0.2449186f, -0.2449186f,
                                                        -0.0624187f, -0.6197988f, 0.01105165f, 0, 0, 0.955922f,
                                                        -0.4949154f, 0, 0, -0.9051483f, 0.8798267f}),
                                     f32({2, 2, 2}, {0.9540453f, -0.5963736f, 0.955922f, -0.4949154f, -0.2449186f,
                                                     -0.0624187f, -0.6197988f, 0.01105165f})}},
                        {.about = "other functions",
                         .attributes = {{"activations", std::vector<std::string>{"Affine"}},
                                        {"activation_alpha", std::vector<float>{0.5f}},
                                        {"activation_beta", std::vector<float>{0.25f}}},
                         .inputs = {f32({2, 2, 1}, {0, 0, 0.5f, 1}), f32({1, 2, 1}, {0, -0.5f}),
                                    f32({1, 2, 2}, {-1, 0.5f, -1, -0.5f}), f32({1, 4}, {0, 0, -0.75f, 1})},
                         .outputs = {f32({2, 1, 2, 2}, {-0.125f, 0.75f, -0.125f, 0.75f, 0.125f, 0.5f, 0.125f, 0.375f}),
                                     f32({1, 2, 2}, {0.125f, 0.5f, 0.125f, 0.375f})}}}));

const OpTest gru(
    "GRU",
    forms(3, false,
          {{.about = "only weights",
            .attributes = {},
            .inputs = {f32({2, 2, 1}, {0.5f, 1, -1, 0.5f}), f32({1, 6, 1}, {-0.5f, 0, 1, -0.5f, 0.5f, -0.75f}),
                       f32({1, 6, 2}, {-0.5f, 1, -0.25f, 0, -0.5f, -0.75f, -0.25f, 0.25f, 0, 0.5f, -0.25f, 0.25f})},
            .outputs = {f32({2, 1, 2, 2}, {0.1376875f, -0.1791787f, 0.2876491f, -0.3175745f, -0.1427596f, 0.2235803f,
                                           0.2182646f, -0.3729612f}),
                        f32({1, 2, 2}, {-0.1427596f, 0.2235803f, 0.2182646f, -0.3729612f})}},
           {.about = "both directions, all inputs",
            .attributes = {{"direction", "bidirectional"}},
            .inputs = {f32({2, 2, 1}, {0.5f, 1, -1, 0.5f}),
                       f32({2, 6, 1}, {0.5f, 1, -0.25f, -1, 0.5f, 0, 0.75f, 0, -0.25f, -1, 0, 0.25f}),
                       f32({2, 6, 2},
                           {0.5f, 0.75f, -0.75f, 0.25f,  0.75f, -0.5f, -0.25f, 0.75f, 0.25f, 0,     0.5f,  0,
                            1,    0.5f,  -1,     -0.75f, 0,     0.75f, -1,     0.5f,  0.5f,  0.75f, 0.75f, -0.75f}),
                       f32({2, 12}, {0,     0.75f, -0.25f, -0.75f, 0, -1, -0.75f, 0.75f, 0.5f,  0.75f, 0.75f,  0.75f,
                                     -0.5f, 0,     0.25f,  -0.5f,  1, -1, 0.75f,  0.25f, -0.5f, 0.5f,  -0.25f, 0.75f}),
                       i32({2}, {1, 2}), f32({2, 2, 2}, {1, -0.5f, 0, -0.75f, 0.5f, 0.25f, 0.75f, 0.75f})},
            .outputs = {f32({2, 2, 2, 2},
                            {0.8993559f, -0.3463877f, 0.5875569f, -0.7044957f, 0.5501472f, 0.09189106f, 0.7549028f,
                             0.2070546f, 0, 0, 0.7326674f, -0.5712761f, 0, 0, 0.7585498f, 0.2052896f}),
                        f32({2, 2, 2}, {0.8993559f, -0.3463877f, 0.7326674f, -0.5712761f, 0.5501472f, 0.09189106f,
                                        0.7549028f, 0.2070546f})}},
           {.about = "other functions",
            .attributes = {{"activations", std::vector<std::string>{"HardSigmoid", "LeakyRelu"}},
                           {"activation_alpha", std::vector<float>{0.25f, 0.5f}},
                           {"activation_beta", std::vector<float>{0.5f}},
                           {"linear_before_reset", int64_t(1)}},
            .inputs = {f32({2, 2, 1}, {0.5f, 1, -1, 0.5f}), f32({1, 6, 1}, {1, 1, 1, -0.75f, -1, 0}),
                       f32({1, 6, 2}, {-0.25f, 1, 0.75f, -0.25f, 0.25f, 0.25f, 1, -1, 0, 0.5f, 0, 1}),
                       f32({1, 12}, {1, 0.75f, 0, 0.75f, -1, 0.25f, -0.5f, -0.5f, 0.5f, 0.5f, 0.75f, -0.75f})},
            .outputs = {f32({2, 1, 2, 2}, {-0.1171875f, -0.04516602f, -0.08398438f, -0.02050781f, 0.1234476f,
                                           -0.2008115f, -0.1816932f, -0.06146996f}),
                        f32({1, 2, 2}, {0.1234476f, -0.2008115f, -0.1816932f, -0.06146996f})}}}));

const OpTest lstm(
    "LSTM",
    forms(4, true,
          {{.about = "only weights",
            .attributes = {},
            .inputs = {f32({2, 2, 1}, {0.75f, 0.75f, -0.5f, -1}),
                       f32({1, 8, 1}, {0.5f, 0.75f, 0, -0.75f, -0.75f, -0.25f, 0.5f, -0.5f}),
                       f32({1, 8, 2}, {-1, 0.5f, 0.5f, -0.75f, 0.25f, -0.25f, 0, -1, 0.25f, -0.5f, 0, -0.25f, 0.25f, -1,
                                       -0.25f, 0.25f})},
            .outputs = {f32({2, 1, 2, 2}, {0.1046248f, -0.0814503f, 0.1046248f, -0.0814503f, 0.03695787f, -0.02148887f,
                                           0.009635042f, 0.01218571f}),
                        f32({1, 2, 2}, {0.03695787f, -0.02148887f, 0.009635042f, 0.01218571f}),
                        f32({1, 2, 2}, {0.07236193f, -0.0351171f, 0.01883437f, 0.01749337f})}},
           {.about = "both directions, all inputs",
            .attributes = {{"direction", "bidirectional"}},
            .inputs = {f32({2, 2, 1}, {0.75f, 0.75f, -0.5f, -1}),
                       f32({2, 8, 1}, {0.5f, -0.25f, -1, 0.5f, 0, 0.25f, -0.75f, -0.25f, 0.75f, 0.75f, -0.5f, 0.25f, -1,
                                       0.75f, -0.5f, -0.25f}),
                       f32({2, 8, 2}, {1,  0,      0.75f, -0.75f, 0.5f,  1,      -1,     -0.5f, -0.75f, -0.5f,  -0.5f,
                                       -1, 1,      -0.5f, 1,      0.5f,  -0.75f, 0.5f,   0.5f,  -0.75f, -0.75f, -0.25f,
                                       -1, -0.25f, 0,     0.25f,  0.25f, 0,      -0.75f, 0.25f, 0,      0.75f}),
                       f32({2, 16}, {0.5f,   0.5f,   0.25f,  -0.25f, -0.5f, 0,    0.25f, -0.25f, -0.75f, -1,     -1,
                                     -0.75f, -0.25f, -0.5f,  -0.75f, -0.5f, 0.5f, -0.5f, 1,      0.25f,  -0.75f, 1,
                                     0.75f,  0.5f,   -0.75f, 0.75f,  0.5f,  0.5f, 0.5f,  0.25f,  -0.25f, 1}),
                       i32({2}, {1, 2}), f32({2, 2, 2}, {1, 0.5f, -0.25f, 0, 0.25f, -1, -1, 0}),
                       f32({2, 2, 2}, {0.25f, -0.75f, -0.5f, -0.75f, 1, 0, -0.5f, 0.75f}),
                       f32({2, 6}, {1, -0.5f, 1, 0.5f, 0.75f, 0, 1, -0.75f, -1, 1, 0, -0.25f})},
            .outputs = {f32({2, 2, 2, 2},
                            {-0.06502219f, -0.0003941864f, -0.04667013f, -0.1902019f, 0.01944075f, 0.323209f,
                             0.1056374f, 0.6302052f, 0, 0, -0.02869504f, -0.08178858f, 0, 0, -0.03537998f, 0.4433234f}),
                        f32({2, 2, 2}, {-0.06502219f, -0.0003941864f, -0.02869504f, -0.08178858f, 0.01944075f,
                                        0.323209f, 0.1056374f, 0.6302052f}),
                        f32({2, 2, 2}, {-0.1982968f, -0.002968431f, -0.05808245f, -0.5501058f, 0.0255287f, 0.430243f,
                                        0.1501097f, 0.9381244f})}},
           {.about = "other functions",
            .attributes = {{"activations", std::vector<std::string>{"sigmoid", "Softsign", "Relu"}},
                           {"input_forget", int64_t(1)}},
            .inputs = {f32({2, 2, 1}, {0.75f, 0.75f, -0.5f, -1}),
                       f32({1, 8, 1}, {0.5f, -0.5f, 0.25f, 0.75f, 0.75f, -0.75f, 1, 0.5f}),
                       f32({1, 8, 2},
                           {0.5f, -0.75f, 1, -0.25f, 1, -0.5f, -1, 0.75f, 0.25f, -0.25f, 1, 1, -1, 0.25f, 0.75f, 0.5f}),
                       f32({1, 16},
                           {0.25f, 0, 0, -0.5f, -0.75f, -0.25f, 0.5f, 1, 1, -0.75f, -1, 1, 0.5f, 0.5f, 0.75f, -0.25f})},
            .outputs = {f32({2, 1, 2, 2}, {0.1711951f, 0.09642671f, 0.1711951f, 0.09642671f, 0.1139445f, 0.1229577f,
                                           0.05890927f, 0.08688523f}),
                        f32({1, 2, 2}, {0.1139445f, 0.1229577f, 0.05890927f, 0.08688523f}),
                        f32({1, 2, 2}, {0.4243037f, 0.2427448f, 0.2407292f, 0.2100426f})}}}));

// Codes of weights over much of their range.
Tensor weight_codes(Shape shape, uint32_t seed) {
  Tensor t(DType::u8, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t(96 + ((i + seed) * 2654435761u >> 26));
  return t;
}

// Codes of the whole range, of which many pairs are larger than sums of 16 bits allow.
Tensor any_codes(Shape shape, uint32_t seed) {
  Tensor t(DType::u8, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t((i + seed) * 2654435761u >> 24);
  return t;
}

// Small codes, and some of any size: few pairs are too large.
Tensor mixed_codes(Shape shape, uint32_t seed) {
  Tensor t = weight_codes(shape, seed);
  const Tensor any = any_codes(std::move(shape), seed);
  for (size_t i = 0; i < t.count(); i += 11) t.mutable_data<uint8_t>()[i] = any.data<uint8_t>()[i];
  return t;
}

// Every third item has one step, the others have `steps`.
Tensor every_third_ends(int64_t items, int32_t steps) {
  std::vector<int32_t> lengths(size_t(items), steps);
  for (size_t i = 0; i < lengths.size(); i += 3) lengths[i] = 1;
  return i32({items}, lengths);
}

const OpTest dynamic_quantize_lstm(
    "DynamicQuantizeLSTM",
    {{.about = "weights only: X as a whole and h in each step are rounded to 8 bits",
      .attributes = {{"hidden_size", int64_t(2)}},
      .inputs = {f32({2, 1, 2}, {1, -0.5f, 0.25f, 2}),
                 u8({1, 2, 8}, {130, 100, 120, 128, 140, 150, 110, 128, 128, 130, 90, 128, 100, 160, 170, 120}),
                 u8({1, 2, 8}, {138, 118, 128, 148, 108, 128, 98, 158, 128, 168, 88, 128, 148, 128, 118, 128}), kNone,
                 kNone, kNone, kNone, kNone, f32({1}, {0.01f}), u8({1}, {128}), f32({1}, {0.02f}), u8({1}, {128})},
      .outputs = {f32({2, 1, 1, 2}, {-0.09777689f, 0.008554678f, 0.08299486f, -0.04686393f}),
                  f32({1, 1, 2}, {0.08299486f, -0.04686393f}), f32({1, 1, 2}, {0.27189815f, -0.09588591f})}},
     {.about = "items that are over do not count for the range of h",
      .attributes = {{"hidden_size", int64_t(2)}},
      .inputs = {f32({4, 2, 2}, {1, -0.5f, 9, -8, -1, 0.75f, 0.5f, 0.5f, 3, -2, -0.25f, 1.5f, 0.5f, 1, 1, 1}),
                 u8({1, 2, 8}, {130, 100, 120, 128, 140, 150, 110, 128, 128, 130, 90, 128, 100, 160, 170, 120}),
                 u8({1, 2, 8}, {138, 118, 128, 148, 108, 128, 98, 158, 128, 168, 88, 128, 148, 128, 118, 128}), kNone,
                 i32({2}, {4, 1}), f32({1, 2, 2}, {0.5f, -0.25f, 4, -3}), kNone, kNone, f32({1}, {0.05f}),
                 u8({1}, {128}), f32({1}, {0.05f}), u8({1}, {128})},
      .outputs = {f32({4, 1, 2, 2}, {-0.379070431f, 0.0456146002f, -0.738894403f, 0, 0.0717876703f, -0.205253512f, 0, 0,
                                     -0.272898257f, -0.144316584f, 0, 0, 0.0522116683f, -0.191669479f, 0, 0}),
                  f32({1, 2, 2}, {0.0522116683f, -0.191669479f, -0.738894403f, 0}),
                  f32({1, 2, 2}, {0.385359794f, -0.476552546f, -0.948040009f, 0})}},
     {.about = "inputs behind the longest item do not count for the range of X",
      .attributes = {{"hidden_size", int64_t(2)}},
      .inputs = {f32({4, 2, 2}, {1, -0.5f, 9, -8, -1, 0.75f, 0.5f, 0.5f, 30, -20, -0.25f, 1.5f, 0.5f, 1, 1, 1}),
                 u8({1, 2, 8}, {130, 100, 120, 128, 140, 150, 110, 128, 128, 130, 90, 128, 100, 160, 170, 120}),
                 u8({1, 2, 8}, {138, 118, 128, 148, 108, 128, 98, 158, 128, 168, 88, 128, 148, 128, 118, 128}), kNone,
                 i32({2}, {2, 1}), f32({1, 2, 2}, {0.5f, -0.25f, 4, -3}), kNone, kNone, f32({1}, {0.05f}),
                 u8({1}, {128}), f32({1}, {0.05f}), u8({1}, {128})},
      .outputs = {f32({4, 1, 2, 2}, {-0.379070461f, 0.0456146225f, -0.738894403f, 0, 0.0717876777f, -0.205253482f, 0, 0,
                                     0, 0, 0, 0, 0, 0, 0, 0}),
                  f32({1, 2, 2}, {0.0717876777f, -0.205253482f, -0.738894403f, 0}),
                  f32({1, 2, 2}, {0.292432951f, -0.555882075f, -0.948039953f, 0})}},
     {.about = "items without steps",
      .attributes = {{"hidden_size", int64_t(2)}},
      .inputs = {f32({4, 2, 2}, {1, -0.5f, 9, -8, -1, 0.75f, 0.5f, 0.5f, 30, -20, -0.25f, 1.5f, 0.5f, 1, 1, 1}),
                 u8({1, 2, 8}, {130, 100, 120, 128, 140, 150, 110, 128, 128, 130, 90, 128, 100, 160, 170, 120}),
                 u8({1, 2, 8}, {138, 118, 128, 148, 108, 128, 98, 158, 128, 168, 88, 128, 148, 128, 118, 128}), kNone,
                 i32({2}, {0, 0}), f32({1, 2, 2}, {0.5f, -0.25f, 4, -3}), kNone, kNone, f32({1}, {0.05f}),
                 u8({1}, {128}), f32({1}, {0.05f}), u8({1}, {128})},
      .outputs = {f32({4, 1, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), f32({1, 2, 2}, {0, 0, 0, 0}),
                  f32({1, 2, 2}, {0, 0, 0, 0})}},
     {.about = "both directions, scales by column, all inputs",
      .attributes = {{"direction", "bidirectional"}},
      .inputs = {random({4, 3, 7}, 1, -1, 1), weight_codes({2, 7, 20}, 1), weight_codes({2, 5, 20}, 2),
                 random({2, 40}, 3, -1, 1), i32({3}, {4, 0, 2}), random({2, 3, 5}, 4, -1, 1),
                 random({2, 3, 5}, 5, -1, 1), random({2, 15}, 6, -1, 1), random({2, 20}, 7, 0.125, 0.25),
                 weight_codes({2, 20}, 3), random({2, 20}, 8, 0.125, 0.25), weight_codes({2, 20}, 4)},
      .output_count = 3},
     {.about = "more units than one task takes, which end within a panel",
      .attributes = {{"hidden_size", int64_t(370)}},
      .inputs = {random({2, 2, 7}, 1, -1, 1), weight_codes({1, 7, 1480}, 1), weight_codes({1, 370, 1480}, 2), kNone,
                 kNone, kNone, kNone, kNone, f32({1}, {0.01f}), u8({1}, {125}), f32({1}, {0.002f}), u8({1}, {129})},
      .output_count = 3},
     {.about = "more items than one task takes, of which some end early",
      .attributes = {{"hidden_size", int64_t(9)}},
      .inputs = {random({2, 100, 3}, 1, -1, 1), weight_codes({1, 3, 36}, 1), weight_codes({1, 9, 36}, 2),
                 random({1, 72}, 3, -1, 1), every_third_ends(100, 2), random({1, 100, 9}, 4, -1, 1), kNone, kNone,
                 f32({1}, {0.01f}), u8({1}, {125}), f32({1}, {0.01f}), u8({1}, {129})},
      .output_count = 3},
     {.about = "large weights, one item in both directions",
      .attributes = {{"direction", "bidirectional"}},
      .inputs = {random({3, 1, 40}, 1, -1, 1), any_codes({2, 40, 148}, 1), any_codes({2, 37, 148}, 2), kNone, kNone,
                 kNone, kNone, kNone, f32({2}, {0.001f, 0.002f}), u8({2}, {125, 3}), f32({2}, {0.002f, 0.001f}),
                 u8({2}, {129, 250})},
      .output_count = 3},
     {.about = "large weights, several blocks of items",
      .attributes = {{"hidden_size", int64_t(37)}},
      .inputs = {random({3, 40, 40}, 1, -1, 1), any_codes({1, 40, 148}, 3), any_codes({1, 37, 148}, 4), kNone, kNone,
                 kNone, kNone, kNone, f32({1}, {0.001f}), u8({1}, {125}), f32({1}, {0.002f}), u8({1}, {129})},
      .output_count = 3},
     {.about = "some large weights, a batch, steps of several tasks",
      .attributes = {{"hidden_size", int64_t(192)}},
      .inputs = {random({3, 12, 41}, 1, -1, 1), mixed_codes({1, 41, 768}, 3), any_codes({1, 192, 768}, 4), kNone, kNone,
                 kNone, kNone, kNone, f32({1}, {0.001f}), u8({1}, {125}), f32({1}, {0.0005f}), u8({1}, {129})},
      .output_count = 3}},
    {.domain = "com.microsoft", .tolerance = 8});

}  // namespace
}  // namespace retort::ops
