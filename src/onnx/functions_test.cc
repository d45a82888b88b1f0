// Tests the expansion of model-local functions.
#include "onnx/functions.h"

#include "onnx/model_testing.h"
#include "onnx/writer.h"

namespace retort::onnx {
namespace {

struct FunctionSpec {
  std::string name;
  Strings inputs, outputs;
  std::vector<MessageWriter> nodes;
  Strings attributes = {};
  std::vector<MessageWriter> defaults = {};
  int64_t version = 17;
  std::string overload = {};
  std::string domain = "f";
  MessageWriter build() const {
    MessageWriter m;
    m.bytes(tag::function::name, name);
    m.bytes(tag::function::domain, domain);
    m.text(tag::function::overload, overload);
    for (const std::string& s : inputs) m.bytes(tag::function::input, s);
    for (const std::string& s : outputs) m.bytes(tag::function::output, s);
    for (const std::string& s : attributes) m.bytes(tag::function::attribute, s);
    for (const MessageWriter& a : defaults) m.message(tag::function::attribute_proto, a);
    for (const MessageWriter& n : nodes) m.message(tag::function::node, n);
    m.message(tag::function::opset_import, opset("", version));
    m.message(tag::function::opset_import, opset("f", 1));
    return m;
  }
};

MessageWriter call(const std::string& name, const Strings& inputs, const Strings& outputs,
                   const std::vector<MessageWriter>& attributes = {}) {
  return node(name, inputs, outputs, attributes, "f");
}

MessageWriter reference(const std::string& name, AttributeKind kind, const std::string& from) {
  MessageWriter m = attribute_head(name, kind);
  m.bytes(tag::attribute::ref_attr_name, from);
  return m;
}

std::shared_ptr<Model> model_of(std::vector<MessageWriter> nodes, const std::vector<FunctionSpec>& functions) {
  GraphSpec g{.nodes = std::move(nodes), .inputs = {info("x")}, .outputs = {info("y", MessageWriter())}};
  std::vector<MessageWriter> built;
  for (const FunctionSpec& f : functions) built.push_back(f.build());
  return read(model_bytes(g, 10, built));
}

/// The main graph once all calls are expanded.
std::string expanded(std::vector<MessageWriter> nodes, const std::vector<FunctionSpec>& functions) {
  const auto m = model_of(std::move(nodes), functions);
  inline_functions(*m);
  verify(*m->graph);
  EXPECT_TRUE(m->functions.empty());
  return print(*m->graph);
}

void expect_refused(std::vector<MessageWriter> nodes, const std::vector<FunctionSpec>& functions,
                    const std::string& text) {
  const auto m = model_of(std::move(nodes), functions);
  expect_error(ErrorCode::invalid_graph, text, [&] { inline_functions(*m); });
}

const FunctionSpec kNegAbs{"F", {"a"}, {"b"}, {node("Neg", {"a"}, {"t"}), node("Abs", {"t"}, {"b"})}};

TEST(Functions, CallsBecomeTheBody) {
  EXPECT_EQ(expanded({call("F", {"x"}, {"u"}), call("F", {"u"}, {"y"})}, {kNegAbs}),
            "graph(x: float32[2]) {\n"
            "  F/t#0: ? = Neg(x)\n"
            "  u: ? = Abs(F/t#0)\n"
            "  F/t#1: ? = Neg(u)\n"
            "  y: ? = Abs(F/t#1)\n"
            "  return y\n}\n");
}

TEST(Functions, CallEachOtherAndKeepTheirVersion) {
  const FunctionSpec outer{.name = "G",
                           .inputs = {"a"},
                           .outputs = {"b"},
                           .nodes = {call("F", {"a"}, {"c"}), node("Exp", {"c"}, {"b"})},
                           .version = 11};
  const auto m = model_of({call("G", {"x"}, {"y"})}, {outer, kNegAbs});
  inline_functions(*m);
  ASSERT_EQ(m->graph->order().size(), 3u);
  std::map<std::string, int> versions;
  for (NodeId id : m->graph->order()) versions[m->graph->node(id).type] = m->graph->node(id).version;
  EXPECT_EQ(versions, (std::map<std::string, int>{{"Neg", 17}, {"Abs", 17}, {"Exp", 11}}));
  expect_error(ErrorCode::not_implemented, "is of version 11", [&] { write_model(*m); });
}

TEST(Functions, AttributesComeFromTheCallOrTheDefault) {
  const FunctionSpec f{
      .name = "F",
      .inputs = {"a"},
      .outputs = {"b"},
      .nodes = {node("Op", {"a"}, {"b"},
                     {reference("p", AttributeKind::i, "given"), reference("q", AttributeKind::i, "default"),
                      reference("r", AttributeKind::i, "missing"), int_attribute("s", 4)})},
      .attributes = {"given", "missing"},
      .defaults = {int_attribute("default", 2), int_attribute("given", 9)}};
  const FunctionSpec g{.name = "G",
                       .inputs = {"a"},
                       .outputs = {"b"},
                       .nodes = {call("F", {"a"}, {"b"}, {reference("given", AttributeKind::i, "outer")})},
                       .attributes = {"outer"}};
  const std::string text = expanded({call("G", {"x"}, {"y"}, {int_attribute("outer", 1)})}, {f, g});
  EXPECT_NE(text.find("y: ? = Op(x) {p=1, q=2, s=4}"), std::string::npos) << text;
}

TEST(Functions, OmittedInputsAndOutputs) {
  const FunctionSpec f{
      "F", {"a", "m", "n"}, {"b", "c"}, {node("Clip", {"a", "m", "n"}, {"b"}), node("Neg", {"b"}, {"c"})}};
  EXPECT_EQ(expanded({call("F", {"x"}, {"", "y"})}, {f}),
            "graph(x: float32[2]) {\n"
            "  F/b#0: ? = Clip(x, _, _)\n"
            "  y: ? = Neg(F/b#0)\n"
            "  return y\n}\n");
  EXPECT_NE(expanded({call("F", {"x", "", "x"}, {"y"})}, {f}).find("y: ? = Clip(x, _, x)"), std::string::npos);
  expect_refused({call("F", {"x", "x", "x", "x"}, {"y"})}, {f},
                 "node of output 'y' (f.F): 4 inputs, but function 'f.F' has 3");
  expect_refused({call("F", {"x"}, {"y", "z", "w"})}, {f}, "3 outputs, but function 'f.F' has 2");
}

TEST(Functions, OutputsMayBeInputsOrRepeated) {
  const FunctionSpec f{"F", {"a"}, {"a", "b", "b"}, {node("Neg", {"a"}, {"b"})}};
  EXPECT_EQ(expanded({call("F", {"x"}, {"u", "v", "w"}), node("Sum", {"u", "v", "w"}, {"y"})}, {f}),
            "graph(x: float32[2]) {\n"
            "  v: ? = Neg(x)\n"
            "  u: ? = Identity(x)\n"
            "  w: ? = Identity(v)\n"
            "  y: ? = Sum(u, v, w)\n"
            "  return y\n}\n");
  const FunctionSpec g{"G", {"a", "o"}, {"o"}, {node("Neg", {"a"}, {"t"})}};
  expect_refused({call("G", {"x"}, {"y"})}, {g}, "returns an input that the call omits");
}

MessageWriter branches(const MessageWriter& n, const std::string& out) {
  const MessageWriter body = GraphSpec{.nodes = {n}, .inputs = {}, .outputs = {info(out, MessageWriter())}}.build();
  return node("If", {"a"}, {"b"}, {graph_attribute("then_branch", body), graph_attribute("else_branch", body)});
}

TEST(Functions, WithinBodiesAndWithBodies) {
  const FunctionSpec leaky{.name = "L",
                           .inputs = {"a"},
                           .outputs = {"b"},
                           .nodes = {branches(node("Op", {"a"}, {"t"}, {reference("k", AttributeKind::i, "k")}), "t")},
                           .attributes = {"k"}};
  const FunctionSpec outer{"G", {"a"}, {"b"}, {branches(call("L", {"a"}, {"t"}, {int_attribute("k", 5)}), "t")}};
  const auto m = model_of({call("G", {"x"}, {"u"}), call("G", {"u"}, {"y"})}, {leaky, outer});
  inline_functions(*m);
  verify(*m->graph);
  for (NodeId id : m->graph->order()) {
    const Node& n = m->graph->node(id);
    ASSERT_EQ(n.bodies.size(), 2u);
    const Graph& body = *n.bodies[0].graph;
    ASSERT_EQ(body.order().size(), 1u);
    const Graph& inner = *body.node(body.order()[0]).bodies[1].graph;
    EXPECT_EQ(inner.node(NodeId(0)).attributes.get_or<int64_t>("k", 0), 5);
  }
  // Each call has its own bodies.
  EXPECT_NE(m->graph->node(m->graph->order()[0]).bodies[0].graph, m->graph->node(m->graph->order()[1]).bodies[0].graph);
}

TEST(Functions, OverloadsAreDifferentFunctions) {
  FunctionSpec one = kNegAbs, two{"F", {"a"}, {"b"}, {node("Exp", {"a"}, {"b"})}};
  one.overload = "one";
  two.overload = "two";
  MessageWriter n = call("F", {"x"}, {"y"});
  n.bytes(tag::node::overload, "two");
  EXPECT_NE(expanded({n}, {one, two}).find("y: ? = Exp(x)"), std::string::npos);
  expect_error(ErrorCode::invalid_graph, "two functions 'f:F:two'", [&] { model_of({n}, {two, two}); });
}

TEST(Functions, KeptCallsKeepTheirFunction) {
  const auto m = model_of({call("F", {"x"}, {"y"})}, {kNegAbs});
  inline_functions(*m, {.keep = [](const Node& n) { return n.type == "F"; }});
  EXPECT_EQ(m->graph->node(m->graph->order()[0]).type, "F");
  EXPECT_EQ(m->functions.size(), 1u);
}

TEST(Functions, CyclesAreErrorsEvenUnused) {
  const FunctionSpec self{"S", {"a"}, {"b"}, {call("S", {"a"}, {"b"})}};
  const FunctionSpec one{"A", {"a"}, {"b"}, {call("B", {"a"}, {"b"})}},
      two{"B", {"a"}, {"b"}, {branches(call("A", {"a"}, {"t"}), "t")}};
  expect_refused({node("Neg", {"x"}, {"y"})}, {self}, "function 'f.S' calls itself");
  expect_refused({call("A", {"x"}, {"y"})}, {one, two}, "calls itself");
}

/// Functions F0 … Fn, each of which calls the previous one `calls` times; the first is Neg.
std::vector<FunctionSpec> tower(int n, int calls, const std::string& name = "F") {
  std::vector<FunctionSpec> all{{name + "0", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})}}};
  for (int i = 1; i <= n; ++i) {
    FunctionSpec f{name + std::to_string(i), {"a"}, {"b"}, {}};
    for (int k = 0; k < calls; ++k) {
      f.nodes.push_back(call(name + std::to_string(i - 1), {k ? "t" + std::to_string(k) : "a"},
                             {k + 1 == calls ? "b" : "t" + std::to_string(k + 1)}));
    }
    all.push_back(f);
  }
  return all;
}

