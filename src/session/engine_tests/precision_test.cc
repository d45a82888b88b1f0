// session.precision: products with constant matrices and filters in bfloat16 arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "ops/run_context.h"
#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kRows = 24, kIn = 96, kOut = 70;

struct Case {
  std::string_view op;
  Shape x, w;
  bool rounds = true;
  bool scaled = false;  ///< columns have factors: powers of two, by which rounded weights are multiplied exactly
};

Value rounded(const Value& v) {
  Tensor t(DType::f32, v.tensor()->shape());
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = float(bfloat16(v.tensor()->data<float>()[i]));
  return t;
}

/// The model with weights as they are, or rounded to bfloat16.
std::shared_ptr<Graph> graph_of(const Case& c, bool rounds) {
  TestGraph t;
  const ValueId x = t.input("x", c.x);
  const Value w = image(c.w, 5);
  const ValueId weight = t.g.add_constant("w", *(rounds ? rounded(w) : w).tensor());
  ValueId y = t.add(std::string(c.op), {x, weight});
  if (c.scaled) {
    Tensor factors(DType::f32, {c.w.back()});
    for (size_t i = 0; i < factors.count(); ++i) factors.mutable_data<float>()[i] = i % 3 == 0 ? -2 : 0.25f;
    y = t.add("Mul", {y, t.g.add_constant("factors", factors)});
  }
  t.output(y, "y");
  return t.g.clone();
}

SessionOptions options_of(const char* precision) {
  SessionOptions options;
  options.threads.intra_threads = 2;
  options.config["session.precision"] = precision;
  options.config["session.strict"] = "1";  // so that only the factors are rounded
  return options;
}

class Precision : public ::testing::TestWithParam<Case> {};

/// Factors are rounded, sums are not: the result is the float32 result of rounded factors.
TEST_P(Precision, RoundsTheFactors) {
  const Value x = image(GetParam().x);
  const auto session = make_session(*graph_of(GetParam(), false), options_of("bf16"));
  const std::vector<float> got = floats(run(*session, {x})[0]);
  const bool rounds = GetParam().rounds && multiplies_bf16();
  const auto plain = make_session(*graph_of(GetParam(), rounds), options_of("float32"));
  const std::vector<float> want = floats(run(*plain, {rounds ? rounded(x) : x})[0]);
  const auto unrounded = make_session(*graph_of(GetParam(), false), options_of("float32"));
  const std::vector<float> exact = floats(run(*unrounded, {x})[0]);
  float most = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-3) << i;  // of sums of up to 2,000 products of magnitude 1
    most = std::max(most, std::fabs(got[i] - exact[i]));
  }
  EXPECT_EQ(most > 1e-3f, rounds) << most;
}

INSTANTIATE_TEST_SUITE_P(
    Products, Precision,
    ::testing::Values(Case{"MatMul", {kRows, kIn}, {kIn, kOut}}, Case{"MatMul", {2, 3, kIn}, {kIn, kOut}},
                      Case{"MatMul", {kRows, kIn + 5}, {kIn + 5, kOut}, true, true},
                      Case{"MatMul", {2, 3, kIn}, {1, 1, kIn, kOut}, false},  // a batch of matrices
                      Case{"Gemm", {kRows, kIn}, {kIn, kOut}}, Case{"Conv", {2, kIn, 5, 7}, {kOut, kIn, 1, 1}},
                      Case{"Conv", {1, kIn, 5, 7}, {kOut, kIn, 3, 2}}),
    [](const auto& info) { return std::string(info.param.op) + std::to_string(info.index); });

TEST(PrecisionKey, WithoutPackedWeightsEverythingIsFloat32) {
  const Case c{"MatMul", {kRows, kIn}, {kIn, kOut}};
  const Value x = image(c.x);
  SessionOptions options = options_of("bf16");
  options.config["session.disable_prepacking"] = "1";
  const std::vector<float> got = floats(run(*make_session(*graph_of(c, false), options), {x})[0]);
  EXPECT_EQ(got, floats(run(*make_session(*graph_of(c, false), options_of("float32")), {x})[0]));
}

TEST(PrecisionKey, OtherValuesAreRefused) {
  try {
    make_session(*graph_of({"MatMul", {kRows, kIn}, {kIn, kOut}}, false), options_of("bfloat16"));
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_CONTAINS(e.message(), "session.precision is 'bfloat16'");
  }
}

}  // namespace
}  // namespace retort
