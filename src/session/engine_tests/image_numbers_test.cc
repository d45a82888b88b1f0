// Image networks whose fast forms depend on numbers that the graph does not show, or on the numbers of one layer. Each
// case names the rewrite that must have been made, and is compared with a session without optimisation.
#include <gtest/gtest.h>

#include "passes/optimize.h"
#include "session/session_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

/// The graph after the session's optimisation, as text, and how often each rule was applied.
struct Optimized {
  std::string text;
  std::map<std::string, size_t> counts;
  explicit Optimized(const TestGraph& t) {
    const auto graph = t.g.clone();
    PassOptions options;
    options.report = [this](const PassReport& r) {
      for (const auto& [what, times] : r.counts) counts[what] += times;
    };
    optimize(*graph, options);
    text = print(*graph);
  }
};

/// Runs both sessions on one call after another: a plan that was laid out for one call is used for the next.
void expect_same(const TestGraph& t, const std::vector<std::vector<Value>>& calls) {
  SessionOptions plain, fast;
  plain.optimization = OptimizationLevel::none;
  plain.threads.intra_threads = fast.threads.intra_threads = 1;
  const auto want = make_session(t.g, plain), got = make_session(t.g, fast);
  for (const auto& inputs : calls) {
    std::vector<Tensor> expected, actual;
    for (const Value& v : run(*want, inputs)) expected.push_back(*v.tensor());
    for (const Value& v : run(*got, inputs)) actual.push_back(*v.tensor());
    SCOPED_TRACE(to_string(expected[0].shape()));
    expect_equal_results(expected, actual);
  }
}

Value sizes_of(const Ints& v) { return Tensor::of<int64_t>({int64_t(v.size())}, v); }
Value scales_of(const std::vector<float>& v) { return Tensor::of<float>({int64_t(v.size())}, v); }

struct ResizeCase {
  const char* name;
  std::string mode, coordinates;
  Attributes more = {};
  Ints axes = {};
  std::vector<Ints> sizes = {{2, 6, 14, 10}, {2, 6, 5, 4}, {2, 6, 7, 5}, {2, 6, 1, 13}};
  std::vector<std::vector<float>> scales = {{1, 1, 2, 2}, {1, 1, 0.5f, 1.5f}, {1, 1, 1, 1}, {1, 1, 3, 0.75f}};
};
void PrintTo(const ResizeCase& c, std::ostream* to) { *to << c.name; }

class ResizeAtRunTime : public ::testing::TestWithParam<ResizeCase> {
 protected:
  /// Resizes the result of a convolution, with sizes or scales from an input of the model, and convolves that.
  TestGraph& graph(bool by_sizes) {
    const ResizeCase& c = GetParam();
    Attributes a = c.more;
    a.set("mode", c.mode);
    a.set("coordinate_transformation_mode", c.coordinates);
    if (!c.axes.empty()) a.set("axes", c.axes);
    const int64_t count = c.axes.empty() ? 4 : int64_t(c.axes.size());
    const ValueId x = t_.input("x", {t_.symbol("n"), 3, t_.symbol("h"), t_.symbol("w")});
    const ValueId made = t_.add("Relu", {conv(t_, x, "w0", {6, 3, 1, 1})});
    const ValueId none = ValueId::none;
    const ValueId by = t_.input("by", {count}, by_sizes ? DType::i64 : DType::f32);
    const ValueId y = t_.add("Resize", by_sizes ? std::vector{made, none, none, by} : std::vector{made, none, by}, a);
    t_.output(conv(t_, y, "w1", {5, 6, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}), "y");
    return t_;
  }
  static void expect_channels_last(const TestGraph& t) {
    constexpr int64_t kWhenLast[] = {0, 3, 1, 2};
    std::string axes;
    for (const int64_t a : GetParam().axes.empty() ? Ints{0, 1, 2, 3} : GetParam().axes)
      axes += (axes.empty() ? "axes=[" : ",") + std::to_string(kWhenLast[a < 0 ? a + 4 : a]);
    const std::string text = Optimized(t).text;
    EXPECT_CONTAINS(text, axes + "]");
  }
  TestGraph t_;
};