TEST(Functions, LongChainsAreFineDoublingIsBounded) {
  const auto m = model_of({call("F3000", {"x"}, {"y"})}, tower(3000, 1));
  inline_functions(*m);
  EXPECT_EQ(m->graph->order().size(), 1u);
  const auto small = model_of({call("F8", {"x"}, {"y"})}, tower(8, 2));
  inline_functions(*small);
  EXPECT_EQ(small->graph->order().size(), 256u);
  expect_refused({call("F40", {"x"}, {"y"})}, tower(40, 2), "results in more than 262144 nodes");
  const auto bound = model_of({call("F8", {"x"}, {"y"})}, tower(8, 2));
  expect_error(ErrorCode::invalid_graph, "results in more than", [&] { inline_functions(*bound, {.nodes = 100}); });
}

TEST(Functions, BytesAreBounded) {
  auto functions = tower(16, 2);
  functions[0].nodes = {node("Op", {"a"}, {"b"}, {attribute_head("s", AttributeKind::s)})};
  functions[0].nodes[0] = node("Op", {"a"}, {"b"}, {[] {
                                 MessageWriter m = attribute_head("s", AttributeKind::s);
                                 m.bytes(tag::attribute::s, std::string(100'000, 'x'));
                                 return m;
                               }()});
  expect_refused({call("F16", {"x"}, {"y"})}, functions, "bytes");
}

TEST(Functions, NestingIsBounded) {
  std::vector<FunctionSpec> all{{"F0", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})}}};
  for (int i = 1; i <= 200; ++i) {
    all.push_back(
        {"F" + std::to_string(i), {"a"}, {"b"}, {branches(call("F" + std::to_string(i - 1), {"a"}, {"t"}), "t")}});
  }
  expect_refused({call("F150", {"x"}, {"y"})}, all,
                 "results in more than");  // two branches double the size at each level
  for (FunctionSpec& f : all) {
    if (f.name == "F0") continue;
    const std::string inner = "F" + std::to_string(std::stoi(f.name.substr(1)) - 1);
    const MessageWriter body =
        GraphSpec{.nodes = {call(inner, {"a"}, {"t"})}, .inputs = {}, .outputs = {info("t", MessageWriter())}}.build();
    f.nodes = {node("Once", {"a"}, {"b"}, {graph_attribute("body", body)})};
  }
  expect_refused({call("F150", {"x"}, {"y"})}, all, "bodies nest deeper than 100");
  const auto m = model_of({call("F90", {"x"}, {"y"})}, all);
  inline_functions(*m);
  verify(*m->graph);
}

TEST(Functions, BodiesAreScopesOfTheirOwn) {
  expect_error(ErrorCode::invalid_graph, "function 'f:F': node of output 'b' (Add): input 'x'", [] {
    model_of({call("F", {"x"}, {"y"})}, {{"F", {"a"}, {"b"}, {node("Add", {"a", "x"}, {"b"})}}});
  });
  expect_error(ErrorCode::invalid_graph, "output 'b'", [] {
    model_of({call("F", {"x"}, {"y"})}, {{"F", {"a"}, {"b"}, {}}});
  });
}

}  // namespace
}  // namespace retort::onnx
