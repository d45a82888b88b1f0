#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;
const OpTestOptions kWeighted{.domain = "retort", .tolerance = 8, .weights = {1}};
const OpTestOptions kPlain{.domain = "retort", .tolerance = 8};

Attributes activated(const char* name, float a = 0, float b = 0, Attributes more = {}) {
  more.set("activation", std::string(name));
  more.set("activation_a", a);
  more.set("activation_b", b);
  return more;
}

// Makes a case for every activation that an epilogue supports, from what `make` builds.
template <typename F>
void add_activations(std::vector<OpCase>& cases, F&& make) {
  for (const char* name : {"relu", "sigmoid", "silu", "tanh", "gelu_erf", "gelu_tanh"})
    cases.push_back(make(name, activated(name)));
  cases.push_back(make("clip", activated("clip", -1, 2)));
  cases.push_back(make("leaky_relu", activated("leaky_relu", 0.25f)));
  cases.push_back(make("hard_sigmoid", activated("hard_sigmoid", 0.2f, 0.5f)));
  cases.push_back(make("hard_swish", activated("hard_swish", 1.0f / 6, 0.5f)));
}

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> cases{
      {.about = "bias, residual, then the activation",
       .attributes = activated("relu"),
       .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {1, 0, -1, 1}), f32({2}, {0.5f, 1}),
                  f32({2, 2}, {0, 1, 1, -9})},
       .outputs = {f32({2, 2}, {0, 4, 0.5f, 0})}},
      {.about = "transposed weights",
       .attributes = {{"trans_b", int64_t(1)}},
       .inputs = {f32({1, 2}, {1, 2}), f32({3, 2}, {1, 0, 0, 1, 1, 1})},
       .outputs = {f32({1, 3}, {1, 2, 3})}},
      {.about = "one row", .inputs = {random({1, 130}), random({130, 67}, 2), random({67}, 3)}},
      {.about = "several blocks",
       .inputs = {random({2, 65, 300}), random({300, 97}, 2), random({97}, 3), random({2, 65, 97}, 4)}},
      {.about = "transposed, odd sizes",
       .attributes = {{"trans_b", int64_t(1)}},
       .inputs = {random({13, 67}), random({35, 67}, 2), {}, random({13, 35}, 3)}},
      {.about = "factors of the columns",
       .inputs = {f32({1, 2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 1}), {}, f32({2}, {10, -1})},
       .outputs = {f32({1, 2}, {71, -9})}},
      {.about = "factors, several panels",
       .inputs = {random({9, 67}), random({67, 135}, 2), {}, random({9, 135}, 3), random({135}, 4)}},
      {.about = "factors, turned, slices",
       .attributes = {{"trans_b", int64_t(1)}},
       .inputs = {random({3, 6000}, 1, -1, 1), random({75, 6000}, 2, -1, 1), random({75}, 3), {}, random({75}, 4)}},
      {.about = "no terms",
       .inputs = {f32({2, 0}, {}), f32({0, 2}, {}), f32({2}, {1, 2})},
       .outputs = {f32({2, 2}, {1, 2, 1, 2})}},
      {.about = "no rows", .inputs = {f32({0, 2}, {}), f32({2, 1}, {1, 1})}, .outputs = {f32({0, 1}, {})}}};
  add_activations(cases, [](const char* name, Attributes a) {
    return OpCase{.about = name,
                  .attributes = std::move(a),
                  .inputs = {random({3, 5, 19}, 1, -1, 1), random({19, 37}, 2, -1, 1), random({37}, 3)}};
  });
  return cases;
}
const OpTest linear("Linear", linear_cases(), kWeighted);

