#include <gtest/gtest.h>

#include "base/json.h"
#include "explain/arithmetic.h"
#include "explain/memory.h"
#include "lift/lift.h"
#include "ops/op.h"

namespace retort {
namespace {

TEST(JsonWriter, EscapesSpecialCharacters) {
  EXPECT_EQ(JsonWriter::quoted("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(JsonWriter::quoted("z\u017c\U0001f600"), "\"z\u017c\U0001f600\"");
  for (const char* broken : {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(JsonWriter::quoted(broken).substr(0, 4), "\"\xef\xbf\xbd") << broken;
  }
}

TEST(JsonWriter, PutsCommasBetween) {
  JsonWriter json;
  json.open('{')
      .field("a", 1)
      .key("b")
      .open('[')
      .value(2.5)
      .value(std::string("x"))
      .close(']')
      .key("c")
      .open('{')
      .close('}');
  EXPECT_EQ(json.field("d", true).close('}').take(), R"({"a":1,"b":[2.5,"x"],"c":{},"d":true})");
}

/// A graph of one node in the core dialect.
struct OneNode {
  std::shared_ptr<DimTable> dims = std::make_shared<DimTable>();
  Graph g{dims};
  NodeId node = NodeId::none;

  OneNode(const std::string& type, const std::vector<Shape>& inputs, Attributes attributes = {},
          const std::string& domain = "") {
    std::vector<ValueId> ids;
    for (const Shape& s : inputs) {
      ids.push_back(g.add_value("x" + std::to_string(ids.size()), ValueType::tensor(DType::f32, s)));
      g.inputs.push_back(ids.back());
    }
    node = g.add({.type = type, .inputs = ids, .attributes = std::move(attributes), .domain = domain, .name = "n"});
    g.outputs = g.node(node).outputs;
    lift(g);
  }
  std::optional<double> operations() const {
    return count_operations(g, g.node(node), [&](Dim d) { return dims->evaluate(d, {}); });
  }
};

TEST(Arithmetic, CountsMultiplyAddsTwice) {
  EXPECT_EQ(OneNode("MatMul", {{5, 7}, {7, 3}}).operations(), 2.0 * 5 * 7 * 3);
  EXPECT_EQ(OneNode("Gemm", {{7, 5}, {7, 3}, {3}}, {{"transA", int64_t(1)}}).operations(), 2.0 * 5 * 7 * 3 + 5 * 3);
  EXPECT_EQ(OneNode("Conv", {{1, 4, 8, 8}, {6, 2, 3, 3}}, {{"group", int64_t(2)}}).operations(),
            2.0 * (6 * 6 * 6) * (2 * 3 * 3));
  EXPECT_EQ(OneNode("ConvTranspose", {{1, 4, 8, 8}, {4, 6, 3, 3}}).operations(), 2.0 * (4 * 8 * 8) * (6 * 3 * 3));
  EXPECT_EQ(OneNode("Attention", {{1, 2, 5, 4}, {1, 2, 9, 4}, {1, 2, 9, 4}}).operations(), 4.0 * (2 * 5 * 4) * 9);
}

TEST(Arithmetic, CountsElementsOfFunctionsAndNoMoves) {
  EXPECT_EQ(OneNode("Add", {{5, 1}, {3}}).operations(), 15);
  EXPECT_EQ(OneNode("Transpose", {{5, 3}}).operations(), 0);
  EXPECT_EQ(OneNode("Softmax", {{5, 3}}).operations(), 75);
  EXPECT_EQ(OneNode("Gelu", {{5, 3}}).operations(), 15);
}

TEST(Arithmetic, IsUnknownIfAShapeIsUnknown) {
  OneNode n("MatMul", {{5, 7}, {7, 3}});
  EXPECT_EQ(count_operations(n.g, n.g.node(n.node), [](Dim) { return std::nullopt; }), std::nullopt);
}

TEST(Arithmetic, IsUnknownIfAnExtentIsNegative) {
  OneNode n("Conv", {{1, 4, 8}, {6, 4, 3}});
  const auto short_input = [&](Dim d) { return d == Dim(6) ? -2 : n.dims->evaluate(d, {}); };
  EXPECT_EQ(count_operations(n.g, n.g.node(n.node), short_input), std::nullopt);
  EXPECT_EQ(count_elements(n.g, n.g.outputs[0], short_input), std::nullopt);
}

TEST(MemoryNeed, IsTheMostThatIsAliveAtOnce) {
  Graph g(std::make_shared<DimTable>());
  const ValueId x = g.add_value("x", ValueType::tensor(DType::f32, {10}));
  g.inputs = {x};
  ValueId at = x;
  for (const char* name : {"a", "b", "c"}) {
    const NodeId n = g.add({.type = "Abs", .inputs = {at}, .name = name});
    at = g.node(n).outputs[0];
  }
  const ValueId twice =
      g.node(g.add({.type = "Concat", .inputs = {at, at}, .attributes = {{"axis", int64_t(0)}}})).outputs[0];
  g.outputs = {g.node(g.add({.type = "Neg", .inputs = {twice}})).outputs[0]};
  lift(g);
  const MemoryNeed need = memory_need(g, [&](Dim d) { return g.dims().evaluate(d, {}); });
  EXPECT_EQ(need.at_once, 40u + 80u);
  EXPECT_EQ(need.weights, 0u);
  EXPECT_TRUE(need.complete);
}

}  // namespace
}  // namespace retort
