// What a lift refuses, what it warns of, and the words of both.
#include <gtest/gtest.h>

#include "lift/lift.h"
#include "lift/lift_testing.h"

namespace retort {
namespace {

using namespace lift_testing;  // NOLINT: the words of these tests

std::string message(const std::shared_ptr<Graph>& g, ErrorCode code = ErrorCode::invalid_graph) {
  try {
    lift(*g);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.message();
    return e.message();
  }
  return "no error";
}

TEST(LiftErrors, ErrorsSayWhatToDo) {
  EXPECT_EQ(message(graph_of(13, "Rellu", {f32({1})})),
            "node 'n' (Rellu) [opset 13]: operator ai.onnx.Rellu is not known; use Relu");
  EXPECT_NE(
      message(graph_of(13, "Add", {f32({2}), f32({3})}), ErrorCode::fail).find("; check its inputs 'x0' float32[2]"),
      std::string::npos);
}

TEST(LiftErrors, AScalarIsNoMatrixWhateverItIsMultipliedWith) {
  const auto g = graph_of(13, "MatMul", {ValueType::tensor(DType::f32), Tensor::of<float>({}, {1})});
  EXPECT_NE(message(g, ErrorCode::fail).find("a scalar cannot be multiplied as a matrix"), std::string::npos);
}

TEST(LiftErrors, AnUnknownOperatorOfANewerOpsetIsToldWithTheNewestKnownOne) {
  const auto why = [](int opset) {
    try {
      lifted(opset, "Quux", {f32({2})});
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("accepted");
  };
  EXPECT_NE(why(1000).find("[opset 1000]: operator ai.onnx.Quux is not known, and the newest known version"),
            std::string::npos);
  EXPECT_EQ(why(17).find("newest known"), std::string::npos);
}

TEST(LiftErrors, DeclaredTypesAreThoseThatAreMade) {
  const auto g = graph_of(13, "Relu", {f32({2})});
  g->value(g->node(g->order()[0]).outputs[0]).type = ValueType::tensor(DType::i64, Shape{2});
  EXPECT_NE(message(g, ErrorCode::fail).find("as int64, but the operator produces float32"), std::string::npos);
}

TEST(LiftErrors, ErrorsNameNodeOperatorAndOpset) {
  const std::string unknown = message(graph_of(13, "Frobnicate", {f32({1})}));
  EXPECT_NE(unknown.find("node 'n' (Frobnicate)"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("opset 13"), std::string::npos) << unknown;
  const std::string shapes = message(graph_of(13, "Add", {f32({2}), f32({3})}), ErrorCode::fail);
  EXPECT_NE(shapes.find("node 'n' (Add)"), std::string::npos) << shapes;
  EXPECT_NE(shapes.find("[3]"), std::string::npos) << shapes;
  const std::string types = message(graph_of(13, "Add", {f32({2}), i64({2}, {1, 2})}), ErrorCode::fail);
  EXPECT_NE(types.find("int64"), std::string::npos) << types;
  const std::string missing = message(graph_of(13, "Add", {f32({2})}));
  EXPECT_NE(missing.find("input 1 (B) is missing"), std::string::npos) << missing;
  const std::string extra = message(graph_of(13, "Neg", {f32({2}), f32({2})}));
  EXPECT_NE(extra.find("2 inputs"), std::string::npos) << extra;
  const std::string none = message(graph_of(11, "Softmax", {}));
  EXPECT_NE(none.find("required input 0"), std::string::npos) << none;
  const std::string outputs = message(graph_of(13, "Neg", {f32({2})}, {}, 2));
  EXPECT_NE(outputs.find("2 outputs"), std::string::npos) << outputs;
}

/// The warnings of a lift.
std::vector<std::string> warnings_of(Graph& graph) {
  std::vector<std::string> lines;
  const Logger logger(LogLevel::warning, "test",
                      [&](LogLevel, auto, auto, auto, std::string_view text) { lines.emplace_back(text); });
  lift(graph, nullptr, &logger);
  return lines;
}

TEST(LiftErrors, NormalizationsTakeUnknownAttributes) {
  for (const char* type : {"LayerNormalization", "SimplifiedLayerNormalization"}) {
    const auto g = graph_of(9, type, {f32({2, 3}), floats({1, 2, 3})}, {{"axis", int64_t(1)}, {"odd", int64_t(7)}});
    const std::vector<std::string> lines = warnings_of(*g);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find(cat("node 'n' ({}): attribute 'odd' is unknown", type)), std::string::npos) << lines[0];
    EXPECT_FALSE(g->node(g->order()[0]).attributes.has("odd"));
  }
  EXPECT_NE(message(graph_of(9, "Relu", {f32({2})}, {{"odd", int64_t(7)}})).find("'odd'"), std::string::npos);
}

TEST(LiftErrors, NormalizationsTakeScalesOfAnotherType) {
  const Input halves = ValueType::tensor(DType::f16, {2, 3}), singles = f32({2, 3}), rows = f32({3});
  const Input half_rows = ValueType::tensor(DType::f16, {3});
  EXPECT_EQ(lifted(9, "LayerNormalization", {halves, rows, rows}, {{"odd", int64_t(7)}}, 2),
            "%0 = Cast(x0) to=1\n%1 = Cast(x1) to=1\n%2 = Cast(x2) to=1\n%3, y1 = LayerNormalization(%0, %1, %2)\n"
            "y = Cast(%3) to=1\n");
  EXPECT_EQ(lifted(9, "SimplifiedLayerNormalization", {singles, half_rows}),
            "%0 = Cast(x0) to=1\n%1 = Cast(x1) to=1\n%2 = SimplifiedLayerNormalization(%0, %1)\ny = Cast(%2) to=10\n");
  EXPECT_THROW(lifted(17, "LayerNormalization", {halves, rows}), Error);
}

// A body may never run, so a node in it that cannot run is an error of the run.
TEST(LiftErrors, NodesOfBodiesFailWhenTheyRun) {
  const auto g = graph_of(13, "If", {ValueType::tensor(DType::boolean, Shape{})});
  Node& choice = g->node(g->order()[0]);
  const auto branch = [&](std::vector<int64_t> shape) {
    auto body = std::make_shared<Graph>(g->shared_dims());
    const ValueId x = body->add_constant("x", Tensor::of<float>({4}, {1, 2, 3, 4}));
    const ValueId s = body->add_constant("s", Tensor::of<int64_t>({2}, shape));
    const NodeId id = body->add({.type = "Reshape", .inputs = {x, s}, .name = "r", .version = 13});
    body->outputs = {body->node(id).outputs[0]};
    return body;
  };
  choice.bodies.push_back({"then_branch", branch({2, 2})});
  choice.bodies.push_back({"else_branch", branch({3, 2})});
  const std::vector<std::string> lines = warnings_of(*g);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("node 'r' (Reshape) [opset 13]: "), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("; a run that comes to this node fails"), std::string::npos) << lines[0];
  const Graph& bad = *choice.bodies[1].graph;
  EXPECT_TRUE(external_op(bad.node(bad.order()[0])));
  EXPECT_EQ(bad.value(bad.outputs[0]).type.dtype, DType::f32);
  EXPECT_EQ(g->value(g->outputs[0]).type.dtype, DType::f32);
}

}  // namespace
}  // namespace retort
