// CausalConvWithState with shapes that are known only in a run: the same results as with known ones. And what only its
// form of com.microsoft has.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

/// How much of the shapes the model knows.
enum class Known { all, channels, nothing };

struct CausalConv : TestGraph {
  CausalConv(Known known, bool with_past, int64_t dilation) {
    const bool all = known == Known::all, channels = known != Known::nothing;
    const Dim c = channels ? Dim(3) : symbol("c");
    std::vector<ValueId> inputs{input("x", {2, c, symbol("rows")})};
    inputs.push_back(input("w", {all ? Dim(3) : symbol("m"), 1, all ? Dim(4) : symbol("k")}));
    inputs.push_back(input("bias", {channels ? Dim(3) : symbol("m")}));
    if (with_past) inputs.push_back(input("past", {2, c, symbol("kept")}));
    const Node& n = g.node(g.add({.type = "CausalConvWithState",
                                  .inputs = inputs,
                                  .attributes = {{"activation", std::string("silu")}, {"dilation", dilation}},
                                  .domain = "com.microsoft",
                                  .name = "conv",
                                  .outputs = 2}));
    g.outputs = n.outputs;
  }
};

void expect_equal(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (size_t i = 0; i < got.count(); ++i)
    EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5) << "element " << i;
}

TEST(CausalConv, ComputesTheReachOfUnknownWeights) {
  for (const bool with_past : {false, true}) {
    for (const int64_t dilation : {1, 2}) {
      std::vector<Value> inputs{image({2, 3, 5}), image({3, 1, 4}, 4), image({3}, 5)};
      if (with_past) inputs.push_back(image({2, 3, 3 * dilation}, 6));
      const auto expected = run(CausalConv(Known::all, with_past, dilation).g, inputs, OptimizationLevel::all);
      EXPECT_EQ(expected[1].tensor()->shape(), (Shape{2, 3, 3 * dilation}));
      for (const Known known : {Known::channels, Known::nothing}) {
        SCOPED_TRACE(cat("knows {}, past {}, dilation {}", int(known), with_past, dilation));
        const auto got = run(CausalConv(known, with_past, dilation).g, inputs, OptimizationLevel::all);
        for (size_t i = 0; i < 2; ++i) expect_equal(*got[i].tensor(), *expected[i].tensor());
      }
    }
  }
}

/// A node with inputs of these types: x, weights, and maybe the past.
std::vector<Value> convolve(const std::vector<ValueType>& types, const std::vector<Value>& inputs,
                            Attributes attributes, size_t outputs = 2) {
  TestGraph t;
  std::vector<ValueId> ids;
  for (const ValueType& type : types) {
    ids.push_back(t.g.add_value("x" + std::to_string(ids.size()), type));
    t.g.inputs.push_back(ids.back());
  }
  if (types.size() == 3) ids.insert(ids.begin() + 2, ValueId::none);  // no bias
  const NodeId id = t.g.add({.type = "CausalConvWithState",
                             .inputs = ids,
                             .attributes = std::move(attributes),
                             .domain = "com.microsoft",
                             .name = "conv",
                             .outputs = outputs});
  t.g.outputs = t.g.node(id).outputs;
  return run(t.g, inputs, OptimizationLevel::all);
}
ValueType shape(Shape s) { return ValueType::tensor(DType::f32, std::move(s)); }
Value value_of(Shape s, const std::vector<float>& v) { return Tensor::of<float>(std::move(s), v); }
void expect_numbers(const Value& got, const Value& wanted) { expect_equal(*got.tensor(), *wanted.tensor()); }

TEST(CausalConv, ChannelsInSeveralUnknownAxes) {
  const std::vector<Value> inputs{image({2, 5, 3, 2}), image({6, 1, 4}, 4), image({2, 6, 3, 2}, 6)};
  const Attributes attributes{{"channels_last", int64_t(1)}, {"dilation", int64_t(2)}};
  const auto expected = convolve({shape({2, 5, 3, 2}), shape({6, 1, 4}), shape({2, 6, 3, 2})}, inputs, attributes);
  const ValueType anything = ValueType::tensor(DType::f32);
  const auto got = convolve({anything, anything, anything}, inputs, attributes);
  for (size_t i = 0; i < 2; ++i) expect_numbers(got[i], expected[i]);
}

