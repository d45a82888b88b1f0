// Shapes of which only a run tells the rank, or that have no elements; and strings where numbers are usual.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "session/session_testing.h"

namespace retort {
namespace {

/// One node whose inputs have no known shape.
Value run_node(NodeSpec spec, const std::vector<Value>& inputs, OptimizationLevel level) {
  TestGraph t;
  for (const Value& v : inputs) {
    const ValueType type = ValueType::tensor(v.tensor()->dtype());
    spec.inputs.push_back(t.g.add_value("x" + std::to_string(spec.inputs.size()), type));
    t.g.inputs.push_back(spec.inputs.back());
  }
  t.g.outputs = t.g.node(t.g.add(std::move(spec))).outputs;
  return run(t.g, inputs, level)[0];
}

// The target is computed of symbols, so that a rule makes it [0, -1, 3].
TEST(RunShapes, AnEmptyBatchIsReshapedAsAnyOther) {
  for (const OptimizationLevel level : kLevels) {
    TestGraph t;
    const ValueId x = t.input("x", {t.symbol("batch"), t.symbol("length"), 6});
    const auto extent = [&](int64_t axis) { return t.add("Shape", {x}, {{"start", axis}, {"end", axis + 1}}); };
    const ValueId twice = t.add("Mul", {extent(1), t.ints({2})});
    t.output(t.add("Reshape", {x, t.add("Concat", {extent(0), twice, t.ints({3})}, {{"axis", int64_t(0)}})}), "y");
    for (const int64_t batch : {2, 0}) {
      const auto y = run(t.g, {image({batch, 4, 6})}, level);
      EXPECT_EQ(y[0].tensor()->shape(), (Shape{batch, 8, 3}));
    }
  }
}

// Small images are convolved by filters that are packed for one image; those of a larger batch are made from them.
TEST(RunShapes, AFreeBatchIsConvolvedAsAFixedOne) {
  constexpr int64_t kChannels = 64, kSize = 7;
  const auto convolved = [](const Value& x, bool is_free, OptimizationLevel level) {
    TestGraph t;
    Shape shape = x.tensor()->shape();
    if (is_free) shape[0] = t.symbol("batch");
    const Attributes same{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    t.output(conv(t, t.input("x", shape), "w", {kChannels, kChannels, 3, 3}, same), "y");
    return floats(run(t.g, {x}, level)[0]);
  };
  for (const int64_t batch : {1, 2, 9}) {
    const Value x = image({batch, kChannels, kSize, kSize});
    const auto got = convolved(x, true, OptimizationLevel::all), want = convolved(x, true, OptimizationLevel::none);
    float largest = 0;
    for (const float v : want) largest = std::max(largest, std::abs(v));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5 * largest) << batch << " " << i;
    if (batch == 1) {
      EXPECT_EQ(got, convolved(x, false, OptimizationLevel::all));
    }
  }
}

// The model declares that the shape stays the same, which a run may contradict.
TEST(RunShapes, ADeclarationDoesNotReplaceAShapeThatARunTells) {
  for (const OptimizationLevel level : kLevels) {
    for (const char* type : {"Reshape", "Expand"}) {
      TestGraph t;
      const ValueId x = t.input("x", {6}), shape = t.g.add_value("shape", ValueType::tensor(DType::i64));
      t.g.inputs.push_back(shape);
      const ValueId y = t.g.node(t.g.add({.type = type, .inputs = {x, shape}})).outputs[0];
      t.g.value(y).type = ValueType::tensor(DType::f32, Shape{6});
      t.output(y, "y");
      const auto run_with = [&](int64_t extent) {
        return run(t.g, {image({6}), Tensor::of<int64_t>({1}, {extent})}, level);
      };
      EXPECT_EQ(run_with(6)[0].tensor()->shape(), (Shape{6}));
      EXPECT_THROW(run_with(5), Error) << type;
    }
  }
}

TEST(RunShapes, NearestNeighboursOfStrings) {
  for (const OptimizationLevel level : kLevels) {
    const Value words = Tensor::of<std::string>({1, 2}, {"a", "b"}), scales = Tensor::of<float>({2}, {2, 1.5f});
    TestGraph t;
    const ValueId x = t.input("x", {1, 2}, DType::string), by = t.input("by", {2});
    const NodeSpec resize{.type = "Resize", .inputs = {x, ValueId::none, by}, .name = "resize", .version = 19};
    t.g.outputs = t.g.node(t.g.add(resize)).outputs;
    const auto y = run(t.g, {words, scales}, level);
    EXPECT_EQ(y[0].tensor()->shape(), (Shape{2, 3}));
    const auto* found = y[0].tensor()->data<std::string>();
    EXPECT_EQ(std::vector<std::string>(found, found + 6), (std::vector<std::string>{"a", "a", "b", "a", "a", "b"}));
  }
}

TEST(RunShapes, ChannelsLastOfAnyRank) {
  const auto scale = [](float v) { return Value(Tensor::of<float>({}, {v})); };
  const auto codes = [](Shape s, const std::vector<uint8_t>& v) { return Value(Tensor::of<uint8_t>(std::move(s), v)); };
  for (const OptimizationLevel level : kLevels) {
    for (const Shape& space : {Shape{4}, Shape{2, 2}, Shape{2, 1, 2}}) {
      Shape x{1}, w{1, 2}, wanted{1};
      for (const int64_t extent : space) {
        x.push_back(extent);
        w.push_back(1);
        wanted.push_back(extent);
      }
      x.push_back(2);
      wanted.push_back(1);
      const std::vector<Value> inputs{codes(x, {1, 2, 3, 4, 5, 6, 7, 8}),
                                      scale(1),
                                      codes({}, {0}),
                                      codes(w, {1, 10}),
                                      scale(1),
                                      codes({}, {0}),
                                      scale(1),
                                      codes({}, {0})};
      const Value y = run_node({.type = "QLinearConv",
                                .attributes = {{"channels_last", int64_t(1)}},
                                .domain = "com.microsoft",
                                .name = "conv"},
                               inputs, level);
      EXPECT_EQ(y.tensor()->shape(), wanted);
      const auto* found = y.tensor()->data<uint8_t>();
      EXPECT_EQ(std::vector<uint8_t>(found, found + 4), (std::vector<uint8_t>{21, 43, 65, 87}));
    }
  }
}

std::string failure(NodeSpec spec, const std::vector<Value>& inputs) {
  spec.name = "n";
  try {
    run_node(std::move(spec), inputs, OptimizationLevel::all);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

// Nodes whose kernels allocate the outputs are not inferred again before they run.
TEST(RunShapes, RanksOfWhatOnlyARunTellsAreChecked) {
  const auto expect = [](const NodeSpec& spec, const std::vector<Value>& inputs, const char* part) {
    const std::string told = failure(spec, inputs);
    EXPECT_NE(told.find(part), std::string::npos) << told;
  };
  const NodeSpec warp{.type = "DynamicTimeWarping", .domain = "com.microsoft"};
  expect(warp, {Tensor::of<float>({}, {1})}, "input of shape []");
  expect(warp, {Tensor::of<float>({0}, {})}, "input of shape [0]");
  const Tensor word = Tensor::of<std::string>({1, 1, 1}, {"a"});
  expect({.type = "StringNormalizer"}, {word}, "X has shape [1,1,1]");
  const Attributes tokens{
      {"mark", int64_t(0)}, {"mincharnum", int64_t(1)}, {"pad_value", std::string()}, {"tokenexp", std::string(".")}};
  expect({.type = "Tokenizer", .attributes = tokens, .domain = "com.microsoft"}, {word}, "X of shape [1,1,1]");
  const Tensor token = Tensor::of<int64_t>({1, 1}, {1}), none = Tensor::of<int64_t>({}, {0});
  expect({.type = "BifurcationDetector", .domain = "com.microsoft", .outputs = 2}, {token, token, none},
         "input 0 has shape [1,1]");
}

// What a definition says of shapes that only a run tells is checked by it, also in a model that was saved.
TEST(RunShapes, ExpectationsOfRunsAndOfSavedModels) {
  for (const DType type : {DType::f32, DType::f16}) {
    TestGraph t;
    std::vector<ValueId> inputs;
    for (const char* name : {"gate", "up"}) {
      inputs.push_back(t.g.add_value(name, ValueType::tensor(type)));
      t.g.inputs.push_back(inputs.back());
    }
    t.g.outputs =
        t.g.node(t.g.add({.type = "SwiGLU", .inputs = inputs, .domain = "com.microsoft", .version = 1})).outputs;
    const auto values = [&](Shape up) {
      std::vector<Value> both;
      for (const Shape& shape : {Shape{2, 3}, up}) {
        Tensor x(type, shape);
        std::memset(x.mutable_data(), 0x3c, x.bytes());
        both.emplace_back(x);
      }
      return both;
    };
    for (const OptimizationLevel level : kLevels) {
      SessionOptions options;
      options.optimization = level;
      options.optimized_model_path = cat("{}retort_expect_{}.onnx", ::testing::TempDir(), getpid());
      const auto session = make_session(t.g, options);
      const auto y = run(*session, values({2, 3}));
      EXPECT_EQ(y[0].tensor()->dtype(), type);
      for (const Shape& wrong : {Shape{1, 3}, Shape{3}, Shape{2, 1}}) EXPECT_THROW(run(*session, values(wrong)), Error);
      Session again(std::make_shared<Environment>(EnvironmentOptions{}), options.optimized_model_path, {});
      expect_equal_results({*y[0].tensor()}, {*run(again, values({2, 3}))[0].tensor()});
      EXPECT_THROW(run(again, values({1, 3})), Error);
      unlink(options.optimized_model_path.c_str());
    }
  }
}

// The number of channels follows from the run.
TEST(RunShapes, BlockedImagesOfUnknownShapes) {
  const auto pooled = [](bool known, OptimizationLevel level) {
    TestGraph t;
    const Tensor x = std::move(*image({2, 5, 4, 6}).tensor());
    const ValueId in =
        t.g.add_value("x", known ? ValueType::tensor(DType::f32, x.shape()) : ValueType::tensor(DType::f32));
    t.g.inputs.push_back(in);
    const auto add = [&](const char* type, ValueId v, Attributes attributes) {
      NodeSpec spec{.type = type, .inputs = {v}, .attributes = std::move(attributes)};
      spec.domain = "com.microsoft.nchwc";
      spec.version = 1;
      return t.g.node(t.g.add(std::move(spec))).outputs[0];
    };
    const ValueId pool = add("MaxPool", add("ReorderInput", in, {}), {{"kernel_shape", std::vector<int64_t>{2, 2}}});
    t.g.outputs = {add("ReorderOutput", pool, {{"channels", int64_t(5)}})};
    return *run(t.g, {Value(x)}, level)[0].tensor();
  };
  for (const OptimizationLevel level : kLevels) {
    const Tensor y = pooled(false, level);
    EXPECT_EQ(y.shape(), (Shape{2, 5, 3, 5}));
    expect_equal_results({y}, {pooled(true, level)});
  }
}

}  // namespace
}  // namespace retort