// Adds bias, residual and scale of the input if their extents are given.
OpCase conv_case(const char* about, Attributes attributes, Shape x, Shape w, Shape residual = {}, Shape scale = {}) {
  OpCase c{.about = about, .attributes = std::move(attributes)};
  c.inputs = {random(std::move(x), 1, -1, 1), random(w, 2, -1, 1), random({w[0]}, 3)};
  if (!residual.empty() || !scale.empty()) c.inputs.resize(scale.empty() ? 4 : 5);
  if (!residual.empty()) c.inputs[3] = random(std::move(residual), 4);
  if (!scale.empty()) c.inputs[4] = random(std::move(scale), 5, 0, 1);
  return c;
}
std::vector<OpCase> conv_cases() {
  const Ints same{1, 1, 1, 1};
  std::vector<OpCase> cases{
      {.about = "channels last",
       .inputs = {f32({1, 3, 2}, {1, 10, 2, 20, 3, 30}), f32({1, 2, 2}, {1, -1, 0, 1})},
       .outputs = {f32({1, 2, 1}, {19, 29} /* 1 - 2 + 20, 2 - 3 + 30 */)}},
      {.about = "no images",
       .inputs = {f32({0, 4, 4, 8}, {}), random({8, 8, 3, 3})},
       .outputs = {f32({0, 2, 2, 8}, {})}},
      conv_case("pointwise", {}, {2, 7, 9, 17}, {35, 17, 1, 1}, {2, 7, 9, 35}),
      conv_case("pointwise with stride", {{"strides", Ints{2, 3}}}, {2, 7, 9, 17}, {35, 17, 1, 1}),
      conv_case("pointwise, scaled", {}, {2, 7, 9, 17}, {35, 17, 1, 1}, {}, {2, 1, 1, 17}),
      conv_case("3x3 of many channels", {{"pads", same}}, {1, 22, 25, 64}, {64, 64, 3, 3}, {1, 22, 25, 64}),
      conv_case("3x3 of few channels", {{"pads", same}}, {2, 9, 11, 6}, {7, 6, 3, 3}),
      conv_case("3x3, scaled", {{"pads", same}}, {2, 9, 11, 18}, {7, 18, 3, 3}, {2, 9, 11, 7}, {2, 1, 1, 18}),
      conv_case("uneven everything", {{"pads", Ints{0, 2, 3, 1}}, {"strides", Ints{2, 3}}, {"dilations", Ints{3, 2}}},
                {1, 17, 19, 5}, {9, 5, 2, 3}),
      conv_case("depthwise", {{"pads", same}, {"group", int64_t(21)}}, {2, 9, 11, 21}, {21, 1, 3, 3}, {2, 9, 11, 21}),
      conv_case("depthwise with stride", {{"pads", Ints{2, 2, 2, 2}}, {"strides", Ints{2, 2}}, {"group", int64_t(37)}},
                {1, 14, 15, 37}, {37, 1, 5, 5}),
      conv_case("depthwise, scaled", {{"pads", same}, {"group", int64_t(21)}}, {2, 9, 11, 21}, {21, 1, 3, 3}, {},
                {2, 1, 1, 21}),
      conv_case("grouped", {{"group", int64_t(3)}}, {2, 9, 11, 18}, {21, 6, 3, 3}),
      conv_case("planes of a photograph",
                {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}, {"input_nchw", int64_t(1)}}, {1, 3, 37, 41},
                {33, 3, 7, 7}),
      conv_case("SAME_UPPER", {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}, {1, 8, 9, 6},
                {4, 6, 3, 2}),
      conv_case("a column", {{"pads", Ints{2, 0, 1, 0}}, {"strides", Ints{1, 3}}}, {2, 67, 1, 32}, {40, 32, 5, 1},
                {2, 66, 1, 40}),
      conv_case("depthwise, a column", {{"group", int64_t(21)}, {"strides", Ints{2, 1}}}, {2, 19, 1, 21},
                {21, 1, 5, 1}),
      conv_case("as wide as the image", {{"pads", Ints{2, 0, 1, 0}}, {"strides", Ints{2, 3}}}, {2, 23, 7, 1},
                {19, 1, 4, 7}, {2, 12, 1, 19}),
      conv_case("as wide as a plane", {{"input_nchw", int64_t(1)}}, {2, 1, 40, 17}, {35, 1, 3, 17}),
      conv_case("as wide as the image, of some channels", {{"dilations", Ints{2, 1}}}, {1, 40, 5, 3}, {19, 3, 4, 5}),
      conv_case("one axis", {{"pads", Ints{2, 1}}, {"dilations", Ints{2}}}, {2, 67, 9}, {10, 9, 3}, {2, 66, 10})};
  add_activations(cases, [](const char* name, Attributes a) {
    return conv_case(name, std::move(a), {1, 5, 7, 9}, {19, 9, 3, 3});
  });
  add_activations(cases, [](const char* name, Attributes a) {
    a.set("group", int64_t(19));
    return conv_case(name, std::move(a), {1, 5, 7, 19}, {19, 1, 3, 3});
  });
  cases.push_back(conv_case("3x3 of many channels, activated", activated("silu", 0, 0, {{"pads", same}}),
                            {1, 16, 20, 64}, {96, 64, 3, 3}));
  return cases;
}
const OpTest conv("Conv", conv_cases(), kWeighted);