TEST(CausalConv, ByHand) {
  const ValueType anything = ValueType::tensor(DType::f32);
  for (const bool known : {true, false}) {
    const auto type = [&](Shape s) { return known ? shape(std::move(s)) : anything; };
    const std::vector<Value> far{value_of({1, 1, 3}, {1, 2, 3}), value_of({1, 1, 2}, {10, 1}),
                                 value_of({1, 1, 2}, {5, 6})};
    auto got = convolve({type({1, 1, 3}), type({1, 1, 2}), type({1, 1, 2})}, far, {{"dilation", int64_t(2)}});
    expect_numbers(got[0], value_of({1, 1, 3}, {51, 62, 13}));
    expect_numbers(got[1], value_of({1, 1, 2}, {2, 3}));
    // Channels last, zeros before, fewer samples than the state keeps.
    const std::vector<Value> few{value_of({1, 1, 2}, {1, 2}), value_of({2, 1, 3}, {7, 8, 9, 4, 5, 6})};
    got = convolve({type({1, 1, 2}), type({2, 1, 3})}, few, {{"channels_last", int64_t(1)}});
    expect_numbers(got[0], value_of({1, 1, 2}, {9, 12}));
    expect_numbers(got[1], value_of({1, 2, 2}, {0, 0, 1, 2}));
  }
}

TEST(CausalConv, ShapesThatDoNotFitAreErrorsOfTheRun) {
  const ValueType anything = ValueType::tensor(DType::f32);
  const auto fails = [&](Shape weights, Shape past) {
    const std::vector<Value> inputs{image({2, 3, 5}), image(weights, 4), image(past, 6)};
    EXPECT_THROW(convolve({anything, anything, anything}, inputs, {}), Error) << to_string(weights) << to_string(past);
  };
  fails({1, 1, 4}, {2, 3, 3});
  fails({3, 2, 2}, {2, 3, 3});
  fails({3, 1, 4}, {2, 3, 2});
  fails({3, 1, 4}, {1, 3, 3});
}

// Channels 1 and 2 of 3, with states of three positions although windows read one before the first.
TEST(CausalConv, PartOfTheChannelsAndLongStates) {
  const Attributes attributes{{"channels_last", int64_t(1)},       {"input_channel_offset", int64_t(1)},
                              {"input_channels", int64_t(2)},      {"state_length", int64_t(3)},
                              {"state_channels_last", int64_t(0)}, {"state_update_capacity", int64_t(4)}};
  const std::vector<Value> inputs{value_of({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                                  value_of({2, 1, 2}, {1, 10, 2, 20})};
  const auto got = convolve({shape({1, 3, 3}), shape({2, 1, 2})}, inputs, attributes, 3);
  expect_numbers(got[0], value_of({1, 3, 2}, {20, 60, 52, 126, 85, 192}));
  expect_numbers(got[1], value_of({1, 2, 3}, {2, 5, 8, 3, 6, 9}));
  expect_numbers(got[2], value_of({1, 4, 2}, {2, 3, 5, 6, 8, 9, 0, 0}));
  const std::vector<Value> next{inputs[0], inputs[1], got[1]};
  const auto later = convolve({shape({1, 3, 3}), shape({2, 1, 2}), shape({1, 2, 3})}, next, attributes, 3);
  expect_numbers(later[0], value_of({1, 3, 2}, {28, 78, 52, 126, 85, 192}));
}

TEST(CausalConv, StatesAfterEachOfTheLastPositions) {
  const std::vector<Value> inputs{value_of({1, 1, 2}, {1, 2}), value_of({1, 1, 3}, {1, 1, 1}),
                                  value_of({3, 1, 1, 2}, {5, 5, 5, 5, 8, 9})};
  const auto got =
      convolve({shape({1, 1, 2}), shape({1, 1, 3}), shape({3, 1, 1, 2})}, inputs, {{"state_window", int64_t(3)}});
  expect_numbers(got[0], value_of({1, 1, 2}, {18, 12}));
  expect_numbers(got[1], value_of({3, 1, 1, 2}, {0, 0, 9, 1, 1, 2}));
}

TEST(CausalConv, OptionsThatDoNotFitAreErrors) {
  const std::vector<Value> inputs{value_of({1, 3, 2}, {1, 2, 3, 4, 5, 6}), value_of({2, 1, 2}, {1, 10, 2, 20})};
  const std::vector<ValueType> types{shape({1, 3, 2}), shape({2, 1, 2})};
  const int64_t one = 1, two = 2, nine = 9;
  EXPECT_THROW(convolve(types, inputs, {{"channels_last", one}}, 3), Error);  // an update without a capacity
  for (const Attributes& attributes :
       {Attributes{{"channels_last", one}, {"input_channel_offset", one}}, Attributes{{"state_window", nine}},
        Attributes{{"channels_last", one}, {"state_length", one}, {"state_window", two}}, Attributes{{"ndim", two}}}) {
    EXPECT_THROW(convolve(types, inputs, attributes), Error);
  }
}

// With windows of one element, nothing is kept.
TEST(CausalConv, MayKeepNothing) {
  const std::vector<Value> inputs{image({2, 3, 5}), image({3, 1, 1}, 4), image({3}, 5)};
  const auto got = run(CausalConv(Known::nothing, false, 1).g, inputs, OptimizationLevel::all);
  EXPECT_EQ(got[0].tensor()->shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(got[1].tensor()->shape(), (Shape{2, 3, 0}));
}

}  // namespace
}  // namespace retort
