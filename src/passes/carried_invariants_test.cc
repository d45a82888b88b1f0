#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

size_t apply(Graph& graph) {
  PassOptions options;
  PassContext context(options);
  pass_carried_invariants.run(graph, context);
  verify(graph);
  return context.take_counts()["carried value"];
}

/// A Loop or Scan that carries `a` and `b` unchanged, `b` by way of an Identity, and adds their product to `s`. It
/// captures `k`. Scan takes the rows of `x`, too.
struct Carrier : TestGraph {
  ValueId k, a, b, s;
  std::vector<ValueId> results;

  explicit Carrier(bool scan) {
    TestGraph body(g.shared_dims());
    if (!scan) {
      body.input("i", {}, DType::i64);
      body.output(body.input("go", {}, DType::boolean), "again");
    }
    const ValueId a1 = body.input("a", {2}), s1 = body.input("s", {2}), b1 = body.input("b", {2});
    const ValueId row = scan ? body.input("row", {2}) : a1, k1 = body.input("k", {2});
    body.g.outputs.push_back(a1);
    body.output(body.add("Add", {s1, body.add("Mul", {body.add("Mul", {a1, b1}), body.add("Mul", {row, k1})})}), "s1");
    body.output(body.add("Identity", {b1}), "b1");
    const ValueId m = scan ? ValueId::none : input("m", {}, DType::i64);
    const ValueId go = scan ? ValueId::none : g.add_constant("go", Tensor::of<bool>({}, {true}));
    a = weight("a", {2}), s = input("s", {2}), b = input("b", {2}), k = input("k", {2});
    if (!scan) {
      results = add_with_bodies("Loop", {m, go, a, s, b, k}, 1, {{"body", body.g.clone()}}, 3);
    } else {
      Node n{.type = "Scan", .inputs = {a, s, b, input("x", {5, 2}), k}, .captures = 1};
      body.g.captures = 1;
      n.bodies = {{"body", body.g.clone()}};
      n.attributes = {{"num_scan_inputs", int64_t(1)}};
      for (int i = 0; i < 3; ++i) n.outputs.push_back(g.add_value(g.unique_name("Scan")));
      const NodeId id = g.add_node(std::move(n));
      resolve(g.node(id));
      infer_node(g, g.node(id));
      results = g.node(id).outputs;
    }
    for (size_t i = 0; i < results.size(); ++i) output(results[i], "result" + std::to_string(i));
  }
};

TEST(CarriedInvariants, BecomeCapturesOfTheBody) {
  for (const bool scan : {false, true}) {
    Carrier t(scan);
    EXPECT_EQ(apply(t.g), 2u);
    const Node& n = *t.g.producer(t.results[1]);
    EXPECT_EQ(n.captures, 3u);
    EXPECT_EQ(n.outputs, std::vector<ValueId>{t.results[1]});
    EXPECT_EQ(t.g.value(t.results[1]).producer_slot, 0u);
    const size_t own = n.inputs.size() - 3;
    EXPECT_EQ(n.inputs[scan ? 0 : 2], t.s);
    EXPECT_EQ(std::vector(n.inputs.begin() + ptrdiff_t(own), n.inputs.end()), (std::vector{t.k, t.b, t.a}));
    const Graph& body = *n.bodies[0].graph;
    EXPECT_EQ(body.captures, 3u);
    EXPECT_EQ(body.outputs.size(), scan ? 1u : 2u);
    std::vector<std::string> names;
    for (size_t i = own; i < body.inputs.size(); ++i) names.push_back(body.value(body.inputs[i]).name);
    EXPECT_EQ(names, (std::vector<std::string>{"k", "b", "a"}));
    // Graph outputs keep their names, and are the values from outside.
    EXPECT_EQ(t.g.value(t.g.outputs[0]).name, "result0");
    EXPECT_EQ(t.g.producer(t.g.outputs[0])->inputs[0], t.a);
    EXPECT_EQ(t.g.producer(t.g.outputs[2])->inputs[0], t.b);
    EXPECT_EQ(apply(t.g), 0u);
  }
}

TEST(CarriedInvariants, ValuesThatChangePlacesStay) {
  TestGraph t, body(t.g.shared_dims());
  body.input("i", {}, DType::i64);
  body.output(body.input("go", {}, DType::boolean), "again");
  const ValueId a = body.input("a", {2}), b = body.input("b", {2});
  body.g.outputs.push_back(b);
  body.g.outputs.push_back(a);
  const auto y =
      t.add_with_bodies("Loop", {t.input("m", {}, DType::i64), ValueId::none, t.input("x", {2}), t.input("y", {2})}, 0,
                        {{"body", body.g.clone()}}, 2);
  t.output(y[0], "first");
  t.output(y[1], "second");
  EXPECT_EQ(apply(t.g), 0u);
}

/// A Loop of version `version` that carries `x`, and stacks it.
struct Stacker : TestGraph {
  Stacker(int version, const ValueType& outside, const ValueType& inside) {
    symbol("n");  // which the types may have
    TestGraph body(g.shared_dims());
    body.input("i", {}, DType::i64);
    body.output(body.input("go", {}, DType::boolean), "again");
    const ValueId carried = body.input("c", {});
    body.g.value(carried).type = inside;
    body.g.outputs.push_back(carried);
    body.g.outputs.push_back(carried);
    const ValueId x = input("x", {});
    g.value(x).type = outside;
    const auto y =
        add_with_bodies("Loop", {input("m", {}, DType::i64), ValueId::none, x}, 0, {{"body", body.g.clone()}}, 2);
    output(y[0], "last");
    output(y[1], "all");
    g.node(g.value(y[1]).producer).version = version;
  }
};

ValueType floats(Shape shape) { return ValueType::tensor(DType::f32, std::move(shape)); }

TEST(CarriedInvariants, CapturesAreReturnedAsCopies) {
  Stacker t(11, floats({2}), floats({2}));
  EXPECT_EQ(apply(t.g), 1u);
  const Graph& body = *t.g.producer(t.g.outputs[1])->bodies[0].graph;
  ASSERT_EQ(body.outputs.size(), 2u);
  ASSERT_NE(body.producer(body.outputs[1]), nullptr);
  EXPECT_EQ(body.producer(body.outputs[1])->inputs[0], body.inputs[2]);
  EXPECT_EQ(body.value(body.outputs[1]).type, floats({2}));
}

TEST(CarriedInvariants, OldLoopsCarrySomething) {
  Stacker t(10, floats({2}), floats({2}));
  EXPECT_EQ(apply(t.g), 0u);
}

TEST(CarriedInvariants, ShapesThatTheBodyDeclaresStay) {
  const auto captures = [](const ValueType& outside, const ValueType& inside) {
    Stacker t(11, outside, inside);
    return apply(t.g);
  };
  const ValueType unknown = ValueType::tensor(DType::f32);
  const Dim n = TestGraph().symbol("n");
  EXPECT_EQ(captures(unknown, floats({2, n})), 0u);
  EXPECT_EQ(captures(floats({n, 4}), floats({2, 4})), 0u);
  EXPECT_EQ(captures(floats({3, 4}), floats({2, 4})), 0u);
  EXPECT_EQ(captures(floats({2, 4}), floats({n, 4})), 1u);
  EXPECT_EQ(captures(floats({2, 4}), unknown), 1u);
}

}  // namespace
}  // namespace retort