OpCase transposed(const char* about, Attributes attributes, Shape x, Shape w, int64_t groups = 1, Shape residual = {}) {
  OpCase c{.about = about, .attributes = std::move(attributes)};
  c.inputs = {random(std::move(x), 1, -1, 1), random(w, 2, -1, 1), random({w[1] * groups}, 3)};
  if (groups != 1) c.attributes.set("group", groups);
  if (!residual.empty()) c.inputs.push_back(random(std::move(residual), 4));
  return c;
}
std::vector<OpCase> transposed_cases() {
  std::vector<OpCase> cases{
      {.about = "strides leave gaps",
       .attributes = {{"strides", Ints{3}}, {"output_padding", Ints{1}}},
       .inputs = {f32({1, 2, 1}, {1, 2}), f32({1, 1, 2}, {1, 10})},
       .outputs = {f32({1, 6, 1}, {1, 10, 0, 2, 20, 0})}},
      {.about = "two channels",
       .attributes = {{"pads", Ints{1, 0}}},
       .inputs = {f32({1, 2, 2}, {1, 10, 2, 20}), f32({2, 1, 2}, {1, 2, 3, 4}), f32({1}, {100})},
       .outputs = {f32({1, 2, 1}, {204, 184} /* 2 + 40 + 2 + 60 + 100, 4 + 80 + 100 */)}},
      {.about = "no images",
       .inputs = {f32({0, 4, 4, 8}, {}), random({8, 5, 2, 2})},
       .outputs = {f32({0, 5, 5, 5}, {})}},
      transposed("twice as large", {{"strides", Ints{2, 2}}}, {2, 7, 9, 17}, {17, 35, 2, 2}, 1, {2, 14, 18, 35}),
      transposed("overlapping", {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}, {1, 7, 9, 64}, {64, 33, 4, 4}),
      transposed("uneven everything",
                 {{"pads", Ints{0, 2, 1, 1}},
                  {"strides", Ints{2, 3}},
                  {"dilations", Ints{3, 2}},
                  {"output_padding", Ints{1, 2}}},
                 {2, 5, 6, 4}, {4, 3, 2, 3}),
      transposed("groups", {{"strides", Ints{2, 1}}}, {2, 5, 6, 12}, {12, 7, 3, 3}, 3),
      transposed("depthwise", {{"strides", Ints{2, 2}}}, {1, 5, 6, 19}, {19, 1, 3, 3}, 19),
      transposed("one axis", {{"strides", Ints{8}}, {"pads", Ints{4, 4}}}, {2, 31, 24}, {24, 19, 16}),
      transposed("one axis, one image", {{"strides", Ints{2}}}, {1, 131, 24}, {24, 19, 5})};
  add_activations(cases, [](const char* name, Attributes a) {
    a.set("strides", Ints{2, 2});
    return transposed(name, std::move(a), {1, 5, 4, 9}, {9, 19, 3, 3});
  });
  return cases;
}
const OpTest conv_transpose("ConvTranspose", transposed_cases(), kWeighted);

