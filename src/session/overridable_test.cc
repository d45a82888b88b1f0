// Initializers that are also inputs: a run may give them another value.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "onnx/writer.h"
#include "session/binding.h"
#include "session/session_testing.h"

namespace retort {
namespace {

/// y = x · w + b and a copy of b, where w and b have values in the model.
class OverridableModel : public ::testing::Test {
 protected:
  OverridableModel() {
    model_->ir_version = 8;
    model_->opsets[""] = 13;
    Graph& g = *model_->graph;
    const auto input = [&g](const char* name, const Shape& shape) {
      return g.inputs.emplace_back(g.add_value(name, ValueType::tensor(DType::f32, shape)));
    };
    const ValueId w = input("w", {2, 2}), x = input("x", {1, 2}), b = input("b", {2});
    g.defaults[w] = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
    g.defaults[b] = Tensor::of<float>({2}, {10, 20});
    const auto node = [&g](const char* type, std::vector<ValueId> from, const char* name) {
      const NodeId id = g.add({.type = type, .inputs = std::move(from), .version = 13});
      g.value(g.node(id).outputs[0]).name = name;
      return g.node(id).outputs[0];
    };
    g.outputs = {node("Add", {node("MatMul", {x, w}, "product"), b}, "y"), b};
    write_model(*model_, path_, {});
  }
  ~OverridableModel() override { std::filesystem::remove(path_); }

  /// y and the copy of b for x = [1, 1]; null: not given.
  static std::vector<float> results(Session& session, const Tensor* w, const Tensor* b) {
    const auto value = [](const Tensor* t) { return t ? Value(*t) : Value(); };
    const Value x(Tensor::of<float>({1, 2}, {1, 1})), of_w = value(w), of_b = value(b);
    const Value* const inputs[] = {&x, w ? &of_w : nullptr, b ? &of_b : nullptr};
    std::vector<Value> outputs(2);
    Value* const to[] = {&outputs[0], &outputs[1]};
    session.run(inputs, to, {}, nullptr);
    std::vector<float> all;
    for (const Value& v : outputs) {
      const auto data = v.tensor()->data<float>();
      all.insert(all.end(), data, data + v.tensor()->count());
    }
    return all;
  }
  static void expect_overrides(Session& session) {
    using Floats = std::vector<float>;
    const Tensor w = Tensor::of<float>({2, 2}, {0, 0, 5, 6}), b = Tensor::of<float>({2}, {1, 1});
    EXPECT_EQ(results(session, nullptr, nullptr), (Floats{14, 26, 10, 20}));
    EXPECT_EQ(results(session, &w, nullptr), (Floats{15, 26, 10, 20}));
    EXPECT_EQ(results(session, nullptr, &b), (Floats{5, 7, 1, 1}));
    EXPECT_EQ(results(session, &w, &b), (Floats{6, 7, 1, 1}));
    EXPECT_EQ(results(session, nullptr, nullptr), (Floats{14, 26, 10, 20}));
  }

