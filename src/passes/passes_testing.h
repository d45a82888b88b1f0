// Shared by the tests of passes: graphs built by hand, an interpreter, golden text and comparison of results.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "ops/evaluate.h"
#include "passes/pass.h"

namespace retort {

/// A graph in the core dialect. Values have the names that the printer shows.
struct TestGraph {
  explicit TestGraph(std::shared_ptr<DimTable> dims = std::make_shared<DimTable>()) : g(std::move(dims)) {}
  TestGraph(const TestGraph&) = delete;
  Graph g;

  Dim symbol(const std::string& name) { return g.dims().symbol(name); }
  ValueId input(const std::string& name, Shape shape, DType type = DType::f32) {
    g.inputs.push_back(g.add_value(name, ValueType::tensor(type, std::move(shape))));
    return g.inputs.back();
  }
  /// A float constant with pseudo-random content in [-1, 1] that depends on the name.
  ValueId weight(const std::string& name, Shape shape) {
    Tensor t(DType::f32, std::move(shape));
    size_t seed = 13;
    for (const char c : name) seed = seed * 31 + size_t(c);
    for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = float((i * 7919 + seed) % 201) / 100 - 1;
    return g.add_constant(name, std::move(t));
  }
  ValueId scalar(float v) { return g.add_constant(g.unique_name("c"), Tensor::of<float>({}, {v})); }
  ValueId ints(const std::vector<int64_t>& v) {
    return g.add_constant(g.unique_name("i"), Tensor::of<int64_t>({int64_t(v.size())}, v));
  }
  ValueId floats(Shape shape, const std::vector<float>& v) {
    return g.add_constant(g.unique_name("w"), Tensor::of<float>(std::move(shape), v));
  }
  std::vector<ValueId> add_multi(NodeSpec spec) {
    const NodeId id = g.add(std::move(spec));
    resolve(g.node(id));
    infer_node(g, g.node(id));
    return g.node(id).outputs;
  }
  ValueId add(const std::string& type, std::vector<ValueId> inputs, Attributes attributes = {},
              const std::string& domain = {}) {
    return add_multi(
        {.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes), .domain = domain})[0];
  }
  /// Adds a node with bodies; the last `captures` inputs are their captures.
  std::vector<ValueId> add_with_bodies(const std::string& type, std::vector<ValueId> inputs, uint32_t captures,
                                       std::vector<Body> bodies, size_t outputs) {
    Node n;
    n.type = type;
    n.inputs = std::move(inputs);
    n.captures = captures;
    for (Body& b : bodies) b.graph->captures = captures;
    n.bodies = std::move(bodies);
    for (size_t i = 0; i < outputs; ++i) n.outputs.push_back(g.add_value(g.unique_name(type)));
    const NodeId id = g.add_node(std::move(n));
    resolve(g.node(id));
    infer_node(g, g.node(id));
    return g.node(id).outputs;
  }
  void output(ValueId v, const std::string& name) {
    g.value(v).name = name;
    g.outputs.push_back(v);
  }
};

/// Runs the graph node by node.
inline std::vector<Tensor> interpret(const Graph& g, const std::vector<Tensor>& inputs) {
  std::vector<Value> values(g.value_count());
  for (size_t i = 0; i < g.value_count(); ++i) {
    if (const Tensor* t = g.constant(ValueId(i))) values[i] = Value(Tensor(*t));
  }
  for (size_t i = 0; i < inputs.size(); ++i) values[size_t(g.inputs[i])] = Value(Tensor(inputs[i]));
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    std::vector<const Value*> in;
    for (ValueId v : n.inputs) in.push_back(v == ValueId::none ? nullptr : &values[size_t(v)]);
    std::vector<Value> out = evaluate(n, in);
    for (size_t i = 0; i < out.size(); ++i) {
      if (n.outputs[i] != ValueId::none) values[size_t(n.outputs[i])] = std::move(out[i]);
    }
  }
  std::vector<Tensor> results;
  for (ValueId v : g.outputs) results.push_back(*values[size_t(v)].tensor());
  return results;
}

/// Inputs for a graph: each symbol becomes a small number of its own, and expressions are computed from them. Every
/// symbol must be the extent of some input.
inline std::vector<Tensor> random_inputs(const Graph& g, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::pair<Dim, int64_t>> symbols;
  for (ValueId id : g.inputs) {
    for (Dim d : g.value(id).type.shape) {
      const bool plain = !is_known(d) && !g.dims().symbol_name(d).empty();
      if (plain && !g.dims().evaluate(d, symbols)) symbols.emplace_back(d, int64_t(symbols.size()) + 2);
    }
  }
  std::vector<Tensor> inputs;
  for (ValueId id : g.inputs) {
    Shape shape = g.value(id).type.shape;
    for (int64_t& d : shape) d = is_known(d) ? d : g.dims().evaluate(d, symbols).value();
    Tensor t(g.value(id).type.dtype, shape);
    for (size_t i = 0; i < t.count(); ++i) {
      if (t.dtype() == DType::f32)
        t.mutable_data<float>()[i] = std::uniform_real_distribution<float>(-2, 2)(random);
      else if (t.dtype() == DType::i64)
        t.mutable_data<int64_t>()[i] = int64_t(random() % 3);
      else if (t.dtype() == DType::boolean)
        t.mutable_data<bool>()[i] = random() % 2;
    }
    inputs.push_back(std::move(t));
  }
  return inputs;
}