std::vector<OpCase> windows() {
  const Ints two{2, 2}, three{3, 3};
  std::vector<OpCase> cases;
  const auto add = [&](const char* about, Attributes attributes, Shape shape) {
    cases.push_back({.about = about, .attributes = std::move(attributes), .inputs = {random(std::move(shape))}});
  };
  add("one axis", {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}}, {2, 37, 5});
  add("uneven pads", {{"kernel_shape", three}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 1}}}, {2, 17, 19, 21});
  add("extends beyond the edge", {{"kernel_shape", three}, {"strides", two}, {"ceil_mode", int64_t(1)}},
      {1, 8, 10, 35});
  add("SAME_LOWER", {{"kernel_shape", two}, {"auto_pad", std::string("SAME_LOWER")}}, {1, 9, 8, 16});
  add("dilated", {{"kernel_shape", three}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 2, 1, 2}}}, {1, 9, 11, 7});
  add("a global window", {{"kernel_shape", Ints{9, 11}}}, {2, 9, 11, 67});
  cases.push_back({.about = "no images",
                   .attributes = {{"kernel_shape", two}},
                   .inputs = {f32({0, 4, 4, 3}, {})},
                   .outputs = {f32({0, 3, 3, 3}, {})}});
  return cases;
}
std::vector<OpCase> average_windows() {
  std::vector<OpCase> cases = windows();
  for (OpCase& c : windows()) {
    c.attributes.set("count_include_pad", int64_t(1));
    cases.push_back(std::move(c));
  }
  cases.push_back({.about = "means",
                   .attributes = {{"kernel_shape", Ints{2}}},
                   .inputs = {f32({1, 3, 2}, {1, 10, 3, 30, 4, 50})},
                   .outputs = {f32({1, 2, 2}, {2, 20, 3.5f, 40})}});
  return cases;
}
std::vector<OpCase> max_windows() {
  std::vector<OpCase> cases = windows();
  cases.push_back({.about = "largest; padding is lower than everything",
                   .attributes = {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}},
                   .inputs = {f32({1, 2, 2}, {-1, -2, -3, -1})},
                   .outputs = {f32({1, 2, 2}, {-1, -2, -1, -1})}});
  return cases;
}
const OpTest average_pool("AveragePool", average_windows(), kPlain);
const OpTest max_pool("MaxPool", max_windows(), kPlain);
const OpTest global_average("GlobalAveragePool",
                            {{.about = "means",
                              .inputs = {f32({1, 2, 2, 2}, {1, -4, 2, -3, 3, 0, 6, 0})},
                              .outputs = {f32({1, 1, 1, 2}, {3, -1.75f})}},
                             {.about = "images", .inputs = {random({2, 9, 13, 67})}},
                             {.about = "lines", .inputs = {random({3, 5, 7})}},
                             {.about = "no images", .inputs = {f32({0, 3, 2}, {})}, .outputs = {f32({0, 1, 2}, {})}}},
                            kPlain);

std::vector<OpCase> group_norm_cases() {
  const auto of_groups = [](int64_t n, Attributes more = {}) {
    more.set("num_groups", n);
    more.set("epsilon", 0.0f);
    return more;
  };
  std::vector<OpCase> cases{{.about = "channels of one group lie apart",
                             .attributes = of_groups(1),
                             .inputs = {f32({1, 2, 2}, {1, 1, 3, 3}), f32({2}, {1, 2}), f32({2}, {0, 1})},
                             .outputs = {f32({1, 2, 2}, {-1, -1, 1, 3})}},
                            {.about = "one channel in a group",
                             .attributes = of_groups(2),
                             .inputs = {f32({1, 2, 1, 2}, {1, 5, 3, -5}), f32({2}, {1, 1}), f32({2}, {0, 0})},
                             .outputs = {f32({1, 2, 1, 2}, {-1, 1, 1, -1})}},
                            {.about = "images",
                             .attributes = of_groups(3),
                             .inputs = {random({2, 9, 43, 66}), random({66}, 2), random({66}, 3)}},
                            {.about = "no images",
                             .attributes = of_groups(1),
                             .inputs = {f32({0, 3, 2}, {}), f32({2}, {1, 1}), f32({2}, {1, 1})},
                             .outputs = {f32({0, 3, 2}, {})}}};
  add_activations(cases, [&](const char* name, Attributes a) {
    return OpCase{.about = name,
                  .attributes = of_groups(1, std::move(a)),
                  .inputs = {random({1, 5, 19}, 1, -1, 1), random({19}, 2, -1, 1), random({19}, 3)}};
  });
  return cases;
}
const OpTest group_norm("GroupNormalization", group_norm_cases(), kPlain);

