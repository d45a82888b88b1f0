#include "session/session.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace retort {
namespace {

constexpr size_t kManyRuns = 200;  // several times what passes between two trims
constexpr int64_t kLong = 1 << 20, kShort = 16;

/// y = softmax(x) + x over a vector of any length: the softmax lies in the workspace.
Session make_session(int threads = 1) {
  auto model = std::make_shared<Model>();
  model->ir_version = 8;
  model->opsets[""] = 17;
  Graph& g = *model->graph;
  const ValueId x = g.add_value("x", ValueType::tensor(DType::f32, Shape{g.dims().symbol("n")}));
  g.inputs.push_back(x);
  const auto node = [&](const char* type, std::vector<ValueId> inputs) {
    return g.node(g.add({.type = type, .inputs = std::move(inputs), .version = 13})).outputs[0];
  };
  const ValueId y = node("Add", {node("Softmax", {x}), x});
  g.value(y).name = "y";
  g.outputs.push_back(y);
  SessionOptions options;
  options.threads.intra_threads = threads;
  return {std::make_shared<Environment>(EnvironmentOptions{}), std::move(model), options};
}

void run(Session& session, int64_t n) {
  Value x(Tensor(DType::f32, {n})), y(Tensor(DType::f32, {n}));
  std::fill_n(x.get<Tensor>()->mutable_data<float>(), n, 1.0f);
  const Value* inputs[] = {&x};
  Value* outputs[] = {&y};
  session.run(inputs, outputs, {}, nullptr);
  EXPECT_FLOAT_EQ(y.get<Tensor>()->data<float>()[n - 1], 1.0f + 1.0f / float(n));
}

TEST(Session, WorkspaceShrinksWhenRunsDo) {
  Session session = make_session();
  run(session, kLong);
  EXPECT_GE(session.workspace_bytes(), size_t(kLong) * sizeof(float));
  for (size_t i = 0; i < kManyRuns; ++i) run(session, kShort);
  EXPECT_LT(session.workspace_bytes(), size_t(1) << 20);
}

TEST(Session, WorkspaceStaysWhileItIsUsedNowAndThen) {
  Session session = make_session();
  for (size_t i = 0; i < kManyRuns; ++i) run(session, i % 8 == 0 ? kLong : kShort);
  EXPECT_GE(session.workspace_bytes(), size_t(kLong) * sizeof(float));
}

TEST(Session, FramesOfABurstGoAway) {
  Session session = make_session();
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

}  // namespace
}  // namespace retort
