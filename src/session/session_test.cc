#include "session/session.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace retort {
namespace {

constexpr size_t kManyRuns = 200;  // several times what passes between two trims
constexpr int64_t kLong = 1 << 19, kShort = 16;

/// A model of one input x, whose shape `shape` gives, and one output.
class OneToOne {
 public:
  explicit OneToOne(Shape (*shape)(DimTable&)) {
    model_->ir_version = 8;
    model_->opsets[""] = 17;
    graph().inputs.push_back(graph().add_value("x", ValueType::tensor(DType::f32, shape(graph().dims()))));
  }
  ValueId x() { return graph().inputs[0]; }
  ValueId node(const char* type, std::vector<ValueId> inputs) {
    return graph().node(graph().add({.type = type, .inputs = std::move(inputs), .version = 13})).outputs[0];
  }
  Session session(ValueId y, OptimizationLevel level = OptimizationLevel::all) {
    graph().value(y).name = "y";
    graph().outputs.push_back(y);
    SessionOptions options;
    options.threads.intra_threads = 1;
    options.optimization = level;
    return {std::make_shared<Environment>(EnvironmentOptions{}), model_, options};
  }

 private:
  Graph& graph() { return *model_->graph; }
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
};

/// y = softmax(x) + x over a vector of any length: the softmax lies in the workspace.
Session softmax_session() {
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n")}; });
  return m.session(m.node("Add", {m.node("Softmax", {m.x()}), m.x()}));
}

/// The last element of y for an x of ones.
float run(Session& session, const Shape& shape) {
  Value x(Tensor(DType::f32, shape)), y(Tensor(DType::f32, shape));
  const size_t n = x.tensor()->count();
  std::fill_n(x.get<Tensor>()->mutable_data<float>(), n, 1.0f);
  const Value* inputs[] = {&x};
  Value* outputs[] = {&y};
  session.run(inputs, outputs, {}, nullptr);
  return y.tensor()->data<float>()[n - 1];
}

void run(Session& session, int64_t n) { EXPECT_FLOAT_EQ(run(session, Shape{n}), 1.0f + 1.0f / float(n)); }

TEST(Session, WorkspaceShrinksWhenRunsDo) {
  Session session = softmax_session();
  run(session, kLong);
  EXPECT_GE(session.workspace_bytes(), size_t(kLong) * sizeof(float));
  for (size_t i = 0; i < kManyRuns; ++i) run(session, kShort);
  EXPECT_LT(session.workspace_bytes(), size_t(1) << 20);
}

TEST(Session, ScratchShrinksWhenRunsDo) {
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n"), dims.symbol("n")}; });
  Session session = m.session(m.node("MatMul", {m.x(), m.x()}));  // packs its second operand into scratch
  constexpr int64_t kLarge = 1024, kSmall = 8;
  EXPECT_EQ(run(session, Shape{kLarge, kLarge}), float(kLarge));
  EXPECT_GE(session.workspace_bytes(), size_t(kLarge * kLarge) * sizeof(float));
  for (size_t i = 0; i < kManyRuns; ++i) EXPECT_EQ(run(session, Shape{kSmall, kSmall}), float(kSmall));
  EXPECT_LT(session.workspace_bytes(), size_t(1) << 20);
}

TEST(Session, WorkspaceStaysWhileItIsUsedNowAndThen) {
  Session session = softmax_session();
  for (size_t i = 0; i < kManyRuns; ++i) run(session, i % 8 == 0 ? kLong : kShort);
  EXPECT_GE(session.workspace_bytes(), size_t(kLong) * sizeof(float));
}

TEST(Session, FramesOfABurstGoAway) {
  Session session = softmax_session();
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) run(session, kLong);
    });
  }
  for (auto& c : callers) c.join();
  for (size_t i = 0; i < kManyRuns; ++i) run(session, kLong);
  EXPECT_LT(session.workspace_bytes(), 2 * size_t(kLong) * sizeof(float));
}

// y = reshape(x, reversed shape of x): nothing to do where the extents are equal.
Session reshape_session(OptimizationLevel level) {
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n"), dims.symbol("n")}; });
  const ValueId transposed = m.node("Transpose", {m.x()});
  return m.session(m.node("Reshape", {m.x(), m.node("Shape", {transposed})}), level);
}

TEST(Session, ExtentsOfOneNameMustBeEqualWhereThatWasUsed) {
  Value x(Tensor(DType::f32, {2, 3}));
  const Value* inputs[] = {&x};
  Value y;
  Value* outputs[] = {&y};
  Session optimized = reshape_session(OptimizationLevel::all), plain = reshape_session(OptimizationLevel::none);
  try {
    optimized.run(inputs, outputs, {}, nullptr);
    FAIL() << "the clash was not seen";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("extent 'n' is 2 in input 'x' and 3 in input 'x'"), std::string::npos)
        << e.what();
  }
  EXPECT_FALSE(y.tensor());
  plain.run(inputs, outputs, {}, nullptr);
  ASSERT_TRUE(y.tensor());
  EXPECT_EQ(y.tensor()->shape(), (Shape{3, 2}));
}

}  // namespace
}  // namespace retort
