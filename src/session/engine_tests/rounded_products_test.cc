// session.qdq_matmulnbits_accuracy_level: products of floats by constant codes of DequantizeLinear. Level 4 rounds each
// row of the floats to 8 bits in blocks of 32, where codes have no blocks of their own; lower levels do not round.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kM = 3, kK = 80, kN = 5, kBlock = 32;
constexpr float kScale = 0.25f;

Tensor numbers() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Tensor t(DType::f32, {kM, kK});
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = normal(random);
  return t;
}
Tensor codes() {
  std::mt19937 random(4);
  Tensor t(DType::i8, {kK, kN});
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<int8_t>()[i] = int8_t(random());
  return t;
}

std::vector<float> product(const char* level, bool strict = false) {
  TestGraph t;
  const ValueId w = t.g.add_constant("w", codes());
  const ValueId b = t.add("DequantizeLinear", {w, t.g.add_constant("s", Tensor::of<float>({}, {kScale}))});
  t.output(t.add("MatMul", {t.input("x", {kM, kK}), b}), "y");
  SessionOptions options;
  options.threads.intra_threads = 1;
  if (strict) options.config["session.strict"] = "1";
  if (level) options.config["session.qdq_matmulnbits_accuracy_level"] = level;
  const auto session = make_session(*t.g.clone(), options);
  const Value y = run(*session, {numbers()})[0];
  return {y.tensor()->data<float>(), y.tensor()->data<float>() + y.tensor()->count()};
}

/// The largest difference from a plain loop, whose floats are rounded or not.
double difference(const std::vector<float>& y, bool rounds) {
  const Tensor a = numbers(), b = codes();
  double most = 0;
  for (int64_t i = 0; i < kM; ++i) {
    std::vector<double> row(a.data<float>() + i * kK, a.data<float>() + (i + 1) * kK);
    for (int64_t begin = 0; rounds && begin < kK; begin += kBlock) {
      const auto first = row.begin() + begin, last = row.begin() + std::min(begin + kBlock, kK);
      double largest = 0;
      std::for_each(first, last, [&](double x) { largest = std::max(largest, std::abs(x)); });
      const double step = largest / 127;
      std::transform(first, last, first, [&](double x) { return std::nearbyint(x / step) * step; });
    }
    for (int64_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum += row[size_t(k)] * b.data<int8_t>()[k * kN + j] * kScale;
      most = std::max(most, std::abs(sum - double(y[size_t(i * kN + j)])));
    }
  }
  return most;
}

TEST(RoundedProducts, OnlyLevelFourRounds) {
  constexpr double kNear = 1e-3, kFar = 0.05;
  for (const char* level : {static_cast<const char*>(nullptr), "0", "1", "3", "4"}) {
    const bool rounds = level && *level == '4';
    const std::vector<float> y = product(level);
    EXPECT_LT(difference(y, rounds), kNear) << (level ? level : "no level");
    EXPECT_GT(difference(y, !rounds), kFar) << (level ? level : "no level");
  }
}

TEST(RoundedProducts, StrictSessionsDoNotRound) { EXPECT_LT(difference(product("4", true), false), 1e-3); }

}  // namespace
}  // namespace retort
