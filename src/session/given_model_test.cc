// What options change in a model before anything else reads it.
#include "session/given_model.h"

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

class GivenModelTest : public PartsTest {
 protected:
  const Shape& shape(ValueId id) const { return small.model.graph->value(id).type.shape; }
  void apply() { apply_options(small.model, options, logger); }
  SmallModel small;
};

TEST_F(GivenModelTest, ExtentsByName) {
  options.dims_by_name["n"] = 4;
  options.dims_by_name["unknown"] = 5;
  apply();
  EXPECT_EQ(shape(small.a), Shape{4});
  EXPECT_EQ(shape(small.b), Shape{4});
}

TEST_F(GivenModelTest, ExtentsByDenotation) {
  small.model.denotations = {{"DATA_BATCH", small.model.dims->symbol("n")}, {"OTHER", small.model.dims->symbol("m")}};
  options.dims_by_denotation = {{"DATA_BATCH", 3}, {"OTHER", 7}};
  apply();
  EXPECT_EQ(shape(small.a), Shape{3});
}

TEST_F(GivenModelTest, ValuesOfTheCallerReplaceInitializers) {
  const Tensor five = Tensor::of<float>({1}, {5});
  options.initializers.emplace("w", five);
  apply();
  const Tensor& w = small.model.graph->defaults.at(small.w);
  EXPECT_EQ(w.data(), five.data());
  EXPECT_EQ(w.owner(), nullptr) << "other sessions must not share what the caller may write to";
}

TEST_F(GivenModelTest, AValueOfAnotherShapeIsRefused) {
  options.initializers.emplace("w", Tensor::of<float>({2}, {5, 6}));
  expect_part(error_of([&] { apply(); }), "initializer 'w' is float32[1] in the model, float32[2] was given");
}

TEST_F(GivenModelTest, ConstantsAreReplacedToo) {
  SmallModel constant(false);
  const Tensor five = Tensor::of<float>({1}, {5});
  options.initializers.emplace("w", five);
  apply_options(constant.model, options, logger);
  EXPECT_EQ(constant.model.graph->value(constant.w).constant.data(), five.data());
}

TEST_F(GivenModelTest, SoAreResultsOfConstantNodes) {
  Graph& g = *small.model.graph;
  const NodeId id = g.add({.type = "Constant", .attributes = {{"value_float", 1.0f}}, .version = 17});
  const ValueId made = g.node(id).outputs[0];
  g.value(made).name = "k";
  const Tensor five = Tensor::of<float>({}, {5});
  options.initializers.emplace("k", five);
  apply();
  ASSERT_TRUE(g.value(made).is_constant());
  EXPECT_EQ(g.value(made).constant.data(), five.data());
}

TEST_F(GivenModelTest, AValueForAnUnknownInitializerIsReported) {
  options.initializers.emplace("v", Tensor::of<float>({1}, {5}));
  apply();
  ASSERT_EQ(warnings.size(), 1u);
  expect_part(warnings[0], "initializer 'v', which the model does not have, so it has no effect; use 'w'");
}

TEST_F(GivenModelTest, ExternalDataThatTheModelDoesNotHaveIsRefused) {
  options.external_initializers.emplace("other", Tensor::of<float>({1}, {5}));
  expect_part(error_of([&] { apply(); }), "external data of initializer 'other', which the model does not have");
  options.external_initializers.clear();
  options.external_initializers.emplace("w", Tensor::of<float>({1}, {5}));
  expect_part(error_of([&] { apply(); }), "'w', whose data is in the model itself");
}

TEST_F(GivenModelTest, DataInMemoryOfTheCallerIsExternal) {
  const Tensor five = Tensor::of<float>({1}, {5});
  float lent = 10;
  Tensor& w = small.model.graph->defaults.at(small.w);
  w = Tensor(DType::f32, {1}, &lent, nullptr);
  options.external_initializers.emplace("w", five);
  apply();
  EXPECT_EQ(w.data(), five.data());
  EXPECT_TRUE(warnings.empty());
}

TEST_F(GivenModelTest, RandomOperatorsGetASeed) {
  const auto seeds_of = [](const char* seed) {
    SmallModel random;
    random.node("RandomNormalLike", {random.a}, "normal");
    random.node("RandomUniformLike", {random.a}, "uniform");
    Graph& g = *random.model.graph;
    g.add({.type = "Bernoulli", .inputs = {random.a}, .attributes = {{"seed", 5.0f}}, .version = 17});
    SessionOptions options;
    if (seed) options.config["session.random_seed"] = seed;
    seed_random(random.model, options);
    std::vector<std::optional<float>> seeds;
    for (const NodeId id : g.order()) {
      if (g.node(id).is("Add") || g.node(id).is("Mul")) continue;
      const float* found = g.node(id).attributes.get<float>("seed");
      seeds.push_back(found ? std::optional(*found) : std::nullopt);
    }
    return seeds;
  };
  const auto none = seeds_of(nullptr), one = seeds_of("1");
  EXPECT_EQ(none, (std::vector<std::optional<float>>{std::nullopt, std::nullopt, 5.0f}));
  ASSERT_TRUE(one[0] && one[1]);
  EXPECT_NE(one[0], one[1]) << "each operator draws other numbers";
  EXPECT_EQ(one[2], 5.0f) << "the model's own seed stays";
  EXPECT_EQ(one, seeds_of("1"));
  EXPECT_NE(one, seeds_of("2"));
  expect_part(error_of([&] { seeds_of("x"); }), "session.random_seed is 'x', not a number from 0");
}

TEST_F(GivenModelTest, ForgottenNamesTieNothing) {
  forget_names(*small.model.graph);
  EXPECT_NE(shape(small.a)[0], shape(small.b)[0]);
  EXPECT_TRUE(is_symbolic(shape(small.a)[0]));
  EXPECT_EQ(shape(small.w), Shape{1}) << "numbers stay";
}

TEST_F(GivenModelTest, ContentsOfSequencesHaveAnyExtents) {
  const ValueId s = small.input("s", ValueType::sequence_of(ValueType::tensor(DType::f32, Shape{2})));
  forget_contents(*small.model.graph);
  EXPECT_FALSE(small.model.graph->value(s).type.element->ranked);
  EXPECT_EQ(shape(small.w), Shape{1}) << "tensors keep theirs";
}

// Relu exists in every version, Gelu from 20 on.
TEST(GivenModel, OperatorsHavePrecedenceOverFunctions) {
  const auto nodes = [](const char* name, int version) {
    Model m;
    const ValueId x = m.graph->add_value("x", ValueType::tensor(DType::f32, Shape{2}));
    m.graph->inputs = {x};
    m.graph->outputs = m.graph->node(m.graph->add({.type = name, .inputs = {x}, .version = version})).outputs;
    auto body = std::make_shared<Graph>(m.dims);
    const ValueId formal = body->add_value("formal");
    body->inputs = {formal};
    body->outputs = body->node(body->add({.type = "Neg", .inputs = {formal}, .version = version})).outputs;
    m.functions.push_back({.domain = "", .name = name, .opsets = {{"", version}}, .body = std::move(body)});
    expand_functions(m, {});
    std::string types;
    for (const NodeId id : m.graph->order()) types += m.graph->node(id).type + " ";
    return types;
  };
  EXPECT_EQ(nodes("Relu", 17), "Relu ");
  EXPECT_EQ(nodes("Gelu", 20), "Gelu ");
  EXPECT_EQ(nodes("Gelu", 17), "Neg ");
  EXPECT_EQ(nodes("Frobnicate", 17), "Neg ");
}

}  // namespace
}  // namespace retort