inline void expect_equal_results(const std::vector<Tensor>& want, const std::vector<Tensor>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(want[o].dtype(), got[o].dtype());
    ASSERT_EQ(to_string(want[o].shape()), to_string(got[o].shape()));
    if (want[o].dtype() != DType::f32) {
      ASSERT_NE(want[o].dtype(), DType::string);
      const size_t bytes = want[o].bytes();
      ASSERT_TRUE(bytes == 0 || std::memcmp(want[o].data(), got[o].data(), bytes) == 0) << "output " << o;
      continue;
    }
    for (size_t i = 0; i < want[o].count(); ++i) {
      const float a = want[o].data<float>()[i], b = got[o].data<float>()[i];
      ASSERT_NEAR(a, b, 1e-4 + 1e-4 * std::abs(a)) << "output " << o << ", element " << i;
    }
  }
}

/// Numbers the values that passes have made in the text by their first appearance: "Conv#1" is the first Conv#. The
/// numbers of the graph itself count every name that was ever requested.
inline std::string renumbered(const std::string& text) {  // <regex> would take most of the time to compile a test
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::map<std::string, std::string> names;
  std::map<std::string, int> counts;
  std::string result;
  size_t done = 0;
  for (size_t hash = text.find('#'); hash != std::string::npos; hash = text.find('#', hash + 1)) {
    size_t first = hash;
    while (first > done && is_word(text[first - 1])) --first;
    const size_t last = std::min(text.find_first_not_of("0123456789", hash + 1), text.size());
    if (first == hash || last == hash + 1) continue;
    const std::string base = text.substr(first, hash - first);
    const auto [name, fresh] = names.try_emplace(text.substr(first, last - first));
    if (fresh) name->second = cat("{}#{}", base, ++counts[base]);
    result.append(text, done, first - done).append(name->second);
    done = last;
  }
  return result.append(text, done);
}

/// Runs `change` on the graph; checks consistency, the text afterwards (see renumbered()) and that results are equal.
template <typename F>
void expect_change(TestGraph& t, const std::string& after, F&& change) {
  const std::vector<Tensor> inputs = random_inputs(t.g);
  const std::vector<Tensor> want = interpret(t.g, inputs);
  change(t.g);
  verify(t.g);
  EXPECT_EQ(renumbered(print(t.g)), after);
  expect_equal_results(want, interpret(t.g, inputs));
}
/// The rules of these names, in the order given.
inline std::vector<const Rule*> rules_named(std::span<const std::string_view> names) {
  const std::vector<const Rule*> all = all_rules();
  std::vector<const Rule*> rules;
  for (const std::string_view name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Rule* r) { return r->name == name; });
    require(found != all.end(), ErrorCode::invalid_argument, "no file of src/passes/rules has a rule '{}'", name);
    rules.push_back(*found);
  }
  return rules;
}
inline void expect_rewrite(TestGraph& t, std::initializer_list<std::string_view> rules, const std::string& after) {
  expect_change(t, after, [&](Graph& g) {
    PassOptions options;
    PassContext context(options);
    rewrite(g, rules_named({rules.begin(), rules.size()}), context);
  });
}
/// A pattern that rules rewrite, as an exporter writes it; make it a static object in the test of the rule. The graph
/// must become `after` by these rules alone (rule_examples_test.cc), and a session of it must compute the same at every
/// level and without any one pass (session/engine_tests/optimizer_test.cc).
struct RuleExample {
  using Build = void (*)(TestGraph&);
  RuleExample(const char* n, std::vector<std::string_view> r, Build b, std::string a)
      : name(n), rules(std::move(r)), build(b), after(std::move(a)) {
    all().push_back(this);
  }
  RuleExample(const RuleExample&) = delete;
  static std::vector<const RuleExample*>& all() {
    static std::vector<const RuleExample*> list;
    return list;
  }

  const char* name;  ///< letters, digits and _
  std::vector<std::string_view> rules;
  Build build;
  std::string after;
};
/// Checks that the rules do not change the graph.
inline void expect_no_rewrite(TestGraph& t, std::initializer_list<std::string_view> rules) {
  expect_rewrite(t, rules, renumbered(print(t.g)));
}

}  // namespace retort