TEST_P(ResizeAtRunTime, ToSizes) {
  const TestGraph& t = graph(true);
  expect_channels_last(t);
  std::vector<std::vector<Value>> calls;
  for (const Ints& sizes : GetParam().sizes) calls.push_back({image({2, 3, 7, 5}), sizes_of(sizes)});
  expect_same(t, calls);
}

TEST_P(ResizeAtRunTime, ByScales) {
  const TestGraph& t = graph(false);
  expect_channels_last(t);
  std::vector<std::vector<Value>> calls;
  for (const std::vector<float>& scales : GetParam().scales) calls.push_back({image({2, 3, 7, 5}), scales_of(scales)});
  expect_same(t, calls);
}

const std::vector<Ints> kPairs = {{14, 10}, {5, 4}, {7, 5}, {1, 13}};
const std::vector<std::vector<float>> kPairsOfScales = {{2, 2}, {0.5f, 1.5f}, {1, 1}, {3, 0.75f}};
const ResizeCase kResizes[] = {
    {"nearest_floor", "nearest", "asymmetric", {{"nearest_mode", std::string("floor")}}},
    {"nearest_half_pixel", "nearest", "half_pixel"},
    {"linear_half_pixel", "linear", "half_pixel"},
    {"linear_align_corners", "linear", "align_corners"},
    {"linear_pytorch", "linear", "pytorch_half_pixel"},
    {"linear_antialias", "linear", "half_pixel", {{"antialias", int64_t(1)}}},
    {"cubic", "cubic", "half_pixel"},
    {"cubic_without_outside", "cubic", "half_pixel", {{"exclude_outside", int64_t(1)}, {"cubic_coeff_a", -0.5f}}},
    {"rows_and_columns", "linear", "half_pixel", {}, {2, 3}, kPairs, kPairsOfScales},
    {"columns_and_rows", "nearest", "asymmetric", {}, {-1, -2}, kPairs, kPairsOfScales},
    {"columns", "cubic", "half_pixel", {}, {3}, {{10}, {4}, {5}}, {{2}, {0.75f}, {1}}},
    {"images_and_rows", "nearest", "asymmetric", {}, {0, 2}, {{4, 14}, {1, 3}}, {{2, 2}, {0.5f, 0.5f}}},
    {"not_larger",
     "linear",
     "half_pixel",
     {{"keep_aspect_ratio_policy", std::string("not_larger")}},
     {2, 3},
     kPairs,
     kPairsOfScales},
};
INSTANTIATE_TEST_SUITE_P(Cases, ResizeAtRunTime, ::testing::ValuesIn(kResizes),
                         [](const auto& info) { return std::string(info.param.name); });

// Channels are resized like other axes.
TEST(ResizeOfChannels, AtRunTime) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 3, 6, 5}), sizes = t.input("sizes", {4}, DType::i64);
  const ValueId made = conv(t, x, "w0", {4, 3, 3, 3});
  const ValueId y = t.add("Resize", {made, ValueId::none, ValueId::none, sizes}, {{"mode", std::string("linear")}});
  const ValueId pooled = t.add("MaxPool", {y}, {{"kernel_shape", Ints{2, 2}}});
  t.output(t.add("Relu", {pooled}), "y");
  expect_same(t, {{image({1, 3, 6, 5}), sizes_of({1, 8, 8, 6})}, {image({1, 3, 6, 5}, 4), sizes_of({1, 3, 4, 3})}});
}

