#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/ml/ml_testing.h"

namespace retort::ops {
namespace {

OpCase classify(std::string about, Floats coefficients, Floats intercepts, std::string transform, Tensor labels,
                Tensor scores) {
  return {.about = std::move(about),
          .attributes = {{"coefficients", std::move(coefficients)},
                         {"intercepts", std::move(intercepts)},
                         {"post_transform", std::move(transform)},
                         {"classlabels_ints", Ints{5, 7}}},
          .inputs = {f32({2, 2}, {1, 2, -3, 1})},
          .outputs = {std::move(labels), std::move(scores)}};
}

const Floats kTwo = {1, 2, 3, 4}, kSmall = {0.1f, 0.2f, 0.3f, 0.1f};

const OpTest classifier("LinearClassifier",
                        {classify("two classes", kTwo, {0, 1}, "NONE", i64({2}, {7, 5}), f32({2, 2}, {5, 12, -1, -4})),
                         classify("one score for two classes", {1, 2}, {0.5f}, "NONE", i64({2}, {7, 5}),
                                  f32({2, 2}, {-4.5f, 5.5f, 1.5f, -0.5f})),
                         classify("one score, LOGISTIC", {0.1f, 0.2f}, {0.05f}, "LOGISTIC", i64({2}, {7, 5}),
                                  f32({2, 2}, {0.36586440f, 0.63413560f, 0.51249740f, 0.48750258f})),
                         classify("one score, SOFTMAX does not change it", {0.1f, 0.2f}, {0.05f}, "SOFTMAX",
                                  i64({2}, {7, 5}), f32({2, 2}, {0.45f, 0.55f, 1.05f, -0.05f})),
                         classify("SOFTMAX", kSmall, {0.05f, 0.1f}, "SOFTMAX", i64({2}, {7, 5}),
                                  f32({2, 2}, {0.48750260f, 0.51249743f, 0.65701044f, 0.34298953f})),
                         classify("LOGISTIC", kSmall, {0.05f, 0.1f}, "LOGISTIC", i64({2}, {7, 5}),
                                  f32({2, 2}, {0.63413560f, 0.64565629f, 0.48750260f, 0.33181226f})),
                         classify("PROBIT of a number that is not a probability", kSmall, {0.05f, 0.1f}, "PROBIT",
                                  i64({2}, {7, 5}), f32({2, 2}, {0.1256620f, 0.2533535f, NAN, NAN})),
                         {.about = "strings; more labels than classes; a vector is one row",
                          .attributes = {{"coefficients", kTwo},
                                         {"intercepts", Floats{0, 1}},
                                         {"classlabels_strings", Strings{"cat", "dog", "emu"}}},
                          .inputs = {f32({2}, {1, 2})},
                          .outputs = {strings({1}, {"dog"}), f32({1, 2}, {5, 12})}},
                         {.about = "without labels the classes are 0 and 1",
                          .attributes = {{"coefficients", Floats{1, 2}}, {"intercepts", Floats{0}}},
                          .inputs = {f32({2, 2}, {1, 2, -3, 1})},
                          .outputs = {i64({2}, {1, 0}), f32({2, 1}, {5, -1})}},
                         {.about = "many rows and classes",
                          .attributes = {{"coefficients", some(40 * 19, 2)},
                                         {"intercepts", some(40, 3)},
                                         {"post_transform", std::string("SOFTMAX")},
                                         {"classlabels_ints", Ints(40, 1)}},
                          .inputs = {random({150, 19}, 4)}}},
                        {.domain = "ai.onnx.ml"});

const OpTest regressor("LinearRegressor",
                       {{.about = "two targets",
                         .attributes = {{"targets", int64_t(2)},
                                        {"coefficients", Floats{1, 2, 3, 0, 0, 1}},
                                        {"intercepts", Floats{10, 20}}},
                         .inputs = {f32({2, 3}, {1, 1, 1, 1, 2, 3})},
                         .outputs = {f32({2, 2}, {16, 21, 24, 23})}},
                        {.about = "one row, no intercepts",
                         .attributes = {{"coefficients", Floats{1, 2}}},
                         .inputs = {f32({2}, {3, 4})},
                         .outputs = {f32({1, 1}, {11})}},
                        {.about = "SOFTMAX_ZERO omits zeros",
                         .attributes = {{"targets", int64_t(3)},
                                        {"coefficients", Floats{1, 0, 2}},
                                        {"post_transform", std::string("SOFTMAX_ZERO")}},
                         .inputs = {f32({1, 1}, {1})},
                         .outputs = {f32({1, 3}, {0.26894142f, 0, 0.73105858f})}},
                        {.about = "many rows and targets",
                         .attributes = {{"targets", int64_t(3)},
                                        {"coefficients", some(3 * 70, 5)},
                                        {"post_transform", std::string("LOGISTIC")}},
                         .inputs = {random({200, 70}, 6)}}},
                       {.domain = "ai.onnx.ml"});

TEST(LinearModels, RejectInvalidInputs) {
  const auto refuses = [](const char* op, const Attributes& attributes, Shape x, const char* why) {
    try {
      OpRun("ai.onnx.ml", op, attributes, {random(std::move(x))}, 2).run();
      ADD_FAILURE() << op << ": expected " << why;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(why), std::string::npos) << e.message();
    }
  };
  const Attributes two = {{"coefficients", kTwo}, {"intercepts", Floats{0, 1}}, {"classlabels_ints", Ints{5, 7}}};
  refuses("LinearClassifier", two, {2, 3}, "X has shape [2,3], expected [N, 2] or [2]");
  refuses("LinearClassifier", two, {2, 1, 2}, "X has shape [2,1,2]");
  const auto with = [&](const char* name, Attribute value) {
    Attributes changed = two;
    changed.set(name, std::move(value));
    return changed;
  };
  refuses("LinearClassifier", with("intercepts", Floats{}), {2, 2}, "expected one intercept for each class");
  refuses("LinearClassifier", with("coefficients", Floats{1, 2, 3}), {2, 2}, "3 coefficients, 2 intercepts");
  refuses("LinearClassifier", with("classlabels_ints", Ints{5}), {2, 2}, "there are 1 labels for 2 intercepts");
  refuses("LinearClassifier", with("classlabels_strings", Strings{"a", "b"}), {2, 2}, "are both given");
  refuses("LinearClassifier", with("post_transform", std::string("MAX")), {2, 2}, "\"MAX\" is not one of NONE");
  refuses("LinearRegressor", {{"coefficients", Floats{1, 2}}}, {2, 3}, "X has shape [2,3], expected [N, 2] or [2]");
  refuses("LinearRegressor", {}, {2, 3}, "there are 0 coefficients for 1 targets");
}

}  // namespace
}  // namespace retort::ops
