// session.strict: products are plain sums of products, so a row's results do not depend on the rows beside it.
#include <gtest/gtest.h>

#include "ops/run_context.h"
#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kManyRows = 160, kWidth = 768;

/// A large product with weights; the rows of a convolution are its pixels.
struct LargeProduct {
  std::string_view op;
  bool pixels() const { return op == "Conv"; }
  Shape shape() const { return pixels() ? Shape{1, kWidth, 10, kManyRows / 10} : Shape{kManyRows, kWidth}; }
  size_t at(size_t row, size_t column) const {
    return pixels() ? column * size_t(kManyRows) + row : row * size_t(kWidth) + column;
  }

  std::shared_ptr<Graph> graph() const {
    TestGraph t;
    const ValueId x = t.input("x", shape());
    const ValueId w = t.weight("w", pixels() ? Shape{kWidth, kWidth, 1, 1} : Shape{kWidth, kWidth});
    t.output(t.add(std::string(op), {x, w}), "y");
    return t.g.clone();
  }
};

std::vector<float> first_row(Session& session, const LargeProduct& p, const Value& x) {
  const std::vector<Value> y = run(session, {x});
  std::vector<float> row;
  for (size_t j = 0; j < size_t(kWidth); ++j) row.push_back(y[0].tensor()->data<float>()[p.at(0, j)]);
  return row;
}

class Strict : public ::testing::TestWithParam<LargeProduct> {};

TEST_P(Strict, RowsStandAlone) {
  const LargeProduct& p = GetParam();
  const Value x = image(p.shape());
  Tensor other(DType::f32, p.shape());
  for (size_t i = 0; i < size_t(kManyRows); ++i) {
    for (size_t j = 0; j < size_t(kWidth); ++j) {
      other.mutable_data<float>()[p.at(i, j)] = x.tensor()->data<float>()[p.at(i, j)] * (i == 0 ? 1.0f : 1.37f);
    }
  }
  std::vector<float> rows[2];
  for (const bool strict : {false, true}) {
    SessionOptions options;
    options.threads.intra_threads = 2;
    options.config["session.strict"] = strict ? "1" : "0";
    const auto session = make_session(*p.graph(), options);
    rows[strict] = first_row(*session, p, x);
    const std::vector<float> beside_others = first_row(*session, p, other);
    EXPECT_EQ(rows[strict] == beside_others, strict || !saves_multiplications());
  }
  for (size_t j = 0; j < size_t(kWidth); ++j)
    ASSERT_NEAR(rows[0][j], rows[1][j], 2e-4) << j;  // for values of up to 100
}

INSTANTIATE_TEST_SUITE_P(Products, Strict,
                         ::testing::Values(LargeProduct{"MatMul"}, LargeProduct{"Gemm"}, LargeProduct{"Conv"}),
                         [](const auto& info) { return std::string(info.param.op); });

}  // namespace
}  // namespace retort
