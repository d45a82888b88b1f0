// Operators with bodies, and operators on values that are not tensors, in whole sessions.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

Tensor vector(const std::vector<float>& v) { return Tensor::of<float>({int64_t(v.size())}, v); }
Tensor number(int64_t v) { return Tensor::of<int64_t>({}, {v}); }
Tensor flag(bool v) { return Tensor::of<bool>({}, {v}); }

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

TEST(If, RejectsOtherConditionsThanOneBool) {
  const Choice t;
  EXPECT_CONTAINS(failure(t.g, {Tensor::of<bool>({2}, {true, true}), vector({1})}), "bool[2], but If expects one bool");
  EXPECT_CONTAINS(failure(t.g, {Tensor(DType::boolean, {0}), vector({1})}), "bool[0], but If expects one bool");
  EXPECT_THROW(Choice{DType::i64}, Error);
}

// A float kernel after it would read bytes of another type.
TEST(If, RejectsBranchesOfDifferentTypes) {
  TestGraph t, yes(t.g.shared_dims()), no(t.g.shared_dims());
  const ValueId c = t.input("c", {}, DType::boolean), x = t.input("x", {3});
  yes.output(yes.add("Cast", {yes.input("x", {3})}, {{"to", int64_t(DType::i8)}}), "y");
  no.output(no.add("Neg", {no.input("x", {3})}), "y");
  try {
    t.add_with_bodies("If", {c, x}, 1, {{"then_branch", yes.g.clone()}, {"else_branch", no.g.clone()}}, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_CONTAINS(e.message(), "output 0 is of type tensor(int8) from then_branch, tensor(float32) from else_branch");
  }
}

// Carries x, which grows by k (captured), outputs each x, and ends when the first element reaches 10.
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

// A body made by tf2onnx passes the iteration number to Slice as a vector, without a Reshape.
TEST(Loop, GivesItsBodyNumbersOfTheDeclaredShape) {
  for (const bool vectors : {true, false}) {
    TestGraph t, body(t.g.shared_dims());
    const ValueId m = t.input("m", {}, DType::i64), c = t.input("c", {}, DType::boolean);
    const Shape shape = vectors ? Shape{1} : Shape{};
    const ValueId i = body.input("i", shape, DType::i64), go = body.input("go", shape, DType::boolean);
    body.output(body.add("Identity", {go}), "again");
    body.output(body.add("Shape", {i}), "of_number");
    body.output(body.add("Shape", {go}), "of_condition");
    body.output(i, "number");
    const auto outputs = t.add_with_bodies("Loop", {m, c}, 0, {{"body", body.g.clone()}}, 3);
    for (size_t k = 0; k < 3; ++k) t.output(outputs[k], "y" + std::to_string(k));
    for (const OptimizationLevel level : kLevels) {
      const auto results = run(t.g, {number(3), flag(true)}, level);
      for (const auto& y : results)
        EXPECT_EQ(y.tensor()->shape(), vectors ? (Shape{3, 1}) : &y == &results[2] ? (Shape{3}) : (Shape{3, 0}));
      EXPECT_EQ(results[2].tensor()->data<int64_t>()[2], 2);
    }
  }
}

TEST(Loop, WithoutIterationsReturnsItsInputs) {
  const Count t;
  for (const OptimizationLevel level : kLevels) {
    for (const auto& [count, go] : {std::pair(int64_t(0), true), std::pair(int64_t(5), false)}) {
      auto results = run(t.g, {trips(count), flag(go), vector({7, 5}), vector({1, 1})}, level);
      EXPECT_EQ(floats(results[0]), (std::vector<float>{7, 5}));
      EXPECT_EQ(results[1].tensor()->shape(), (Shape{0, 2}));
    }
  }
}

TEST(Loop, RejectsATripCountThatIsNotOneNumber) {
  const Count t;
  EXPECT_CONTAINS(failure(t.g, {Tensor(DType::i64, {0}), flag(true), vector({0, 5}), vector({1, 1})}),
                  "the trip count is int64[0], but Loop expects one int64");
}

TEST(Loop, RejectsTypesThatItsBodyDoesNotTake) {
  for (const bool given : {true, false}) {
    TestGraph t, body(t.g.shared_dims());
    const ValueId m = t.input("m", {}, DType::i64), c = t.input("c", {}, DType::boolean);
    const ValueId x = t.input("x", {2}, given ? DType::i8 : DType::f32);
    body.input("i", {}, DType::i64);
    const ValueId go = body.input("go", {}, DType::boolean), before = body.input("x", {2});
    body.output(body.add("Identity", {go}), "again");
    body.output(given ? body.add("Neg", {before}) : body.add("Cast", {before}, {{"to", int64_t(DType::i8)}}), "x_out");
    try {
      t.add_with_bodies("Loop", {m, c, x}, 0, {{"body", body.g.clone()}}, 1);
      FAIL();
    } catch (const Error& e) {
      EXPECT_CONTAINS(e.message(), "carried value 0 is tensor(int8), but the body takes tensor(float32)");
    }
  }
}

// Optimised sessions take w from outside the loop; without a run of the body its result is the initial value, too.
TEST(Loop, ReturnsWhatItCarriesUnchanged) {
  TestGraph t, body(t.g.shared_dims());
  body.input("i", {}, DType::i64);
  body.output(body.input("go", {}, DType::boolean), "again");
  const ValueId w = body.input("w", {2}), sum = body.input("sum", {2}), v = body.input("v", {2});
  body.g.outputs.push_back(w);
  body.output(body.add("Add", {sum, body.add("Mul", {w, v})}), "next");
  body.output(body.add("Identity", {v}), "same");
  body.output(body.add("Identity", {w}), "each");
  const ValueId m = t.input("m", {t.symbol("counts")}, DType::i64), c = t.input("c", {}, DType::boolean);
  const auto y = t.add_with_bodies("Loop", {m, c, t.floats({2}, {2, 3}), t.input("x", {2}), t.input("v", {2})}, 0,
                                   {{"body", body.g.clone()}}, 4);
  for (size_t i = 0; i < y.size(); ++i) t.output(y[i], "y" + std::to_string(i));
  for (const OptimizationLevel level : kLevels) {
    for (const int64_t n : {0, 2}) {
      const auto got = run(t.g, {trips(n), flag(true), vector({1, 1}), vector({5, 7})}, level);
      EXPECT_EQ(floats(got[0]), (std::vector<float>{2, 3}));
      EXPECT_EQ(floats(got[1]), (n ? std::vector<float>{21, 43} : std::vector<float>{1, 1}));
      EXPECT_EQ(floats(got[2]), (std::vector<float>{5, 7}));
      EXPECT_EQ(got[3].tensor()->shape(), (Shape{n, 2}));
    }
  }
}

// A state s, which grows by each scanned row; outputs s before, and the row times k (captured).
struct Running : TestGraph {
  TestGraph body{g.shared_dims()};
  explicit Running(size_t width) {
    const ValueId s = body.input("s", {int64_t(width)}), x = body.input("x", {int64_t(width)}), k = body.input("k", {});
    body.output(body.add("Add", {s, x}), "next");
    body.output(body.add("Identity", {s}), "before");
    body.output(body.add("Mul", {x, k}), "scaled");
  }
};

TEST(Scan, GoesAlongAnyAxisInEitherDirection) {
  Running t(2);
  const ValueId s = t.input("s", {2}), x = t.input("x", {2, t.symbol("n")}), k = t.input("k", {});
  using Ints = std::vector<int64_t>;
  Node scan{.type = "Scan", .inputs = {s, x, k}, .captures = 1};
  t.body.g.captures = 1;
  scan.bodies = {{"body", t.body.g.clone()}};
  scan.attributes = {{"num_scan_inputs", int64_t(1)},
                     {"scan_input_axes", Ints{-1}},
                     {"scan_input_directions", Ints{1}},
                     {"scan_output_axes", Ints{-1, 0}},
                     {"scan_output_directions", Ints{0, 1}}};
  for (int i = 0; i < 3; ++i) scan.outputs.push_back(t.g.add_value(t.g.unique_name("Scan")));
  const std::vector<ValueId> y = t.g.node(t.g.add_node(std::move(scan))).outputs;
  t.output(y[0], "last");
  t.output(y[1], "before");
  t.output(y[2], "scaled");
  const Tensor columns = Tensor::of<float>({2, 3}, {1, 2, 3, 10, 20, 30}), ten = Tensor::of<float>({}, {10});
  for (const OptimizationLevel level : kLevels) {
    const auto got = run(t.g, {vector({0, 0}), columns, ten}, level);
    EXPECT_EQ(floats(got[0]), (std::vector<float>{6, 60}));
    EXPECT_EQ(got[1].tensor()->shape(), (Shape{2, 3}));
    EXPECT_EQ(floats(got[1]), (std::vector<float>{0, 3, 5, 0, 30, 50}));
    EXPECT_EQ(got[2].tensor()->shape(), (Shape{3, 2}));
    EXPECT_EQ(floats(got[2]), (std::vector<float>{10, 100, 20, 200, 30, 300}));
    const auto none = run(t.g, {vector({4, 5}), Tensor(DType::f32, {2, 0}), ten}, level);
    EXPECT_EQ(floats(none[0]), (std::vector<float>{4, 5}));
    EXPECT_EQ(none[1].tensor()->shape(), (Shape{2, 0}));
    EXPECT_EQ(none[2].tensor()->shape(), (Shape{0, 2}));
  }
}

// Opset 8: batches of rows; the first has two steps, the second one.
TEST(Scan, RunsOverABatchInItsOldForm) {
  for (const bool lengths : {false, true}) {
    Running t(1);
    const ValueId n = t.input("n", {2}, DType::i64), s = t.input("s", {2, 1}), x = t.input("x", {2, 2, 1}),
                  k = t.input("k", {});
    Node scan{.type = "Scan", .version = 8, .inputs = {lengths ? n : ValueId::none, s, x, k}, .captures = 1};
    t.body.g.captures = 1;
    scan.bodies = {{"body", t.body.g.clone()}};
    scan.attributes = {{"num_scan_inputs", int64_t(1)}, {"directions", std::vector<int64_t>{1}}};
    for (int i = 0; i < 3; ++i) scan.outputs.push_back(t.g.add_value(t.g.unique_name("Scan")));
    const std::vector<ValueId> y = t.g.node(t.g.add_node(std::move(scan))).outputs;
    t.output(y[0], "last");
    t.output(y[2], "scaled");
    for (const OptimizationLevel level : kLevels) {
      const auto got = run(t.g,
                           {Tensor::of<int64_t>({2}, {2, 1}), Tensor::of<float>({2, 1}, {0, 100}),
                            Tensor::of<float>({2, 2, 1}, {1, 2, 3, 4}), Tensor::of<float>({}, {10})},
                           level);
      EXPECT_EQ(floats(got[0]), lengths ? (std::vector<float>{3, 103}) : (std::vector<float>{3, 107}));
      EXPECT_EQ(got[1].tensor()->shape(), (Shape{2, 2, 1}));
      EXPECT_EQ(floats(got[1]), lengths ? (std::vector<float>{20, 10, 30, 0}) : (std::vector<float>{20, 10, 40, 30}));
    }
  }
}

TEST(Scan, RejectsInputsOfDifferentLengths) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n")}), y = t.input("y", {t.symbol("m")});
  TestGraph body(t.g.shared_dims());
  const ValueId a = body.input("a", {}), b = body.input("b", {});
  body.output(body.add("Add", {a, b}), "sum");
  Node scan{.type = "Scan", .inputs = {x, y}};
  scan.bodies = {{"body", body.g.clone()}};
  scan.attributes = {{"num_scan_inputs", int64_t(2)}};
  scan.outputs = {t.g.add_value("z")};
  const NodeId id = t.g.add_node(std::move(scan));
  t.output(t.g.node(id).outputs[0], "z");
  EXPECT_CONTAINS(failure(t.g, {vector({1, 2, 3}), vector({1, 2})}), "scan inputs 0 and 1 have 3 and 2 elements");
}

TEST(Scan, WithoutABodyIsRefused) {
  TestGraph t;
  const ValueId x = t.input("x", {2});
  try {
    t.add("Scan", {x}, {{"num_scan_inputs", int64_t(1)}});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_CONTAINS(std::string(e.what()), "attribute 'body' is required and missing");
  }
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
