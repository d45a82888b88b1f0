// Operators with bodies, and those whose values are no tensors, in whole sessions.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

constexpr OptimizationLevel kLevels[] = {OptimizationLevel::none, OptimizationLevel::all};

Tensor vector(const std::vector<float>& v) { return Tensor::of<float>({int64_t(v.size())}, v); }
Tensor number(int64_t v) { return Tensor::of<int64_t>({}, {v}); }
Tensor flag(bool v) { return Tensor::of<bool>({}, {v}); }

std::vector<float> floats(const Value& v) {
  const Tensor& t = *v.tensor();
  return {t.data<float>(), t.data<float>() + t.count()};
}

// The message of the error that a run ends with.
std::string failure(const Graph& g, const std::vector<Value>& inputs) {
  try {
    run(g, inputs, OptimizationLevel::all);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

// y = cond ? x + 1 : [x, 2 x]
struct Choice : TestGraph {
  explicit Choice(DType condition = DType::boolean) {
    const ValueId c = input("c", {symbol("flags")}, condition), x = input("x", {symbol("n")});
    TestGraph yes(g.shared_dims()), no(g.shared_dims());
    const ValueId in_yes = yes.input("x", {symbol("n")}), in_no = no.input("x", {symbol("n")});
    yes.output(yes.add("Add", {in_yes, yes.scalar(1)}), "y");
    no.output(no.add("Concat", {in_no, no.add("Mul", {in_no, no.scalar(2)})}, {{"axis", int64_t(0)}}), "y");
    output(add_with_bodies("If", {c, x}, 1, {{"then_branch", yes.g.clone()}, {"else_branch", no.g.clone()}}, 1)[0],
           "y");
  }
};

TEST(If, TakesTheBranchThatTheConditionNames) {
  const Choice t;
  for (const OptimizationLevel level : kLevels) {
    const Tensor yes = Tensor::of<bool>({1}, {true}), no = Tensor::of<bool>({1}, {false});
    EXPECT_EQ(floats(run(t.g, {yes, vector({1, 2})}, level)[0]), (std::vector<float>{2, 3}));
    EXPECT_EQ(floats(run(t.g, {no, vector({1, 2})}, level)[0]), (std::vector<float>{1, 2, 2, 4}));
  }
}

TEST(If, RefusesWhatIsNotOneBool) {
  const Choice t;
  EXPECT_CONTAINS(failure(t.g, {Tensor::of<bool>({2}, {true, true}), vector({1})}), "bool[2], If wants one bool");
  EXPECT_CONTAINS(failure(t.g, {Tensor(DType::boolean, {0}), vector({1})}), "bool[0], If wants one bool");
  const Choice whole(DType::i64);
  EXPECT_CONTAINS(failure(whole.g, {Tensor::of<int64_t>({1}, {1}), vector({1})}), "int64[1], If wants one bool");
}

// Carries x, which grows by k (captured), gives each x, and ends when its first element reaches 10.
struct Count : TestGraph {
  Count() {
    const ValueId m = input("m", {symbol("counts")}, DType::i64), c = input("c", {}, DType::boolean),
                  x = input("x", {2}), k = input("k", {2});
    TestGraph body(g.shared_dims());
    body.input("i", {}, DType::i64);
    body.input("go", {}, DType::boolean);
    const ValueId before = body.input("x", {2}), step = body.input("k", {2});
    const ValueId after = body.add("Add", {before, step});
    const ValueId first = body.add("Gather", {after, body.g.add_constant("zero", number(0))});
    body.output(body.add("Less", {first, body.scalar(10)}), "again");
    body.output(after, "x_out");
    body.output(body.add("Identity", {after}), "scan");
    const auto outputs = add_with_bodies("Loop", {m, c, x, k}, 1, {{"body", body.g.clone()}}, 2);
    output(outputs[0], "last");
    output(outputs[1], "all");
  }
};
Tensor trips(int64_t n) { return Tensor::of<int64_t>({1}, {n}); }

TEST(Loop, EndsWithTheTripCountOrTheCondition) {
  const Count t;
  for (const OptimizationLevel level : kLevels) {
    auto counted = run(t.g, {trips(3), flag(true), vector({0, 5}), vector({1, 1})}, level);
    EXPECT_EQ(floats(counted[0]), (std::vector<float>{3, 8}));
    EXPECT_EQ(counted[1].tensor()->shape(), (Shape{3, 2}));
    EXPECT_EQ(floats(counted[1]), (std::vector<float>{1, 6, 2, 7, 3, 8}));
    auto stopped = run(t.g, {trips(100), flag(true), vector({0, 5}), vector({4, 1})}, level);
    EXPECT_EQ(floats(stopped[0]), (std::vector<float>{12, 8}));
    EXPECT_EQ(stopped[1].tensor()->shape(), (Shape{3, 2}));
  }
}

TEST(Loop, WithoutIterationsGivesWhatItGot) {
  const Count t;
  for (const OptimizationLevel level : kLevels) {
    for (const auto& [count, go] : {std::pair(int64_t(0), true), std::pair(int64_t(5), false)}) {
      auto results = run(t.g, {trips(count), flag(go), vector({7, 5}), vector({1, 1})}, level);
      EXPECT_EQ(floats(results[0]), (std::vector<float>{7, 5}));
      EXPECT_EQ(results[1].tensor()->shape(), (Shape{0, 2}));
    }
  }
}

TEST(Loop, RefusesATripCountThatIsNotOneNumber) {
  const Count t;
  EXPECT_CONTAINS(failure(t.g, {Tensor(DType::i64, {0}), flag(true), vector({0, 5}), vector({1, 1})}),
                  "the trip count is int64[0], Loop wants one int64");
}

TEST(ZipMap, RowsBecomeMaps) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 2});
  t.output(t.add("ZipMap", {x}, {{"classlabels_strings", std::vector<std::string>{"cat", "dog"}}}, "ai.onnx.ml"), "y");
  for (const OptimizationLevel level : kLevels) {
    const std::vector<Value> y = run(t.g, {Tensor::of<float>({2, 2}, {0.25f, 0.75f, 1, 0})}, level);
    const auto* rows = y[0].get<Sequence>();
    ASSERT_TRUE(rows && rows->items.size() == 2);
    const auto* map = rows->items[0].get<Map>();
    ASSERT_TRUE(map);
    EXPECT_EQ(map->keys.data<std::string>()[1], "dog");
    EXPECT_EQ(map->values.data<float>()[1], 0.75f);
    EXPECT_TRUE(run(t.g, {Tensor(DType::f32, {0, 2})}, level)[0].get<Sequence>()->items.empty());
  }
  TestGraph whole;
  const ValueId z = whole.input("x", {3});
  whole.output(whole.add("ZipMap", {z}, {{"classlabels_int64s", std::vector<int64_t>{4, 5}}}, "ai.onnx.ml"), "y");
  EXPECT_CONTAINS(failure(whole.g, {vector({1, 2, 3})}), "2 labels need [N,2] or [2]");
}

}  // namespace
}  // namespace retort