// A feature pyramid: the sizes are those of another image.
TEST(ResizeToTheSizeOfAnother, AtRunTime) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 3, t.symbol("h"), t.symbol("w")});
  const ValueId fine = t.add("Relu", {conv(t, x, "w0", {6, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}})});
  const ValueId coarse = conv(t, fine, "w1", {6, 6, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  const ValueId sizes = t.add(
      "Concat", {t.add("Shape", {coarse}, {{"end", int64_t(2)}}), t.add("Shape", {fine}, {{"start", int64_t(2)}})},
      {{"axis", int64_t(0)}});
  const ValueId wide =
      t.add("Resize", {coarse, ValueId::none, ValueId::none, sizes},
            {{"mode", std::string("nearest")}, {"coordinate_transformation_mode", std::string("asymmetric")}});
  t.output(conv(t, t.add("Add", {wide, fine}), "w2", {4, 6, 1, 1}), "y");
  expect_same(t, {{image({1, 3, 8, 8})}, {image({2, 3, 7, 9})}, {image({1, 3, 1, 2})}});
}

struct MultiplierCase {
  const char* name;
  int64_t groups, each;
  Ints kernel;
  Attributes attributes = {};
  bool bias = true, residual = false;
  const char* activation = nullptr;
};
void PrintTo(const MultiplierCase& c, std::ostream* to) { *to << c.name; }

class ChannelMultiplier : public ::testing::TestWithParam<MultiplierCase> {};

// Between two convolutions, so that it runs on channels last; its addend is a convolution of the same form.
TEST_P(ChannelMultiplier, ComputesWhatTheModelSays) {
  const MultiplierCase& c = GetParam();
  TestGraph t;
  const size_t dims = c.kernel.size();
  Shape in{t.symbol("n"), 3}, point, filter{c.groups * c.each, 1};
  for (size_t i = 0; i < dims; ++i) {
    in.push_back(t.symbol("d" + std::to_string(i)));
    filter.push_back(c.kernel[i]);
  }
  const auto pointwise = [&](int64_t to, int64_t from) {
    Shape shape{to, from};
    for (size_t i = 0; i < dims; ++i) shape.push_back(1);
    return shape;
  };
  const int64_t channels = c.groups * c.each;
  const ValueId stem = t.add("Relu", {conv(t, t.input("x", in), "w0", pointwise(c.groups, 3))});
  Attributes attributes = c.attributes;
  attributes.set("group", c.groups);
  std::vector<ValueId> inputs{stem, t.weight("w", filter)};
  if (c.bias) inputs.push_back(t.weight("b", {channels}));
  ValueId y = t.add("Conv", inputs, attributes);
  if (c.residual) {
    const ValueId beside = t.add("Conv", {stem, t.weight("s", filter)}, attributes);
    y = t.add("Add", {y, t.add("Tanh", {beside})});
  }
  if (c.activation) y = t.add(c.activation, {y});
  t.output(conv(t, y, "w2", pointwise(5, channels)), "y");
  EXPECT_EQ(Optimized(t).counts["channel_multiplier"], c.residual ? 2u : 1u);
  std::vector<std::vector<Value>> calls;
  for (const int64_t extent : {11, 16}) {
    Shape shape{2, 3};
    for (size_t i = 0; i < dims; ++i) shape.push_back(extent + int64_t(i));
    calls.push_back({image(shape)});
  }
  expect_same(t, calls);
}

Attributes pads(Ints p) { return {{"pads", std::move(p)}}; }
const MultiplierCase kMultipliers[] = {
    {"two_each", 8, 2, {3, 3}, pads({1, 1, 1, 1})},
    {"three_each_without_bias", 5, 3, {3, 3}, {}, false},
    {"strides", 8, 2, {3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
    {"strides_that_differ", 6, 4, {3, 2}, {{"strides", Ints{1, 3}}, {"pads", Ints{1, 0, 0, 1}}}},
    {"dilations", 8, 2, {3, 3}, {{"dilations", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}}},
    {"dilations_and_strides", 4, 8, {3, 3}, {{"dilations", Ints{3, 1}}, {"strides", Ints{2, 1}}}},
    {"same_upper", 8, 2, {5, 4}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}},
    {"pointwise", 8, 4, {1, 1}},
    {"activation", 16, 2, {3, 3}, pads({1, 1, 1, 1}), true, false, "HardSwish"},
    {"residual", 8, 2, {3, 3}, pads({1, 1, 1, 1}), true, true},
    {"residual_strides_activation", 16, 3, {3, 3}, {{"strides", Ints{2, 2}}}, false, true, "Relu"},
    {"signal", 8, 2, {5}, pads({2, 2}), true, false, "Relu"},
};
INSTANTIATE_TEST_SUITE_P(Cases, ChannelMultiplier, ::testing::ValuesIn(kMultipliers),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace retort
