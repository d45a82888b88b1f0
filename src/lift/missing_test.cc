// All operators that cannot run are told at once.
#include "base/sanitized_testing.h"
#include "lift/lift_testing.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

using lift_testing::f32;

struct Chain {
  Chain() : g(std::make_shared<DimTable>()) {
    last = g.add_value("x", ValueType::tensor(DType::f32, {2}));
    g.inputs = {last};
  }
  void add(const char* type, const char* name, const char* domain = "") {
    last = g.node(g.add({.type = type, .inputs = {last}, .domain = domain, .name = name, .version = 21})).outputs[0];
  }
  std::string told() {
    g.outputs = {last};
    try {
      lift(g);
    } catch (const Error& e) {
      code = e.code();
      return e.message();
    }
    return "";
  }

  Graph g;
  ValueId last;
  ErrorCode code = ErrorCode::ok;
};

TEST(Missing, IsToldAtOnce) {
  Chain c;
  c.add("Stretch", "s1", "com.acme");
  c.add("Relu", "r");  // depends on what is missing, but is known
  c.add("Stretch", "s2", "com.acme");
  c.add("Bendd", "b");
  c.add("Stretch", "s3", "com.acme");
  EXPECT_EQ(c.told(),
            "4 nodes cannot run here:\n"
            "  node 's1' (com.acme.Stretch) [opset 21]: operator com.acme.Stretch is not known; export the model with "
            "operators "
            "that `retort ops` lists (2 more such nodes)\n"
            "  node 'b' (Bendd) [opset 21]: operator ai.onnx.Bendd is not known; export the model with operators that "
            "`retort ops` lists");
  EXPECT_EQ(c.code, ErrorCode::not_implemented);
}

TEST(Missing, IncludesTypesAndBodies) {
  Chain c;
  const ValueId text = c.g.add_value("text", ValueType::tensor(DType::string, {2}));
  const ValueId on = c.g.add_value("on", ValueType::tensor(DType::boolean, Shape{}));
  c.g.inputs.push_back(text);
  c.g.inputs.push_back(on);
  c.g.add({.type = "Sqrt", .inputs = {text}, .name = "root"});  // of the engine: no schema refuses it
  Node choose;
  choose.type = "If";
  choose.name = "choose";
  choose.version = 21;
  choose.inputs = {on};
  choose.outputs = {c.g.add_value("chosen")};
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>(c.g.shared_dims());
    const NodeId made = body->add({.type = "Invent", .domain = "com.acme", .name = branch, .version = 1});
    body->outputs = body->node(made).outputs;
    choose.bodies.push_back({branch, body});
  }
  c.g.add_node(std::move(choose));
  const std::string told = c.told();
  EXPECT_TRUE(told.starts_with("3 nodes cannot run here:\n  node 'root' (Sqrt): input 0 is of type string")) << told;
  EXPECT_NE(
      told.find(
          "\n  node 'choose' (If): node 'then_branch' (com.acme.Invent) [opset 1]: operator com.acme.Invent is not"),
      std::string::npos)
      << told;
  EXPECT_TRUE(told.ends_with("(1 more such node)")) << told;
}

TEST(Missing, OfOneNodeIsThatNodesError) {
  Chain c;
  c.add("Stretch", "s1", "com.acme");
  c.add("Relu", "r");
  EXPECT_EQ(c.told(),
            "node 's1' (com.acme.Stretch) [opset 21]: operator com.acme.Stretch is not known; export the model with "
            "operators "
            "that `retort ops` lists");
}

TEST(Missing, HasABoundedNumberOfLines) {
  Chain c;
  for (int i = 0; i < 30; ++i) c.add(cat("Stretch{}", i).c_str(), "", "com.acme");
  const std::string told = c.told();
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 21);
  EXPECT_TRUE(told.ends_with("\n  and 10 more")) << told;
}

// A mistake in the model does not hide what is missing.
TEST(Missing, ComesBeforeMistakes) {
  Chain c;
  c.add("Stretch", "s1", "com.acme");
  c.g.add({.type = "Transpose",
           .inputs = {c.g.inputs[0]},
           .attributes = {{"perm", std::vector<int64_t>{5}}},
           .name = "t",
           .version = 21});
  c.add("Bend", "s2", "com.acme");
  const std::string told = c.told();
  EXPECT_NE(told.find("com.acme.Stretch is not known"), std::string::npos) << told;
  EXPECT_NE(told.find("com.acme.Bend is not known"), std::string::npos) << told;
  EXPECT_EQ(told.find("Transpose"), std::string::npos) << told;
}

