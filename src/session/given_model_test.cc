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
  options.external_initializers.emplace("w", five);
  apply_options(constant.model, options, logger);
  EXPECT_EQ(constant.model.graph->value(constant.w).constant.data(), five.data());
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

}  // namespace
}  // namespace retort
