// Sequences and optionals, in whole sessions.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

Tensor numbers(Shape shape, const std::vector<float>& v) { return Tensor::of<float>(std::move(shape), v); }
using Floats = std::vector<float>;

struct SequenceGraph : TestGraph {
  ValueId number(int64_t v) { return g.add_constant(g.unique_name("n"), Tensor::of<int64_t>({}, {v})); }
  std::vector<Value> run(const std::vector<Value>& inputs, OptimizationLevel level) {
    return retort::run(g, inputs, level);
  }
  std::string failure(const std::vector<Value>& inputs) {
    try {
      run(inputs, OptimizationLevel::all);
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }
};

TEST(Sequence, InsertEraseAtLength) {
  SequenceGraph m;
  const ValueId a = m.input("a", {m.symbol("n")}), b = m.input("b", {m.symbol("m")});
  ValueId s = m.add("SequenceConstruct", {a, b});                     // a b
  s = m.add("SequenceInsert", {s, m.add("Neg", {a}), m.number(-1)});  // a -a b
  s = m.add("SequenceInsert", {s, m.add("Neg", {b})});                // a -a b -b
  s = m.add("SequenceErase", {s, m.number(0)});                       // -a b -b
  m.output(m.add("SequenceLength", {m.add("SequenceErase", {s})}), "length");
  m.output(m.add("SequenceAt", {s, m.number(0)}), "first");
  m.output(m.add("SequenceAt", {s, m.number(-1)}), "last");
  m.output(m.add("SequenceLength", {m.add_multi({.type = "SequenceEmpty", .inputs = {}})[0]}), "none");
  for (const OptimizationLevel level : kLevels) {
    const auto y = m.run({numbers({2}, {1, 2}), numbers({1}, {3})}, level);
    EXPECT_EQ(*y[0].tensor()->data<int64_t>(), 2);
    EXPECT_EQ(floats(y[1]), (Floats{-1, -2}));
    EXPECT_EQ(floats(y[2]), (Floats{-3}));
    EXPECT_EQ(*y[3].tensor()->data<int64_t>(), 0);
  }
}

// Copies share elements; none sees what another one adds or erases.
TEST(Sequence, ItemsAreShared) {
  const auto number = [](float v) { return Value(Tensor::of<float>({}, {v})); };
  const auto content = [](const Items& items) {
    Floats all;
    for (const Value& v : items) all.push_back(*v.tensor()->data<float>());
    return all;
  };
  Items a;
  for (float v = 0; v < 5; ++v) a.push_back(number(v));
  Items b = a, c = a;
  EXPECT_EQ(b.begin(), a.begin());
  b.push_back(number(5));  // in the memory that all three share
  EXPECT_EQ(b.begin(), a.begin());
  c.push_back(number(6));  // which is taken now
  EXPECT_NE(c.begin(), a.begin());
  Items d = b, e = b, f = b, moved = b;
  d.erase(1);
  f.erase(5);
  EXPECT_EQ(f.begin(), b.begin());
  f.push_back(number(9));
  e.insert(2, number(7));
  const Items taken = std::move(moved);
  EXPECT_EQ(content(a), (Floats{0, 1, 2, 3, 4}));
  EXPECT_EQ(content(b), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(content(c), (Floats{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(content(d), (Floats{0, 2, 3, 4, 5}));
  EXPECT_EQ(content(e), (Floats{0, 1, 7, 2, 3, 4, 5}));
  EXPECT_EQ(content(f), (Floats{0, 1, 2, 3, 4, 9}));
  EXPECT_EQ(content(taken), content(b));
  EXPECT_TRUE(moved.empty());  // NOLINT: an empty sequence, as the constructor makes
  moved.push_back(number(8));
  EXPECT_EQ(content(moved), (Floats{8}));
}

TEST(Sequence, ConcatAlongAnOldOrANewAxis) {
  SequenceGraph m;
  const ValueId a = m.input("a", {2, m.symbol("n")}), b = m.input("b", {2, m.symbol("m")});
  const ValueId s = m.add("SequenceConstruct", {a, b});
  m.output(m.add("ConcatFromSequence", {s}, {{"axis", int64_t(-1)}}), "old");
  m.output(m.add("ConcatFromSequence", {m.add("SequenceConstruct", {a, a})},
                 {{"axis", int64_t(1)}, {"new_axis", int64_t(1)}}),
           "fresh");
  for (const OptimizationLevel level : kLevels) {
    const auto y = m.run({numbers({2, 2}, {1, 2, 3, 4}), numbers({2, 1}, {5, 6})}, level);
    EXPECT_EQ(y[0].tensor()->shape(), (Shape{2, 3}));
    EXPECT_EQ(floats(y[0]), (Floats{1, 2, 5, 3, 4, 6}));
    EXPECT_EQ(y[1].tensor()->shape(), (Shape{2, 2, 2}));
    EXPECT_EQ(floats(y[1]), (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  }
  for (const int64_t fresh : {0, 1}) {
    SequenceGraph bad;
    const ValueId x = bad.input("x", {bad.symbol("k")}), z = bad.input("z", fresh ? Shape{2} : Shape{1, 1});
    bad.output(bad.add("ConcatFromSequence", {bad.add("SequenceConstruct", {x, z})},
                       {{"axis", int64_t(0)}, {"new_axis", fresh}}),
               "y");
    const Tensor other = fresh ? numbers({2}, {1, 2}) : numbers({1, 1}, {1});
    EXPECT_CONTAINS(bad.failure({numbers({1}, {1}), other}), "element 1 of the sequence does not match");
  }
}

TEST(Sequence, SplitIntoParts) {
  struct Case {
    Attributes attributes;
    Tensor split;  // empty: none
    std::vector<Shape> shapes;
  };
  const Case cases[] = {
      {{{"axis", int64_t(1)}}, {}, {{1, 1}, {1, 1}, {1, 1}}},
      {{{"axis", int64_t(1)}, {"keepdims", int64_t(0)}}, {}, {{1}, {1}, {1}}},
      {{{"axis", int64_t(-1)}}, Tensor::of<int64_t>({}, {2}), {{1, 2}, {1, 1}}},
      {{{"axis", int64_t(1)}, {"keepdims", int64_t(0)}}, Tensor::of<int64_t>({2}, {0, 3}), {{1, 0}, {1, 3}}},
  };
  for (const Case& c : cases) {
    SequenceGraph m;
    std::vector<ValueId> in = {m.input("x", {1, 3})};
    if (c.split) in.push_back(m.g.add_constant("split", c.split));
    m.output(m.add("SplitToSequence", in, c.attributes), "y");
    const auto y = m.run({numbers({1, 3}, {7, 8, 9})}, OptimizationLevel::all);
    const auto* s = y[0].get<Sequence>();
    ASSERT_TRUE(s && s->items.size() == c.shapes.size());
    Floats all;
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      EXPECT_EQ(s->items[i].tensor()->shape(), c.shapes[i]);
      for (const float v : floats(s->items[i])) all.push_back(v);
    }
    EXPECT_EQ(all, (Floats{7, 8, 9}));
  }
  SequenceGraph bad;
  bad.output(bad.add("SplitToSequence", {bad.input("x", {bad.symbol("n")}), bad.ints({1, 1})}), "y");
  EXPECT_CONTAINS(bad.failure({numbers({3}, {7, 8, 9})}), "does not add up to the 3 elements");
}

TEST(Sequence, PositionsOutOfRangeAreRejected) {
  SequenceGraph m;
  m.output(m.add("SequenceAt", {m.add("SequenceConstruct", {m.input("x", {1})}), m.number(1)}), "y");
  EXPECT_CONTAINS(m.failure({numbers({1}, {1})}), "position 1 is outside of [-1, 1)");
}

TEST(SequenceMap, RunsItsBodyOnEachElement) {
  SequenceGraph m;
  const ValueId a = m.input("a", {m.symbol("n")}), b = m.input("b", {m.symbol("m")}), k = m.input("k", {});
  TestGraph body(m.g.shared_dims());
  const ValueId x = body.input("x", {body.symbol("any")}), inner = body.input("k", {});
  body.output(body.add("Mul", {x, inner}), "scaled");
  body.output(body.add("Shape", {x}), "shape");
  const auto y =
      m.add_with_bodies("SequenceMap", {m.add("SequenceConstruct", {a, b}), k}, 0, {{"body", body.g.clone()}}, 2);
  m.output(m.add("ConcatFromSequence", {y[0]}, {{"axis", int64_t(0)}}), "all");
  m.output(y[1], "shapes");
  for (const OptimizationLevel level : kLevels) {
    const auto got = m.run({numbers({2}, {1, 2}), numbers({1}, {3}), numbers({}, {10})}, level);
    EXPECT_EQ(floats(got[0]), (Floats{10, 20, 30}));
    EXPECT_EQ(*got[1].get<Sequence>()->items[1].tensor()->data<int64_t>(), 1);
  }
}

TEST(SequenceMap, WithoutABodyIsRefused) {
  SequenceGraph m;
  const ValueId sequence = m.add("SequenceConstruct", {m.input("a", {2})});
  try {
    m.add("SequenceMap", {sequence});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_CONTAINS(std::string(e.what()), "attribute 'body' is required and missing");
  }
}

TEST(Optional, HoldsAValueOrNone) {
  SequenceGraph m;
  const ValueId x = m.input("x", {m.symbol("n")});
  const ValueId some = m.add("Optional", {x});
  const ValueId none = m.add("Optional", {}, {{"type", ValueType::tensor(DType::f32)}});
  m.output(m.add("OptionalHasElement", {some}), "some");
  m.output(m.add("OptionalHasElement", {none}), "none");
  m.output(m.add("OptionalHasElement", {x}), "plain");
  m.output(m.add("OptionalHasElement", {}), "absent");
  m.output(m.add("OptionalGetElement", {some}), "value");
  for (const OptimizationLevel level : kLevels) {
    const auto y = m.run({numbers({2}, {1, 2})}, level);
    EXPECT_TRUE(*y[0].tensor()->data<bool>());
    EXPECT_FALSE(*y[1].tensor()->data<bool>());
    EXPECT_TRUE(*y[2].tensor()->data<bool>());
    EXPECT_FALSE(*y[3].tensor()->data<bool>());
    EXPECT_EQ(floats(y[4]), (Floats{1, 2}));
  }
  SequenceGraph bad;
  bad.output(bad.add("OptionalGetElement", {bad.add("Optional", {}, {{"type", ValueType::tensor(DType::f32)}})}), "y");
  EXPECT_CONTAINS(bad.failure({}), "the optional has no value");
}

TEST(Optional, IsPassedOn) {
  SequenceGraph m;
  const ValueId x = m.input("x", {m.symbol("n")});
  const ValueId some = m.add("Optional", {x});
  m.output(some, "some");
  m.output(m.add("Optional", {x}), "twin");
  m.output(m.add("Identity", {some}), "same");
  m.output(m.add("OptionalGetElement", {m.add("Identity", {some})}), "value");
  for (const OptimizationLevel level : kLevels) {
    for (const Floats& content : {Floats{1, 2}, Floats{}}) {
      const auto y = m.run({numbers({int64_t(content.size())}, content)}, level);
      for (const Value& each : y) EXPECT_EQ(floats(each), content);
    }
  }
}

// One run with one input, or none.
Value call(Session& session, const Value* input, const Value* second = nullptr) {
  Value result;
  const Value* inputs[] = {input, second};
  Value* outputs[] = {&result};
  session.run(std::span(inputs, session.inputs().size()), outputs, {}, nullptr);
  return result;
}

TEST(Session, InputsThatNothingReadsMayBeLeftOut) {
  SequenceGraph m;
  const ValueId x = m.input("x", {m.symbol("n")});
  m.input("unread", {2});
  m.output(m.add("Neg", {x}), "y");
  for (const OptimizationLevel level : kLevels) {
    SessionOptions options;
    options.optimization = level;
    const auto session = make_session(m.g, options);
    const Value given = numbers({2}, {1, 2});
    for (const Value* unread : {static_cast<const Value*>(nullptr), &given}) {
      EXPECT_EQ(floats(call(*session, &given, unread)), (Floats{-1, -2}));
    }
    EXPECT_THROW(call(*session, nullptr, &given), Error);
  }
}

TEST(Optional, InputsMayBeLeftOutInAnyRun) {
  SequenceGraph m;
  const ValueId x = m.input("x", {m.symbol("n")});
  m.g.value(x).type = ValueType::optional_of(ValueType::tensor(DType::f32, {m.symbol("n")}));
  m.output(m.add("OptionalHasElement", {x}), "has");
  SequenceGraph getter;
  const ValueId y = getter.input("y", {});
  getter.g.value(y).type = ValueType::optional_of(ValueType::tensor(DType::f32, {getter.symbol("n")}));
  getter.output(getter.add("OptionalGetElement", {y}), "value");
  for (const OptimizationLevel level : kLevels) {
    SessionOptions options;
    options.optimization = level;
    const auto has = make_session(m.g, options), get = make_session(getter.g, options);
    for (int round = 0; round < 2; ++round) {
      EXPECT_FALSE(*call(*has, nullptr).tensor()->data<bool>());
      EXPECT_THROW(call(*get, nullptr), Error);
      const Value given = numbers({2}, {1, 2}), boxed = Optional{std::make_shared<Value>(numbers({1}, {3}))};
      EXPECT_TRUE(*call(*has, &given).tensor()->data<bool>());
      EXPECT_EQ(floats(call(*get, &given)), (Floats{1, 2}));
      EXPECT_TRUE(*call(*has, &boxed).tensor()->data<bool>());
      EXPECT_EQ(floats(call(*get, &boxed)), (Floats{3}));
    }
  }
}

TEST(Optional, InputsArePassedOn) {
  SequenceGraph m;
  const ValueId x = m.input("x", {});
  m.g.value(x).type = ValueType::optional_of(ValueType::tensor(DType::f32, {m.symbol("n")}));
  m.output(m.add("Identity", {x}), "y");
  for (const OptimizationLevel level : kLevels) {
    SessionOptions options;
    options.optimization = level;
    const auto session = make_session(m.g, options);
    for (int round = 0; round < 2; ++round) {
      for (const Floats& content : {Floats{1, 2}, Floats{}}) {
        const Value given = numbers({int64_t(content.size())}, content);
        const Value result = call(*session, &given);
        ASSERT_NE(result.tensor(), nullptr);
        EXPECT_NE(result.tensor()->data(), given.tensor()->data());
        EXPECT_EQ(floats(result), content);
      }
      EXPECT_EQ(call(*session, nullptr).tensor(), nullptr);
    }
  }
}

// The message of check_input for a value that is given for an input of that type.
std::string refusal(const ValueType& type, const Value& value) {
  SequenceGraph m;
  const ValueId x = m.input("x", {});
  m.g.value(x).type = type;
  m.output(m.add("OptionalHasElement", {x}), "y");
  try {
    make_session(m.g, {})->check_input(0, value);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(Sequence, InputsAreHeldAgainstTheirTypes) {
  const ValueType pairs = ValueType::tensor(DType::f32, {2}), list = ValueType::sequence_of(pairs),
                  maybe = ValueType::optional_of(pairs);
  const Value fitting = numbers({2}, {1, 2}), bytes = Tensor(DType::i8, {2}), longer = numbers({3}, {1, 2, 3});
  const auto items = [](DType type, std::vector<Value> v) { return Value(Sequence{type, std::move(v)}); };
  EXPECT_EQ(refusal(list, items(DType::f32, {fitting, fitting})), "");
  EXPECT_EQ(refusal(list, items(DType::f32, {})), "");
  EXPECT_CONTAINS(refusal(list, items(DType::i8, {})), "must be seq(tensor(float32)), seq(tensor(int8)) was given");
  EXPECT_CONTAINS(refusal(list, items(DType::i8, {bytes})), "seq(tensor(int8)) was given");
  EXPECT_CONTAINS(refusal(list, items(DType::f32, {fitting, bytes})), "input 'x' must be seq(tensor(float32))");
  EXPECT_EQ(refusal(list, items(DType::f32, {fitting, longer})), "");  // any extents, as in ONNX Runtime
  EXPECT_CONTAINS(refusal(list, fitting), "tensor(float32) was given");
  EXPECT_EQ(refusal(maybe, fitting), "");
  EXPECT_EQ(refusal(maybe, Optional()), "");
  EXPECT_EQ(refusal(maybe, Optional{std::make_shared<Value>(fitting)}), "");
  EXPECT_CONTAINS(refusal(maybe, bytes), "must be optional(tensor(float32)), tensor(int8) was given");
  EXPECT_CONTAINS(refusal(maybe, Optional{std::make_shared<Value>(bytes)}), "optional(tensor(int8)) was given");
  EXPECT_EQ(refusal(maybe, longer), "");
  EXPECT_CONTAINS(refusal(maybe, items(DType::f32, {fitting})), "seq(tensor(float32)) was given");
}

}  // namespace
}  // namespace retort