TEST(Missing, IsNothingWhereTheFirstMistakeIsTold) {
  Chain c;
  for (const char* name : {"t1", "t2"}) {
    c.g.add({.type = "Transpose",
             .inputs = {c.g.inputs[0]},
             .attributes = {{"perm", std::vector<int64_t>{5}}},
             .name = name,
             .version = 21});
  }
  c.add("Relu", "r");
  const std::string told = c.told();
  EXPECT_TRUE(told.starts_with("node 't1' (Transpose) [opset 21]: ")) << told;
}

TEST(Missing, IsToldOfBodiesThatDependOnWhatIsMissing) {
  Chain c;
  c.add("Stretch", "s", "com.acme");
  const ValueId on = c.g.add_value("on", ValueType::tensor(DType::boolean, Shape{}));
  c.g.inputs.push_back(on);
  Node choose;
  choose.type = "If";
  choose.name = "choose";
  choose.version = 21;
  choose.captures = 1;
  choose.inputs = {on, c.last};
  choose.outputs = {c.g.add_value("chosen")};
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>(c.g.shared_dims());
    body->inputs = {body->add_value("captured")};
    body->captures = 1;
    const NodeId known = body->add({.type = "Relu", .inputs = body->inputs, .name = "r", .version = 21});
    const NodeId made = body->add(
        {.type = "Invent", .inputs = body->node(known).outputs, .domain = "com.acme", .name = branch, .version = 1});
    body->outputs = body->node(made).outputs;
    choose.bodies.push_back({branch, body});
  }
  c.g.add_node(std::move(choose));
  const std::string told = c.told();
  EXPECT_TRUE(told.starts_with("3 nodes cannot run here:\n  node 's' (com.acme.Stretch) [opset 21]: ")) << told;
  EXPECT_NE(told.find("\n  node 'choose' (If): node 'then_branch' (com.acme.Invent) [opset 1]: "), std::string::npos)
      << told;
}

// A node of the rule's operator with `count` inputs of which one is omitted, in the oldest form and the last one.
void lift_incomplete(const LiftRule& rule, const ValueType& type, size_t count, size_t omitted) {
  for (const auto& [version, outputs] : {std::pair(1, 1), std::pair(rule.to == kAlways ? 21 : rule.to - 1, 4)}) {
    Graph g(std::make_shared<DimTable>());
    NodeSpec spec{.type = std::string(rule.type),
                  .domain = std::string(rule.domain),
                  .outputs = size_t(outputs),
                  .version = version};
    for (size_t i = 0; i < count; ++i) {
      spec.inputs.push_back(i == omitted ? ValueId::none : g.add_value(cat("x{}", i), type));
      if (i != omitted) g.inputs.push_back(spec.inputs.back());
    }
    const NodeId id = g.add(std::move(spec));
    for (const ValueId y : g.node(id).outputs) g.outputs.push_back(y);
    try {
      lift(g);
      verify(g);
    } catch (const Error& e) {
      EXPECT_FALSE(std::string(e.what()).empty());
    }
  }
}

TEST(Missing, InputsAreErrorsInEveryRule) {
  const size_t step = sanitized() ? 7 : 1;  // of the cases
  size_t number = 0;
  for (const LiftRules* file : lift_rule_table()) {
    for (const LiftRule& rule : *file) {
      SCOPED_TRACE(cat("{}.{} {}", rule.domain, rule.type, rule.to));
      for (const ValueType& type : {ValueType::tensor(DType::f32), ValueType::tensor(DType::f32, {1, 8, 4, 4}),
                                    ValueType::tensor(DType::u8, {8}), ValueType::tensor(DType::i64, {1})}) {
        for (size_t count = 0; count < 10; ++count) {
          for (size_t omitted = 0; omitted <= count; ++omitted) {
            if (number++ % step == 0) lift_incomplete(rule, type, count, omitted);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace retort
