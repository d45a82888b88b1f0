// session.qdq_matmulnbits_accuracy_level: products of floats by constant codes of DequantizeLinear. Level 4, which is
// the default, rounds each row of the floats to 8 bits in blocks of 32, where codes have no blocks of their own; lower
// levels do not round.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kFewRows = 3, kDepth = 80, kColumns = 5, kBlock = 32;
constexpr float kCodeScale = 0.25f;

Tensor numbers() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Tensor t(DType::f32, {kFewRows, kDepth});
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = normal(random);
  return t;
}
Tensor codes() {
  std::mt19937 random(4);
  Tensor t(DType::i8, {kDepth, kColumns});
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<int8_t>()[i] = int8_t(random());
  return t;
}

std::vector<float> product(const char* level, bool strict = false) {
  TestGraph t;
  const ValueId w = t.g.add_constant("w", codes());
  const ValueId b = t.add("DequantizeLinear", {w, t.g.add_constant("s", Tensor::of<float>({}, {kCodeScale}))});
  t.output(t.add("MatMul", {t.input("x", {kFewRows, kDepth}), b}), "y");
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
  for (int64_t i = 0; i < kFewRows; ++i) {
    std::vector<double> row(a.data<float>() + i * kDepth, a.data<float>() + (i + 1) * kDepth);
    for (int64_t begin = 0; rounds && begin < kDepth; begin += kBlock) {
      const auto first = row.begin() + begin, last = row.begin() + std::min(begin + kBlock, kDepth);
      double largest = 0;
      std::for_each(first, last, [&](double x) { largest = std::max(largest, std::abs(x)); });
      const double step = largest / 127;
      std::transform(first, last, first, [&](double x) { return std::nearbyint(x / step) * step; });
    }
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kDepth; ++k) sum += row[size_t(k)] * b.data<int8_t>()[k * kColumns + j] * kCodeScale;
      most = std::max(most, std::abs(sum - double(y[size_t(i * kColumns + j)])));
    }
  }
  return most;
}

TEST(RoundedProducts, OnlyLevelFourRounds) {
  constexpr double kNear = 1e-3, kFar = 0.05;
  for (const char* level : {static_cast<const char*>(nullptr), "0", "1", "3", "4"}) {
    const bool rounds = !level || *level == '4';
    const std::vector<float> y = product(level);
    EXPECT_LT(difference(y, rounds), kNear) << (level ? level : "no level");
    EXPECT_GT(difference(y, !rounds), kFar) << (level ? level : "no level");
  }
}

TEST(RoundedProducts, StrictSessionsDoNotRound) { EXPECT_LT(difference(product("4", true), false), 1e-3); }

}  // namespace
}  // namespace retort
