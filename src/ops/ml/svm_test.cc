#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/ml/common/svm.h"
#include "ops/ml/ml_testing.h"

namespace retort::ops {
namespace {

Attributes with(Attributes a, std::initializer_list<Attributes::Item> more) {
  for (const auto& [name, value] : more) a.set(name, value);
  return a;
}
Attributes without(Attributes a, std::string_view name) {
  a.erase(name);
  return a;
}

const Tensor kSvmRows = f32({2, 2}, {1, 2, -3, 1});
const Floats kParams = {0.5f, 0.1f, 3};

const Attributes kRegressor = {{"n_supports", int64_t(2)},
                               {"support_vectors", Floats{1, 2, 3, 4}},
                               {"coefficients", Floats{1, -2}},
                               {"rho", Floats{0.5f}},
                               {"kernel_params", kParams}};
OpCase regress(const char* kernel, const Floats& y) {
  return {.about = kernel,
          .attributes = with(kRegressor, {{"kernel_type", std::string(kernel)}}),
          .inputs = {kSvmRows},
          .outputs = {f32({2, 1}, y)}};
}

const OpTest svm_regressor(
    "SVMRegressor",
    {regress("LINEAR", {-16.5f, 9.5f}),
     regress("POLY", {-333.156006f, 28.0840034f}),
     regress("RBF", {1.46336865f, 0.50020349f}),
     regress("SIGMOID", {-0.5109179f, 2.0874009f}),
     {.about = "of one class; post_transform changes nothing",
      .attributes = with(kRegressor, {{"one_class", int64_t(1)}, {"post_transform", std::string("LOGISTIC")}}),
      .inputs = {kSvmRows},
      .outputs = {f32({2, 1}, {-1, 1})}},
     {.about = "without support vectors it is linear",
      .attributes = {{"coefficients", Floats{1, -2}}, {"rho", Floats{0.5f}}, {"kernel_type", std::string("RBF")}},
      .inputs = {f32({2}, {1, 2})},
      .outputs = {f32({1, 1}, {-2.5f})}},
     {.about = "many rows, degree 5",
      .attributes = {{"n_supports", int64_t(70)},
                     {"support_vectors", some(70 * 11, 1)},
                     {"coefficients", some(70, 2)},
                     {"rho", Floats{1}},
                     {"kernel_type", std::string("POLY")},
                     {"kernel_params", Floats{0.05f, 0.5f, 5}}},
      .inputs = {random({150, 11}, 3)}}},
    {.domain = "ai.onnx.ml", .tolerance = 4});

const Attributes kPair = {{"vectors_per_class", Ints{1, 1}},  {"support_vectors", Floats{1, 2, 3, 4}},
                          {"coefficients", Floats{1, -2}},    {"rho", Floats{0.5f}},
                          {"kernel_params", kParams},         {"classlabels_ints", Ints{5, 7}},
                          {"kernel_type", std::string("RBF")}};
const Attributes kThree = {{"vectors_per_class", Ints{1, 1, 2}},
                           {"support_vectors", Floats{1, 2, 3, 4, -1, 0, 2, -2}},
                           {"coefficients", Floats{1, -2, 3, 0.5f, -1.5f, 0.25f, 2, -1}},
                           {"rho", Floats{0.5f, -0.2f, 0.3f}},
                           {"kernel_params", kParams},
                           {"classlabels_strings", Strings{"a", "b", "c"}},
                           {"kernel_type", std::string("RBF")}};
const Attributes kLinear = {
    {"coefficients", Floats{1, -2, 3, 4}}, {"rho", Floats{0.5f}}, {"classlabels_ints", Ints{5, 7}}};
const Attributes kProbabilities = with(kThree, {{"prob_a", Floats{-1, -0.5f, -2}}, {"prob_b", Floats{0.2f, 0, 0.1f}}});

OpCase classify(const char* about, const Attributes& attributes, Tensor labels, Tensor scores) {
  return {.about = about,
          .attributes = attributes,
          .inputs = {kSvmRows},
          .outputs = {std::move(labels), std::move(scores)}};
}
Attributes of(const Attributes& attributes, const char* transform) {
  return with(attributes, {{"post_transform", std::string(transform)}});
}
const Tensor kFirst = i64({2}, {5, 5}), kSecond = i64({2}, {7, 5});

const OpTest svm_classifier(
    "SVMClassifier",
    {classify("two classes", kPair, kFirst, f32({2, 2}, {-1.46336877f, 1.46336877f, -0.50020349f, 0.50020349f})),
     classify("two classes, LINEAR, the second chosen", with(kPair, {{"kernel_type", std::string("LINEAR")}}), kSecond,
              f32({2, 2}, {16.5f, -16.5f, -9.5f, 9.5f})),
     classify("two classes, SOFTMAX", of(with(kPair, {{"kernel_type", std::string("LINEAR")}}), "SOFTMAX"), kSecond,
              f32({2, 2}, {17.5f, -16.5f, -8.5f, 9.5f})),
     classify("two classes, LOGISTIC", of(kPair, "LOGISTIC"), kFirst,
              f32({2, 2}, {0.18795262f, 0.81204738f, 0.37749285f, 0.62250715f})),
     classify("two classes, probabilities", with(kPair, {{"prob_a", Floats{-1}}, {"prob_b", Floats{0.2f}}}), kFirst,
              f32({2, 2}, {0.77960533f, 0.22039469f, 0.57429248f, 0.42570749f})),
     classify("three classes: the scores of pairs", kThree, strings({2}, {"a", "a"}),
              f32({2, 3}, {1.46336877f, -1.64495134f, 0.34100673f, 0.50020349f, 0.04594981f, 0.46416998f})),
     classify("three classes, probabilities", kProbabilities, strings({2}, {"a", "a"}),
              f32({2, 3}, {0.34508041f, 0.27468893f, 0.38023070f, 0.38362539f, 0.36798465f, 0.24838993f})),
     classify("probabilities, SOFTMAX", of(kProbabilities, "SOFTMAX"), strings({2}, {"a", "a"}),
              f32({2, 3}, {0.33694944f, 0.31404659f, 0.34900391f, 0.34989610f, 0.34446603f, 0.30563784f})),
     classify("linear", kLinear, kSecond, f32({2, 2}, {-2.5f, 11.5f, -4.5f, -4.5f})),
     classify("linear: two positive scores choose the second class", with(kLinear, {{"rho", Floats{20}}}),
              i64({2}, {7, 7}), f32({2, 2}, {17, 31, 15, 15})),
     classify("linear, no negative coefficient: from 0.5 on",
              with(kLinear, {{"coefficients", Floats{0, 0, 0, 0}}, {"rho", Floats{0.25f}}}), kFirst,
              f32({2, 2}, {0.25f, 0.25f, 0.25f, 0.25f})),
     {.about = "many classes and rows, a class without vectors",
      .attributes = {{"vectors_per_class", Ints{9, 30, 0, 21, 17}},
                     {"support_vectors", some(77 * 13, 1)},
                     {"coefficients", some(77 * 4, 2)},
                     {"rho", some(10, 3)},
                     {"kernel_type", std::string("SIGMOID")},
                     {"kernel_params", Floats{0.1f, 0.3f, 0}},
                     {"classlabels_ints", Ints{1, 2, 3, 4, 5}}},
      .inputs = {random({150, 13}, 4)}},
     {.about = "many classes and rows, linear",
      .attributes = {{"coefficients", some(5 * 13, 2)},
                     {"rho", Floats{0.1f}},
                     {"classlabels_ints", Ints{1, 2, 3, 4, 5}}},
      .inputs = {random({150, 13}, 4)}}},
    {.domain = "ai.onnx.ml", .tolerance = 4});

TEST(SvmKernel, EqualsItsMeaningForEveryDegree) {
  for (const float degree : {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 7.0f, 16.0f, 17.0f, 0.5f, -1.0f}) {
    const SvmKernel kernel{.kind = SvmKernel::Kind::poly, .gamma = 0.5f, .coef0 = 0.25f, .degree = degree};
    for (const float x : {-2.0f, -0.5f, 0.0f, 1.5f}) {
      float value = x;
      kernel.apply({&value, 1});
      const double meant = kernel(&x, std::vector<float>{1}.data(), 1);
      if (!std::isfinite(meant))
        EXPECT_EQ(cat("{}", value), cat("{}", meant)) << x << " to " << degree;
      else
        EXPECT_NEAR(value, meant, 2e-6 * std::abs(meant)) << x << " to " << degree;
    }
  }
}

TEST(SupportVectorMachines, RejectInvalidInputs) {
  const auto refuses = [](const char* op, const Attributes& attributes, const char* why, Shape x = {2, 2}) {
    try {
      OpRun("ai.onnx.ml", op, attributes, {random(std::move(x))}, op == std::string("SVMRegressor") ? 1 : 2).run();
      ADD_FAILURE() << op << ": expected " << why;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(why), std::string::npos) << e.message();
    }
  };
  refuses("SVMRegressor", with(kRegressor, {{"kernel_type", std::string("COSINE")}}),
          "\"COSINE\" is not one of LINEAR");
  refuses("SVMRegressor", with(kRegressor, {{"kernel_params", Floats{1}}}), "kernel_params has 1 numbers");
  refuses("SVMRegressor", without(kRegressor, "rho"), "coefficients has 2 numbers and rho 0");
  refuses("SVMRegressor", with(kRegressor, {{"n_supports", int64_t(3)}}), "support_vectors has 4 numbers for 3");
  refuses("SVMRegressor", with(kRegressor, {{"n_supports", int64_t(1) << 62}}), "support_vectors has 4 numbers");
  refuses("SVMRegressor", with(kRegressor, {{"coefficients", Floats{1}}}), "1 coefficients for 2 support vectors");
  refuses("SVMRegressor", kRegressor, "X has shape [2,3], expected [N, 2] or [2]", {2, 3});
  refuses("SVMClassifier", without(kPair, "classlabels_ints"), "there are 0 class labels");
  refuses("SVMClassifier", with(kPair, {{"vectors_per_class", Ints{3, -1}}}), "vectors_per_class holds -1");
  refuses("SVMClassifier", with(kPair, {{"vectors_per_class", Ints{INT64_MAX, 1}}}), "overflows");
  refuses("SVMClassifier", with(kPair, {{"vectors_per_class", Ints{2}}}), "1 entries for 2 classes");
  refuses("SVMClassifier", with(kThree, {{"coefficients", Floats{1, 2, 3}}}), "expected 2 for each of 4 support");
  refuses("SVMClassifier", with(kThree, {{"rho", Floats{1}}}), "rho has 1 numbers and prob_a 0 for 3 pairs");
  refuses("SVMClassifier", with(kPair, {{"prob_a", Floats{1}}}), "prob_a has 1 numbers, prob_b 0");
  refuses("SVMClassifier", with(kPair, {{"vectors_per_class", Ints{2}}, {"classlabels_ints", Ints{5}}}),
          "of a single class");
  refuses("SVMClassifier", with(kLinear, {{"coefficients", Floats{1}}}), "1 coefficients for 2 classes");
  refuses("SVMClassifier", kPair, "X has shape [2,3]", {2, 3});
}

}  // namespace
}  // namespace retort::ops
