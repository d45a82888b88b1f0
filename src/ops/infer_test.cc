#include "ops/infer.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace retort {
namespace {

/// An input of an unknown rank, one of shape [2, n], and one that is omitted.
struct ShapesOfInputs : testing::Test {
  ShapesOfInputs() { known.type = ValueType::tensor(DType::f32, {2, dims.symbol("n")}); }

  std::string error(size_t i, std::string_view name, const Shape& wanted, bool if_given = false) {
    try {
      const InferContext c(dims, nullptr, inputs, {});
      if_given ? expect_shape_if_given(c, i, name, wanted) : expect_shape(c, i, name, wanted);
    } catch (const Error& e) {
      return e.what();
    } catch (const NotYetKnown&) {
      return "not yet known";
    }
    return "";
  }

  DimTable dims;
  Slot unknown, known;
  Slot* inputs[3] = {&unknown, &known, nullptr};
};

TEST_F(ShapesOfInputs, MayBeTheWantedOnesUntilExtentsDiffer) {
  EXPECT_EQ(error(1, "X", {2, 3}), "");
  EXPECT_EQ(error(1, "X", {2, 3}, true), "");
  EXPECT_EQ(error(1, "X", {3, 3}), "X has shape [2,n], expected [3,3]");
  EXPECT_EQ(error(1, "X", {2}, true), "X has shape [2,n], expected [2]");
  EXPECT_EQ(error(1, "", {}), "input 1 has shape [2,n], expected []");
}

TEST_F(ShapesOfInputs, AreNeededUnlessTheInputMayBeOmitted) {
  EXPECT_EQ(error(0, "X", {2}), "not yet known");
  EXPECT_EQ(error(0, "X", {2}, true), "");
  EXPECT_NE(error(2, "X", {2}).find("input 2 is missing"), std::string::npos);
  EXPECT_EQ(error(2, "X", {2}, true), "");
}

}  // namespace
}  // namespace retort
