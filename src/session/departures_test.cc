// Which calls depart from what the first plan assumes.
#include "session/departures.h"

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

class DeparturesTest : public ::testing::Test {
 protected:
  const SmallModel small;
  const Ports ports = ports_of(small.model);
  const Value two = vector({1, 2}), three = vector({1, 2, 3}), one = vector({1});
};

TEST_F(DeparturesTest, ExtentsOfOneNameMustBeEqual) {
  const Departures departures(ports, true);
  EXPECT_TRUE(departures.may_depart());
  const Value* const equal[] = {&two, &two, nullptr};
  EXPECT_FALSE(departures.departs(equal));
  EXPECT_EQ(departures.text(equal), "");
  const Value* const different[] = {&two, &three, nullptr};
  EXPECT_TRUE(departures.departs(different));
  EXPECT_EQ(departures.text(different), "extent 'n' is 2 in input 'a' and 3 in input 'b'");
}

TEST_F(DeparturesTest, AnInputThatIsNotGivenTiesNothing) {
  const Value* const inputs[] = {&two, nullptr, nullptr};
  EXPECT_FALSE(Departures(ports, true).departs(inputs));
}

TEST_F(DeparturesTest, OverriddenInputsDepart) {
  const Departures departures(ports, true);
  const Value* const inputs[] = {&two, &two, &one};
  EXPECT_TRUE(departures.departs(inputs));
  EXPECT_EQ(departures.text(inputs), "input 'w' was given, which has a value in the model");
}

TEST_F(DeparturesTest, NothingDepartsWithoutOptimisation) {
  const Departures departures(ports, false);
  EXPECT_FALSE(departures.may_depart());
  const Value* const inputs[] = {&two, &three, &one};
  EXPECT_FALSE(departures.departs(inputs));
  EXPECT_EQ(departures.text(inputs), "");
}

TEST_F(DeparturesTest, OtherShapesOfScalarsDepartAlsoWithoutOptimisation) {
  Model model;
  model.graph->inputs = {model.graph->add_value("x", ValueType::tensor(DType::f32, Shape{}))};
  const Ports own = ports_of(model);
  const Value scalar = Tensor(DType::f32, Shape{}), none = Tensor(DType::f32, {0});
  for (const bool optimizes : {false, true}) {
    const Departures departures(own, optimizes);
    EXPECT_TRUE(departures.may_depart());
    for (const Value* fits : {&scalar, &one}) EXPECT_FALSE(departures.departs(std::span(&fits, 1)));
    for (const Value* departs : {&two, &none}) EXPECT_TRUE(departures.departs(std::span(&departs, 1)));
    const Value* const given[] = {&two};
    EXPECT_TRUE(departures.widens(given));
    EXPECT_EQ(departures.text(given), "input 'x' is declared a scalar, and another number of elements was given");
  }
}

TEST_F(DeparturesTest, NamesOfOneInputTieItsOwnExtents) {
  Model square;
  const Dim n = square.dims->symbol("n");
  square.graph->inputs = {square.graph->add_value("x", ValueType::tensor(DType::f32, Shape{n, n}))};
  const Ports own = ports_of(square);
  const Departures departures(own, true);
  const Value even = Tensor(DType::f32, {2, 2}), odd = Tensor(DType::f32, {2, 3});
  const Value *const fits[] = {&even}, *const departs[] = {&odd};
  EXPECT_FALSE(departures.departs(fits));
  EXPECT_TRUE(departures.departs(departs));
}

}  // namespace
}  // namespace retort
