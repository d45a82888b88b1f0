#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

size_t choose(Graph& graph) {
  PassOptions options;
  PassContext context(options);
  pass_known_branches.run(graph, context);
  verify(graph);
  return context.take_counts()["If"];
}

/// A branch that captures `x` and `k`, built by `build(body, x, k)`.
template <typename Build>
std::shared_ptr<Graph> branch(TestGraph& t, Build build) {
  TestGraph b(t.g.shared_dims());
  const ValueId x = b.input("x", {t.symbol("n"), 6}), k = b.input("k", {6});
  build(b, x, k);
  return b.g.clone();
}

/// An If with one result, whose branches apply `then` and `otherwise` to x · k.
ValueId choice(TestGraph& t, ValueId condition, ValueId x, ValueId k, const char* then, const char* otherwise) {
  const auto side = [&](const char* type) {
    return branch(t, [&](TestGraph& b, ValueId own, ValueId factor) {
      b.output(b.add(type, {b.add("Mul", {own, factor})}), "result");
    });
  };
  return t.add_with_bodies("If", {condition, x, k}, 2, {{"then_branch", side(then)}, {"else_branch", side(otherwise)}},
                           1)[0];
}
ValueId flag(TestGraph& t, bool value) {
  return t.g.add_constant(t.g.unique_name("flag"), Tensor::of<bool>({}, {value}));
}
/// Whether x has no axes.
ValueId is_scalar(TestGraph& t, ValueId x) {
  const ValueId zero = t.g.add_constant(t.g.unique_name("zero"), Tensor::of<int64_t>({}, {0}));
  return t.add("Equal", {t.add("Size", {t.add("Shape", {x})}), zero});
}
std::vector<std::string> types(const Graph& g) {
  std::vector<std::string> types;
  for (const NodeId id : g.order()) types.push_back(g.node(id).type);
  return types;
}
using Types = std::vector<std::string>;

TEST(KnownBranches, TheBranchOfAConstantConditionTakesThePlaceOfTheIf) {
  for (const bool taken : {true, false}) {
    TestGraph t;
    const ValueId x = t.input("x", {t.symbol("n"), 6}), k = t.input("k", {6});
    const ValueId first = choice(t, flag(t, taken), x, k, "Abs", "Neg");
    t.output(t.add("Relu", {choice(t, flag(t, taken), first, k, "Exp", "Sqrt")}), "y");
    EXPECT_EQ(choose(t.g), 2u);
    EXPECT_EQ(types(t.g),
              taken ? (Types{"Mul", "Abs", "Mul", "Exp", "Relu"}) : (Types{"Mul", "Neg", "Mul", "Sqrt", "Relu"}));
    const Node& product = t.g.node(t.g.order()[0]);
    EXPECT_EQ(product.inputs, (std::vector{x, k}));
    std::set<std::string> names;  // those of the second branch are the same, but names of a graph are unique
    for (const NodeId id : t.g.order()) names.insert(t.g.value(t.g.node(id).outputs[0]).name);
    EXPECT_EQ(names.size(), 5u);
  }
}

TEST(KnownBranches, AConditionMayFollowFromTheRankOfAnEarlierResult) {
  TestGraph t;
  ValueId x = t.input("x", {t.symbol("n"), 6});
  const ValueId k = t.input("k", {6});
  for (int i = 0; i < 3; ++i) x = choice(t, is_scalar(t, x), x, k, "Abs", "Neg");
  t.output(x, "y");
  EXPECT_EQ(choose(t.g), 3u);
  EXPECT_EQ(t.g.value(t.g.outputs[0]).type.shape, (Shape{t.symbol("n"), 6}));
  EXPECT_EQ(t.g.value(t.g.outputs[0]).name, "y");
}

TEST(KnownBranches, OthersStay) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6}), k = t.input("k", {6});
  t.output(choice(t, t.input("flag", {}, DType::boolean), x, k, "Abs", "Neg"), "input");
  t.output(choice(t, t.add("Greater", {t.add("Size", {x}), t.g.add_constant("c", Tensor::of<int64_t>({}, {9}))}), x, k,
                  "Abs", "Neg"),
           "extent");
  t.output(choice(t, t.g.add_constant("two", Tensor::of<bool>({2}, {true, true})), x, k, "Abs", "Neg"), "two flags");
  EXPECT_EQ(choose(t.g), 0u);
}

TEST(KnownBranches, ResultsMayBeCapturesConstantsAndEqual) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6}), k = t.input("k", {6});
  const auto build = [](TestGraph& b, ValueId own, ValueId) {
    const ValueId constant = b.weight("w", {6}), y = b.add("Abs", {own});
    b.g.outputs = {own, constant, y, y};
  };
  const std::vector<ValueId> results = t.add_with_bodies(
      "If", {flag(t, true), x, k}, 2, {{"then_branch", branch(t, build)}, {"else_branch", branch(t, build)}}, 4);
  for (size_t i = 0; i < results.size(); ++i) t.output(results[i], "result" + std::to_string(i));
  EXPECT_EQ(choose(t.g), 1u);
  EXPECT_EQ(types(t.g), (Types{"Abs", "Identity", "Identity", "Identity"}));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(t.g.value(t.g.outputs[i]).name, "result" + std::to_string(i));
}

TEST(KnownBranches, NewNamesAreNotThoseOfOtherValues) {
  for (const bool literal_first : {true, false}) {
    TestGraph t;
    const ValueId x = t.input("x", {t.symbol("n"), 6}), k = t.input("k", {6});
    const ValueId taken = t.add("Add", {x, t.weight("w", {6})});
    std::vector<std::string> own = {"w"};  // and names that w may get
    for (int i = 0; i < 40; ++i) own.insert(literal_first ? own.begin() : own.end(), "w#" + std::to_string(i));
    const auto build = [&](TestGraph& b, ValueId sum, ValueId) {
      for (const std::string& name : own) sum = b.add("Add", {sum, b.weight(name, {6})});
      b.output(sum, "result");
    };
    t.output(t.add_with_bodies("If", {flag(t, true), taken, k}, 2,
                               {{"then_branch", branch(t, build)}, {"else_branch", branch(t, build)}}, 1)[0],
             "y");
    EXPECT_EQ(choose(t.g), 1u);
    std::set<std::string> names;
    for (const NodeId id : t.g.order()) names.insert(t.g.value(t.g.node(id).inputs[1]).name);
    EXPECT_EQ(names.size(), own.size() + 1);
  }
}

TEST(KnownBranches, ABranchInABranchIsChosenToo) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6}), k = t.input("k", {6});
  const auto build = [&](TestGraph& b, ValueId own, ValueId factor) {
    b.output(b.add("Exp", {choice(b, is_scalar(b, own), own, factor, "Abs", "Neg")}), "outer");
  };
  t.output(t.add_with_bodies("If", {flag(t, false), x, k}, 2,
                             {{"then_branch", branch(t, build)}, {"else_branch", branch(t, build)}}, 1)[0],
           "y");
  EXPECT_EQ(choose(t.g), 2u);
  std::vector<std::string> left = types(t.g);
  std::erase_if(left, [](const std::string& type) { return type == "Shape" || type == "Size" || type == "Equal"; });
  EXPECT_EQ(left, (Types{"Mul", "Neg", "Exp"}));
}

}  // namespace
}  // namespace retort
