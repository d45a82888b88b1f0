// Tests names, scopes, captures and types.
#include <atomic>

#include "base/loading.h"
#include "onnx/model_testing.h"

namespace retort::onnx {
namespace {

GraphSpec chain(std::vector<MessageWriter> nodes, std::vector<MessageWriter> initializers = {}) {
  return {.nodes = std::move(nodes),
          .inputs = {info("x")},
          .outputs = {info("y")},
          .initializers = std::move(initializers)};
}

MessageWriter named(MessageWriter m, const std::string& name) {
  m.bytes(tag::node::name, name);
  return m;
}

TEST(ReadGraph, PrintsAsWritten) {
  GraphSpec g = chain({node("Add", {"x", "c"}, {"t"}, {int_attribute("k", 3)}), node("Neg", {"t"}, {"y"})},
                      {float_tensor("c", {1, 2})});
  g.infos = {info("t", tensor_type(1, {2})), info("nobody")};
  const auto m = read(model_bytes(g));
  verify(*m->graph);
  EXPECT_EQ(print(*m->graph),
            "graph(x: float32[2]) {\n"
            "  t: float32[2] = Add(x, c) {k=3}\n"
            "  y: float32[2] = Neg(t)\n"
            "  return y\n}\n");
  EXPECT_EQ(m->graph->node(NodeId(0)).version, 17);
  EXPECT_EQ(m->opsets, (std::map<std::string, int>{{"", 17}, {"f", 1}}));
}

TEST(ReadGraph, NodesNeedNotBeSorted) {
  const auto m = read(model_bytes(chain({node("Neg", {"t"}, {"y"}), node("Abs", {"x"}, {"t"})})));
  EXPECT_EQ(m->graph->order()[0], NodeId(1));
}

TEST(ReadGraph, DomainsAndVersions) {
  const auto m = read(model_bytes(chain({node("Abs", {"x"}, {"t"}, {}, "ai.onnx"), node("G", {"t"}, {"u"}, {}, "f"),
                                         node("H", {"u"}, {"y"}, {}, "not.imported")})));
  EXPECT_TRUE(m->graph->node(NodeId(0)).is("Abs", ""));
  EXPECT_EQ(m->graph->node(NodeId(0)).version, 17);
  EXPECT_EQ(m->graph->node(NodeId(1)).version, 1);
  EXPECT_EQ(m->graph->node(NodeId(2)).version, 0);
}

TEST(ReadGraph, DefinitionsMustBeThereOnce) {
  const auto code = ErrorCode::invalid_graph;
  const auto bad = [&](std::vector<MessageWriter> nodes, const std::string& text) {
    expect_unreadable(model_bytes(chain(std::move(nodes), {float_tensor("c", {1, 2})})), code, text);
  };
  bad({node("Neg", {"q"}, {"y"})}, "node of output 'y' (Neg): input 'q' is not a graph input");
  bad({node("Neg", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})}, "two definitions");
  bad({node("Neg", {"x"}, {"x"})}, "the name 'x' of a node output is already in use");
  bad({node("Neg", {"x"}, {"c"})}, "the name 'c' of a node output is already in use");
  bad({node("Neg", {"x"}, {"t"})}, "graph output 'y' is neither");
  bad({node("", {"x"}, {"y"})}, "no operator type");
  bad({node("Add", {"x", "y"}, {"t"}), node("Neg", {"t"}, {"y"})}, "cycle through 2 nodes");
  bad({named(node("Neg", {"x"}, {"t"}), "a"), named(node("Neg", {"t"}, {"y"}), "a")}, "two nodes of that name");
  GraphSpec twice = chain({node("Neg", {"x"}, {"y"})});
  twice.inputs.push_back(info("x"));
  expect_unreadable(model_bytes(twice), code, "the name 'x' of a graph input is already in use");
  GraphSpec untyped = chain({node("Neg", {"x"}, {"y"})});
  untyped.inputs = {info("x", MessageWriter())};
  expect_unreadable(model_bytes(untyped), code, "graph input 'x': it has no type");
}

TEST(ReadGraph, ConstantsMayShareAName) {
  const auto constant = [](const std::string& output) {
    return named(node("Constant", {}, {output}, {int_attribute("value_int", 3)}), "anon");
  };
  const auto m = read(model_bytes(chain({constant("p"), constant("q"), node("Add", {"p", "q"}, {"y"})})));
  verify(*m->graph);
  EXPECT_EQ(m->graph->outputs.size(), 1u);
}

TEST(ReadGraph, InputsAndConstantsMayBeOutputs) {
  GraphSpec g = chain({node("Neg", {"x"}, {"y"})}, {float_tensor("c", {1, 2})});
  g.outputs = {info("y"), info("c"), info("x"), info("y")};
  const auto m = read(model_bytes(g));
  verify(*m->graph);
  EXPECT_EQ(m->graph->outputs.size(), 4u);
  EXPECT_EQ(m->graph->outputs[2], m->graph->inputs[0]);
}

TEST(ReadGraph, OmittedInputsAndOutputsAreNone) {
  const auto m = read(model_bytes(chain({node("Clip", {"x", "", "c"}, {"", "y"})}, {float_tensor("c", {1})})));
  EXPECT_EQ(m->graph->node(NodeId(0)).inputs[1], ValueId::none);
  EXPECT_EQ(m->graph->node(NodeId(0)).outputs[0], ValueId::none);
}

TEST(ReadGraph, InitializersOfInputs) {
  GraphSpec g = chain({node("Add", {"x", "c"}, {"y"})}, {float_tensor("c", {1, 2})});
  g.inputs.push_back(info("c"));
  const auto with_default = read(model_bytes(g, 4));
  EXPECT_EQ(with_default->graph->inputs.size(), 2u);
  const ValueId c = with_default->graph->inputs[1];
  EXPECT_FALSE(with_default->graph->value(c).is_constant());
  ASSERT_TRUE(with_default->graph->defaults.contains(c));
  EXPECT_EQ(with_default->graph->defaults.at(c).data<float>()[1], 2.0f);

  const auto old = read(model_bytes(g, 3));
  EXPECT_EQ(old->graph->inputs.size(), 1u);
  EXPECT_TRUE(old->graph->defaults.empty());
  EXPECT_EQ(constant_named(*old->graph, "c").data<float>()[1], 2.0f);

  g.inputs[1] = info("c", tensor_type(1, {3}));
  expect_unreadable(model_bytes(g, 4), ErrorCode::invalid_graph, "initializer 'c' is float32[2]");
}

TEST(ReadGraph, LastOfSeveralInitializersCounts) {
  const auto m = read(
      model_bytes(chain({node("Add", {"x", "c"}, {"y"})}, {float_tensor("c", {1, 2}), float_tensor("c", {3, 4, 5})})));
  EXPECT_EQ(constant_named(*m->graph, "c").count(), 3u);
}

MessageWriter holder_type(uint32_t field, const MessageWriter& element) {
  MessageWriter inner, m;
  inner.message(tag::tensor_type::elem_type, element);
  m.message(field, inner);
  return m;
}

TEST(ReadGraph, TypesOfEveryKind) {
  MessageWriter map, map_type;
  map.integer(tag::map_type::key_type, int64_t(DType::string));
  map.message(tag::map_type::value_type, tensor_type(7, {}));
  map_type.message(tag::type::map, map);
  MessageWriter symbol, shape, tensor, symbolic, open_dim;
  symbol.bytes(tag::dim::param, "n");
  shape.message(tag::shape::dim, symbol);
  shape.message(tag::shape::dim, open_dim);
  tensor.integer(tag::tensor_type::elem_type, 1);
  tensor.message(tag::tensor_type::shape, shape);
  symbolic.message(tag::type::sparse, tensor);
  GraphSpec g = chain({node("Neg", {"x"}, {"y"})});
  g.inputs = {info("x", holder_type(tag::type::sequence, tensor_type(1, {3}))),
              info("o", holder_type(tag::type::optional, holder_type(tag::type::sequence, tensor_type(8, {})))),
              info("m", map_type), info("s", symbolic),
              info("u", tensor_type(1, {-1, INT64_MIN, -0x5a5a'0000'0000'0001}))};
  const auto m = read(model_bytes(g));
  EXPECT_EQ(print(*m->graph).substr(0, 102),
            "graph(x: seq(float32[3]), o: optional(seq(string[])), m: map(string), s: float32[n,?1], u: float32[?2,");
  EXPECT_EQ(m->graph->value(m->graph->inputs[3]).type.shape[0], m->dims->symbol("n"));
  g.inputs = {info("x", tensor_type(0, {}))};
  expect_unreadable(model_bytes(g), ErrorCode::invalid_graph, "graph input 'x': element type 0");
  g.inputs = {info("x", tensor_type(77, {}))};
  expect_unreadable(model_bytes(g), ErrorCode::invalid_graph, "graph input 'x': element type 77");
  g.inputs = {info("x", holder_type(tag::type::sequence, MessageWriter()))};
  EXPECT_EQ(read(model_bytes(g))->graph->value(ValueId(0)).type.element->kind, ValueType::Kind::unknown);
}

TEST(ReadGraph, Attributes) {
  MessageWriter floats = attribute_head("floats", AttributeKind::floats),
                strings = attribute_head("strings", AttributeKind::strings),
                tensors = attribute_head("tensors", AttributeKind::tensors),
                type = attribute_head("type", AttributeKind::type_proto);
  floats.f32(tag::attribute::floats, 1);
  floats.bytes(tag::attribute::floats, std::string_view("\0\0\0\x40\0\0\x40\x40", 8));
  strings.bytes(tag::attribute::strings, "a");
  strings.bytes(tag::attribute::strings, "");
  tensors.message(tag::attribute::tensors, float_tensor("", {1}));
  type.message(tag::attribute::tp, tensor_type(7, {2}));
  const auto m =
      read(model_bytes(chain({node("Op", {"x"}, {"y"},
                                   {type, floats, strings, tensors, attribute_head("empty", AttributeKind::ints),
                                    attribute_head("zero", AttributeKind::f), int_attribute("i", -7)})})));
  const Attributes& a = m->graph->node(NodeId(0)).attributes;
  EXPECT_EQ(*a.get<std::vector<float>>("floats"), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(*a.get<std::vector<std::string>>("strings"), (Strings{"a", ""}));
  EXPECT_EQ(a.get<std::vector<Tensor>>("tensors")->size(), 1u);
  EXPECT_EQ(*a.get<ValueType>("type"), ValueType::tensor(DType::i64, {2}));
  EXPECT_TRUE(a.get<std::vector<int64_t>>("empty")->empty());
  EXPECT_EQ(a.get_or<float>("zero", 1.0f), 0.0f);
  EXPECT_EQ(a.get_or<int64_t>("i", 0), -7);
}

TEST(ReadGraph, BrokenAttributes) {
  const auto bad = [&](const std::vector<MessageWriter>& attributes, const std::string& text,
                       ErrorCode code = ErrorCode::invalid_graph) {
    expect_unreadable(model_bytes(chain({node("Op", {"x"}, {"y"}, attributes)})), code, text);
  };
  MessageWriter no_type, no_name, two = int_attribute("a", 1), ref = attribute_head("a", AttributeKind::i);
  no_type.bytes(tag::attribute::name, "a");
  no_name.integer(tag::attribute::type, 2);
  two.f32(tag::attribute::f, 1);
  ref.bytes(tag::attribute::ref_attr_name, "b");
  bad({no_type}, "attribute 'a': 0 is not an attribute type");
  bad({no_name}, "an attribute has no name");
  bad({two}, "it has a value in field 2");
  bad({ref}, "it refers to attribute 'b' of a function, but is not in a function");
  bad({attribute_head("a", AttributeKind(99))}, "99 is not an attribute type");
  bad({attribute_head("a", AttributeKind::tensor)}, "it has no value");
  bad({attribute_head("a", AttributeKind::graph)}, "it has no value");
  bad({attribute_head("a", AttributeKind::graphs)}, "kind 10", ErrorCode::not_implemented);
  const MessageWriter graph = graph_attribute("a", GraphSpec{{}, {}, {}}.build());
  bad({int_attribute("a", 1), int_attribute("b", 1), int_attribute("a", 2)}, "attribute 'a' appears twice");
  bad({graph, int_attribute("a", 1)}, "attribute 'a' appears twice");
  bad({graph, graph}, "attribute 'a' appears twice");
}

MessageWriter body(std::vector<MessageWriter> nodes, const std::string& output,
                   std::vector<MessageWriter> initializers = {}) {
  return GraphSpec{
      .nodes = std::move(nodes), .inputs = {}, .outputs = {info(output)}, .initializers = std::move(initializers)}
      .build();
}

MessageWriter branch(const MessageWriter& then_body, const MessageWriter& else_body, const std::string& output,
                     const std::string& condition = "c") {
  return node("If", {condition}, {output},
              {graph_attribute("then_branch", then_body), graph_attribute("else_branch", else_body)});
}

GraphSpec with_condition(std::vector<MessageWriter> nodes) {
  GraphSpec g = chain(std::move(nodes));
  g.inputs.push_back(info("c", tensor_type(9, {})));
  return g;
}

TEST(Captures, AreExplicitAndShared) {
  const auto m = read(model_bytes(
      with_condition({node("Abs", {"x"}, {"a"}), branch(body({node("Neg", {"x"}, {"t"})}, "t"),
                                                        body({node("Add", {"a", "x"}, {"e"})}, "e"), "y")})));
  verify(*m->graph);
  const Node& n = m->graph->node(NodeId(1));
  ASSERT_EQ(n.captures, 2u);
  EXPECT_EQ(m->graph->value(n.inputs[1]).name, "x");
  EXPECT_EQ(m->graph->value(n.inputs[2]).name, "a");
  for (const Body& b : n.bodies) {
    EXPECT_EQ(b.graph->captures, 2u);
    ASSERT_EQ(b.graph->inputs.size(), 2u);
    EXPECT_EQ(b.graph->value(b.graph->inputs[0]).name, "x");
    EXPECT_EQ(b.graph->value(b.graph->inputs[1]).name, "a");
    EXPECT_EQ(b.graph->value(b.graph->inputs[0]).type, ValueType::tensor(DType::f32, {2}));
  }
}

TEST(Captures, PassThroughEveryLevel) {
  const MessageWriter inner =
      branch(body({node("Neg", {"a"}, {"t2"})}, "t2"), body({node("Neg", {"x"}, {"e2"})}, "e2"), "t");
  const auto m = read(model_bytes(with_condition(
      {branch(body({inner}, "t"), body({node("Neg", {"x"}, {"e"})}, "e"), "y"), node("Abs", {"x"}, {"a"})})));
  verify(*m->graph);
  const Node& outer = m->graph->node(NodeId(0));
  Strings names;
  for (size_t i = 1; i < outer.inputs.size(); ++i) names.push_back(m->graph->value(outer.inputs[i]).name);
  EXPECT_EQ(names, (Strings{"c", "a", "x"}));
  const Graph& then_graph = *outer.bodies[0].graph;
  EXPECT_EQ(then_graph.captures, 3u);
  EXPECT_EQ(then_graph.node(NodeId(0)).captures, 2u);
  EXPECT_EQ(m->graph->order()[0], NodeId(1));  // the body needs `a`
}

TEST(Captures, InnerNamesHideOuterOnes) {
  const auto m =
      read(model_bytes(with_condition({branch(body({node("Neg", {"x"}, {"t"})}, "t", {float_tensor("x", {5, 6})}),
                                              body({node("Neg", {"x"}, {"e"})}, "e"), "y")})));
  EXPECT_EQ(constant_named(*m->graph->node(NodeId(0)).bodies[0].graph, "x").data<float>()[0], 5.0f);
  EXPECT_EQ(m->graph->node(NodeId(0)).captures, 1u);
}

TEST(Captures, OfAnOwnOutputIsACycle) {
  expect_unreadable(model_bytes(with_condition(
                        {branch(body({node("Neg", {"y"}, {"t"})}, "t"), body({node("Neg", {"x"}, {"e"})}, "e"), "y")})),
                    ErrorCode::invalid_graph, "cycle");
}

TEST(Captures, UnknownNamesAreErrors) {
  expect_unreadable(model_bytes(with_condition(
                        {branch(body({node("Neg", {"q"}, {"t"})}, "t"), body({node("Neg", {"x"}, {"e"})}, "e"), "y")})),
                    ErrorCode::invalid_graph,
                    "node of output 'y' (If): 'then_branch': node of output 't' (Neg): input 'q'");
  expect_unreadable(model_bytes(with_condition({branch(body({}, "q"), body({}, "x"), "y")})), ErrorCode::invalid_graph,
                    "graph output 'q'");
}

TEST(ReadModel, HeaderIsChecked) {
  const MessageWriter graph = chain({node("Neg", {"x"}, {"y"})}).build();
  expect_unreadable("", ErrorCode::invalid_argument, "no graph");
  expect_unreadable(model_bytes(graph, kMaxIrVersion + 1), ErrorCode::fail,
                    "unsupported model IR version: 15, max supported IR version: 14");
  for (int64_t version = 0; version <= kMaxIrVersion; ++version) read(model_bytes(graph, version));
  MessageWriter bare;
  bare.message(tag::model::graph, graph);
  expect_unreadable(bare.str(), ErrorCode::fail, "missing model IR version");
  bare.integer(tag::model::ir_version, 8);
  expect_unreadable(bare.str(), ErrorCode::fail, "missing opset");
  MessageWriter zero = bare;
  zero.message(tag::model::opset_import, opset("", 0));
  expect_unreadable(zero.str(), ErrorCode::invalid_graph, "version 0 of operator set");
  std::vector<std::string> notes;
  MessageWriter unused = bare;
  unused.message(tag::model::opset_import, opset("", 17));
  unused.message(tag::model::opset_import, opset("com.microsoft", 0));
  const std::string bytes = unused.str();
  EXPECT_EQ(read_model(std::as_bytes(std::span(bytes)), {.notes = &notes})->opsets.at("com.microsoft"), 0);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("version 0 of operator set 'com.microsoft'"), std::string::npos) << notes[0];
  zero = bare;
  zero.message(tag::model::opset_import, opset("", int64_t(1) << 32 | 17));
  expect_unreadable(zero.str(), ErrorCode::invalid_graph, "does not exist");
  bare.message(tag::model::opset_import, opset("ai.onnx", 17));
  bare.message(tag::model::graph, graph);
  expect_unreadable(bare.str(), ErrorCode::invalid_graph, "two graphs");
}

TEST(ReadModel, Files) {
  const Folder folder;
  folder.write("m.onnx", model_bytes(chain({node("Neg", {"x"}, {"y"})})));
  for (bool trusted : {true, false}) {
    EXPECT_EQ(read_model(folder / "m.onnx", {.trusted = trusted})->path, folder / "m.onnx");
  }
  expect_error(ErrorCode::no_such_file, "nope.onnx", [&] { read_model(folder / "nope.onnx"); });
  expect_error(ErrorCode::invalid_protobuf, "not a regular file", [&] { read_model(folder / ""); });
  folder.write("empty.onnx", "");
  for (bool trusted : {true, false}) {
    expect_error(ErrorCode::invalid_argument, "no graph",
                 [&] { read_model(folder / "empty.onnx", {.trusted = trusted}); });
  }
}

TEST(ReadModel, EndsWhenLoadingIsCancelled) {
  const std::string bytes = model_bytes(chain({node("Neg", {"x"}, {"y"})}));
  const std::atomic<bool> cancel{true};
  const LoadingThread loading(&cancel);
  expect_error(ErrorCode::model_load_canceled, "cancelled", [&] { read_model(std::as_bytes(std::span(bytes))); });
}

}  // namespace
}  // namespace retort::onnx
