#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

// Random results differ from run to run, so the tests below check distributions.
const OpTestOptions kOwn{.own_test = "Random in ops/random/random_test.cc"};
const OpTest normal("RandomNormal", {}, kOwn), uniform("RandomUniform", {}, kOwn),
    normal_like("RandomNormalLike", {}, kOwn), uniform_like("RandomUniformLike", {}, kOwn),
    bernoulli("Bernoulli", {}, kOwn), multinomial("Multinomial", {}, kOwn), dropout("Dropout", {}, kOwn);

constexpr int64_t kMany = 20000;

std::vector<double> numbers(const std::string& op, const Attributes& attributes, const std::vector<Tensor>& inputs,
                            size_t outputs = 1) {
  const Tensor t = OpRun("", op, attributes, inputs, outputs).run()[0];
  const Tensor wide = cast_to(t, DType::f64);
  return {wide.data<double>(), wide.data<double>() + wide.count()};
}
double mean_of(const std::vector<double>& x, double power = 1) {
  double sum = 0;
  for (const double v : x) sum += std::pow(v, power);
  return sum / double(x.size());
}

TEST(Random, NormalNumbersHaveTheirMeanAndVariance) {
  const Attributes a{{"seed", 3.0f}, {"mean", 5.0f}, {"scale", 2.0f}};
  Attributes shaped = a;
  shaped.set("shape", std::vector<int64_t>{kMany / 100, 100});
  for (const DType type : {DType::f32, DType::f64, DType::f16}) {
    shaped.set("dtype", int64_t(type));
    const auto x = numbers("RandomNormal", shaped, {});
    EXPECT_NEAR(mean_of(x), 5, 0.05);
    EXPECT_NEAR(mean_of(x, 2) - 25, 4, 0.4);
  }
  EXPECT_NEAR(mean_of(numbers("RandomNormalLike", a, {Tensor(DType::f64, {kMany})})), 5, 0.05);
}

TEST(Random, NormalFloatsOfPairsDependOnNothing) {
  const auto x = numbers("RandomNormalLike", {{"seed", 3.0f}}, {Tensor(DType::f32, {kMany + 1})});
  for (const size_t away : {1, 2, 255, 256, 512}) {
    double product = 0, squares = 0;
    for (size_t i = 0; i + away < x.size(); ++i) {
      product += x[i] * x[i + away];
      squares += (x[i] * x[i] - 1) * (x[i + away] * x[i + away] - 1);
    }
    EXPECT_NEAR(product / double(kMany), 0, 0.03) << away;
    EXPECT_NEAR(squares / double(kMany), 0, 0.1) << away;
  }
  const auto beyond = [&](double limit) {
    return double(std::ranges::count_if(x, [=](double v) { return std::abs(v) > limit; })) / double(kMany);
  };
  EXPECT_NEAR(beyond(1), 0.3173, 0.01);
  EXPECT_NEAR(beyond(3), 0.0027, 0.001);
  for (const int64_t n : {1, 2, 511, 513}) {
    const auto few = numbers("RandomNormalLike", {{"seed", 3.0f}}, {Tensor(DType::f32, {n})});
    EXPECT_EQ(1, std::ranges::count(few, few.back())) << n;
    EXPECT_TRUE(std::ranges::all_of(few, [](double v) { return std::abs(v) < 9; })) << n;
  }
}

TEST(Random, UniformNumbersFillTheirRange) {
  const Attributes a{{"seed", 3.0f}, {"low", -1.0f}, {"high", 3.0f}};
  Attributes shaped = a;
  shaped.set("shape", std::vector<int64_t>{kMany});
  for (const auto& x :
       {numbers("RandomUniform", shaped, {}), numbers("RandomUniformLike", a, {Tensor(DType::f32, {kMany})})}) {
    EXPECT_NEAR(mean_of(x), 1, 0.05);
    EXPECT_NEAR(mean_of(x, 2), 7.0 / 3, 0.1);
    EXPECT_GE(*std::min_element(x.begin(), x.end()), -1);
    EXPECT_LT(*std::max_element(x.begin(), x.end()), 3);
  }
}

TEST(Random, TheSeedDecides) {
  const auto draw = [](float seed) {
    return numbers("RandomUniform", {{"seed", seed}, {"shape", std::vector<int64_t>{8}}}, {});
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  const Attributes unseeded{{"shape", std::vector<int64_t>{8}}};
  EXPECT_NE(numbers("RandomUniform", unseeded, {}), numbers("RandomUniform", unseeded, {}));
}

TEST(Random, BernoulliDrawsByProbability) {
  Tensor p(DType::f32, {3, kMany});
  for (size_t i = 0; i < p.count(); ++i) {
    const size_t row = i / size_t(kMany);
    p.mutable_data<float>()[i] = 0.3f * float(row);
  }
  const auto x = numbers("Bernoulli", {{"seed", 1.0f}, {"dtype", int64_t(DType::i32)}}, {p});
  const auto row = [&](size_t r) {
    return mean_of({x.begin() + ptrdiff_t(r * kMany), x.begin() + ptrdiff_t((r + 1) * kMany)});
  };
  EXPECT_EQ(row(0), 0);
  EXPECT_NEAR(row(1), 0.3, 0.02);
  EXPECT_NEAR(row(2), 0.6, 0.02);
}

TEST(Random, MultinomialDrawsByLogarithms) {
  const Tensor logs = f32({2, 3}, {0, std::log(3.0f), -INFINITY, 1000, 1000, 1000});
  const auto x = numbers("Multinomial", {{"seed", 1.0f}, {"sample_size", kMany}}, {logs});
  EXPECT_NEAR(mean_of({x.begin(), x.begin() + kMany}), 0.75, 0.02);
  EXPECT_NEAR(mean_of({x.begin() + kMany, x.end()}), 1, 0.03);
}

TEST(Random, DropoutKeepsTheMean) {
  Tensor x(DType::f32, {kMany}), training(DType::boolean, {}), ratio = f32({}, {0.25f});
  std::fill_n(x.mutable_data<float>(), kMany, 3.0f);
  *training.mutable_data<bool>() = true;
  const auto y = numbers("Dropout", {{"seed", int64_t(1)}}, {x, ratio, training}, 2);
  EXPECT_NEAR(mean_of(y), 3, 0.06);
  EXPECT_NEAR(double(std::count(y.begin(), y.end(), 0.0)) / double(kMany), 0.25, 0.02);
  *training.mutable_data<bool>() = false;
  EXPECT_EQ(mean_of(numbers("Dropout", {}, {x, ratio, training}, 2)), 3);
}

}  // namespace
}  // namespace retort::ops