std::vector<OpCase> row_affine_cases() {
  std::vector<OpCase> cases{{.about = "each column has its factor",
                             .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {2, -1}), f32({2}, {0.5f, 1})},
                             .outputs = {f32({2, 2}, {2.5f, -1, 6.5f, -3})}},
                            {.about = "images", .inputs = {random({2, 9, 43, 66}), random({66}, 2), random({66}, 3)}},
                            {.about = "each plane has its factor",
                             .attributes = {{"planes", int64_t(1)}},
                             .inputs = {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2}, {2, -1}), f32({2}, {0.5f, 1})},
                             .outputs = {f32({1, 2, 2}, {2.5f, 4.5f, -2, -3})}},
                            {.about = "planes of channels",
                             .attributes = {{"planes", int64_t(1)}},
                             .inputs = {random({3, 70, 7, 33}), random({70}, 2), random({70}, 3)}},
                            {.about = "planes in parts",
                             .attributes = {{"planes", int64_t(1)}},
                             .inputs = {random({1, 2, 20001}), random({2}, 2), random({2}, 3)}},
                            {.about = "no rows",
                             .inputs = {f32({0, 2}, {}), f32({2}, {1, 1}), f32({2}, {1, 1})},
                             .outputs = {f32({0, 2}, {})}}};
  add_activations(cases, [](const char* name, Attributes a) {
    return OpCase{.about = name,
                  .attributes = std::move(a),
                  .inputs = {random({5, 19}, 1, -1, 1), random({19}, 2, -1, 1), random({19}, 3)}};
  });
  add_activations(cases, [](const char* name, Attributes a) {
    a.set("planes", int64_t(1));
    return OpCase{.about = name,
                  .attributes = std::move(a),
                  .inputs = {random({2, 3, 37}, 1, -1, 1), random({3}, 2, -1, 1), random({3}, 3)}};
  });
  return cases;
}
const OpTest row_affine("RowAffine", row_affine_cases(), kPlain);

Attributes heads(int64_t q, int64_t kv, int64_t size, int64_t v_size, Attributes more = {}) {
  more.set("q_heads", q);
  more.set("kv_heads", kv);
  more.set("head_size", size);
  more.set("v_head_size", v_size);
  if (!more.has("scale")) more.set("scale", 0.25f);
  return more;
}
Tensor flags(Shape shape) { return cast_to(cast_to(random(std::move(shape), 9, 0, 1.5), DType::i32), DType::boolean); }
const Attributes kSplit{
    {"q_split", int64_t(1)}, {"k_split", int64_t(1)}, {"v_split", int64_t(1)}, {"y_split", int64_t(1)}};