  std::shared_ptr<Model> model_ = std::make_shared<Model>();
  std::string path_ = ::testing::TempDir() + "overridable_" + std::to_string(getpid()) + ".onnx";
  std::shared_ptr<Environment> environment_ = std::make_shared<Environment>(EnvironmentOptions{});
};

TEST_F(OverridableModel, AnyRunMayGiveThemOtherValues) {
  SessionOptions none;
  none.optimization = OptimizationLevel::none;
  Session from_path(environment_, path_, {}), unoptimized(environment_, path_, none);
  expect_overrides(from_path);
  expect_overrides(unoptimized);
  Session in_memory(environment_, model_, {});
  expect_overrides(in_memory);
}

TEST_F(OverridableModel, TheFileIsNotNeededAgain) {
  Session session(environment_, path_, {});
  std::filesystem::remove(path_);
  expect_overrides(session);
}

TEST_F(OverridableModel, ThreadsThatOverrideDifferentOnesShareASession) {
  Session session(environment_, path_, {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&session] { expect_overrides(session); });
  for (std::thread& t : threads) t.join();
}

TEST_F(OverridableModel, OptionsMayReplaceThemAndRunsOverrideThat) {
  float w[] = {1, 1, 1, 1};
  SessionOptions options;
  options.initializers["w"] = Tensor(DType::f32, {2, 2}, w, nullptr);
  for (const auto level : {OptimizationLevel::all, OptimizationLevel::none}) {
    options.optimization = level;
    Session session(environment_, path_, options);
    const Tensor b = Tensor::of<float>({2}, {1, 1}), other = Tensor::of<float>({2, 2}, {0, 0, 5, 6});
    EXPECT_EQ(results(session, nullptr, nullptr), (std::vector<float>{12, 22, 10, 20}));
    EXPECT_EQ(results(session, nullptr, &b), (std::vector<float>{3, 3, 1, 1}));
    EXPECT_EQ(results(session, &other, nullptr), (std::vector<float>{15, 26, 10, 20}));
  }
}

TEST_F(OverridableModel, StayInputsOfTheModelThatIsSaved) {
  const std::string saved = path_ + ".saved.onnx";
  SessionOptions options;
  options.optimized_model_path = saved;
  expect_overrides(*std::make_unique<Session>(environment_, path_, options));
  Session again(environment_, saved, {});
  EXPECT_EQ(again.ports().overridable().size(), 2u);
  expect_overrides(again);
  std::filesystem::remove(saved);
}

TEST_F(OverridableModel, ABindingMayGiveOneAndTakeItBack) {
  const auto session = std::make_shared<Session>(environment_, path_, SessionOptions{});
  Binding binding(session);
  binding.bind_input("x", Tensor::of<float>({1, 2}, {1, 1}));
  binding.bind_output("y", MemorySpace{});
  const auto first = [&] {
    binding.run(nullptr);
    return binding.output_value(0).tensor()->data<float>()[0];
  };
  EXPECT_EQ(first(), 14);
  binding.bind_input("w", Tensor::of<float>({2, 2}, {0, 0, 5, 6}));
  EXPECT_EQ(first(), 15);
  binding.clear_inputs();
  binding.bind_input("x", Tensor::of<float>({1, 2}, {1, 1}));
  EXPECT_EQ(first(), 14);
}

TEST_F(OverridableModel, AWrongValueIsRejectedByName) {
  Session session(environment_, path_, {});
  try {
    session.check_input(size_t(session.input_index("w")), Value(Tensor(DType::f32, {3})));
    FAIL();
  } catch (const Error& e) {
    EXPECT_CONTAINS(std::string(e.what()), "input 'w' must have shape [2,2]");
  }
}

/// y = x + w for vectors whose lengths have one name, where w has one element: no call gives w, so the name does not
/// tie the lengths.
TEST(Overridable, ExtentsOfOnesThatAreNotGivenAreTheirOwn) {
  auto model = std::make_shared<Model>();
  Graph& g = *model->graph;
  const ValueType vector = ValueType::tensor(DType::f32, {g.dims().symbol("n")});
  g.inputs = {g.add_value("x", vector), g.add_value("w", vector)};
  g.defaults[g.inputs[1]] = Tensor::of<float>({1}, {5});
  const NodeId add = g.add({.type = "Add", .inputs = g.inputs, .version = 13});
  g.outputs = {g.node(add).outputs[0]};
  model->ir_version = 8;
  model->opsets[""] = 13;
  Session session(std::make_shared<Environment>(EnvironmentOptions{}), model, {});
  const Value x(Tensor::of<float>({3}, {1, 2, 3})), longer(Tensor::of<float>({3}, {10, 20, 30}));
  const auto last = [&](const Value* w) {
    const Value* const inputs[] = {&x, w};
    Value y;
    Value* const to[] = {&y};
    session.run(inputs, to, {}, nullptr);
    return y.tensor()->data<float>()[2];
  };
  EXPECT_EQ(last(nullptr), 8);
  EXPECT_EQ(last(&longer), 33);  // of another shape than the value in the model
  EXPECT_EQ(last(nullptr), 8);
}

}  // namespace
}  // namespace retort