const OpTest attention(
    "Attention",
    {{.about = "one key: its value",
      .attributes = heads(1, 1, 2, 2),
      .inputs = {f32({1, 1, 2}, {1, 2}), f32({1, 1, 2}, {3, 4}), f32({1, 1, 2}, {5, 6})},
      .outputs = {f32({1, 1, 1, 2}, {5, 6})},
      .output_count = 1},
     {.about = "Q, K and V side by side in one tensor, hidden by flags",
      .attributes =
          heads(1, 1, 1, 1,
                {{"k_offset", int64_t(1)}, {"v_offset", int64_t(2)}, {"flag_hides", int64_t(1)}, {"hidden", -1e9f}}),
      .inputs = {f32({1, 2, 3}, {0, 0, 7, 0, 0, 9}),
                 f32({1, 2, 3}, {0, 0, 7, 0, 0, 9}),
                 f32({1, 2, 3}, {0, 0, 7, 0, 0, 9}),
                 {},
                 booleans({2, 2}, {false, true, false, false})},
      .outputs = {f32({1, 2, 1, 1}, {7, 8})},
      .output_count = 1},
     {.about = "rows",
      .attributes = heads(6, 2, 19, 35),
      .inputs = {random({2, 53, 114}), random({2, 40, 38}, 2), random({2, 40, 70}, 3)},
      .output_count = 1},
     {.about = "split",
      .attributes = heads(6, 2, 19, 35, kSplit),
      .inputs = {random({2, 6, 53, 19}), random({2, 2, 40, 19}, 2), random({2, 2, 40, 35}, 3),
                 random({2, 1, 53, 40}, 4)},
      .output_count = 1},
     {.about = "rows of several axes, offsets",
      .attributes = heads(2, 2, 5, 3, {{"q_offset", int64_t(2)}, {"v_offset", int64_t(1)}}),
      .inputs = {random({2, 7, 3, 4}), random({2, 9, 10}, 2), random({2, 9, 8}, 3)},
      .output_count = 1},
     {.about = "a step of generation with flags",
      .attributes = heads(6, 2, 19, 35, {{"hidden", -3e38f}}),
      .inputs = {random({2, 1, 114}),
                 random({2, 1, 38}, 2),
                 random({2, 1, 70}, 3),
                 {},
                 flags({1, 32}),
                 random({2, 2, 31, 19}, 4),
                 random({2, 2, 31, 35}, 5)}},
     {.about = "a query that sees nothing: NaN",
      .attributes = heads(1, 1, 1, 1),
      .inputs = {f32({1, 2, 1}, {1, 2}), f32({1, 1, 1}, {3}), f32({1, 1, 1}, {5}), {}, booleans({2, 1}, {false, true})},
      .outputs = {f32({1, 2, 1, 1}, {std::nanf(""), 5})},
      .output_count = 1},
     {.about = "a query that sees nothing, guarded: 0",
      .attributes = heads(1, 1, 1, 1, {{"blind_zero", int64_t(1)}}),
      .inputs = {f32({1, 2, 1}, {1, 2}), f32({1, 1, 1}, {3}), f32({1, 1, 1}, {5}), {}, booleans({2, 1}, {false, true})},
      .outputs = {f32({1, 2, 1, 1}, {0, 5})},
      .output_count = 1},
     {.about = "no queries",
      .attributes = heads(1, 1, 2, 2),
      .inputs = {f32({1, 0, 2}, {}), f32({1, 1, 2}, {3, 4}), f32({1, 1, 2}, {5, 6})},
      .output_count = 1}},
    kPlain);

TEST(NhwcConv, RefusesWeightsThatDoNotFit) {
  const auto run = [](const Shape& w, int64_t group) {
    OpRun("retort", "Conv", {{"group", group}}, {random({1, 5, 4, 6}), random(w)}, 1).run();
  };
  EXPECT_NO_THROW(run({4, 3, 1, 1}, 2));
  EXPECT_THROW(run({4, 3, 1, 1}, 0), Error);
  EXPECT_THROW(run({4, 3, 1, 1}, -2), Error);
  EXPECT_THROW(run({4, 3, 1}, 2), Error);
  EXPECT_THROW(run({4, 6, 1, 1}, 2), Error);
  EXPECT_THROW(run({3, 3, 1, 1}, 2), Error);
}

TEST(Attention, RejectsAMaskForFewerKeys) {
  const auto run = [](Tensor mask) {
    OpRun("retort", "Attention", heads(1, 1, 2, 2),
          {random({1, 3, 2}), random({1, 5, 2}, 2), random({1, 5, 2}, 3), std::move(mask)}, 1)
        .run();
  };
  for (const Shape& fits : {Shape{3, 5}, Shape{3, 1}, Shape{5}, Shape{1}, Shape{}}) EXPECT_NO_THROW(run(random(fits)));
  for (const Shape& wrong : {Shape{3, 4}, Shape{3, 6}, Shape{2, 5}, Shape{4}}) EXPECT_THROW(run(random(wrong)), Error);
}

}  // namespace
}  // namespace retort::ops
