// Tests that a model written in ORT format is read back as the same graph, or that writing throws.
#include "ort_format/write.h"

#include <unistd.h>

#include <atomic>

#include "base/loading.h"
#include "onnx/weight_file.h"
#include "ort_format/flat_testing.h"

namespace retort::ort_format {
namespace {

using Kind = ValueType::Kind;

ValueId only_output(Graph& g, NodeId node, const std::string& name, ValueType type) {
  const ValueId id = g.node(node).outputs[0];
  g.value(id).name = name;
  g.value(id).type = std::move(type);
  return id;
}

/// y = Op(x + c, (omitted), c) with an attribute of every kind that the format has, and If whose bodies capture.
/// One attribute of each kind that the format has, but graphs.
Attributes one_of_each() {
  return {{"i", int64_t(-1)},
          {"f", 0.5f},
          {"s", std::string("text\0x", 6)},
          {"is", std::vector<int64_t>{1, INT64_MIN}},
          {"fs", std::vector<float>{1, -2}},
          {"ss", std::vector<std::string>{"", std::string(100, 'b')}},
          {"none", std::vector<int64_t>{}},
          {"t", Tensor::of<int64_t>({2}, {7, 8})},
          {"ts", std::vector<Tensor>{Tensor::of<float>({}, {1})}}};
}

std::unique_ptr<Model> everything() {
  auto m = std::make_unique<Model>();
  m->ir_version = 9;
  m->opsets = {{"", 17}, {"com.example", 3}};
  m->producer_name = "test";
  m->model_version = 5;
  m->metadata = {{"author", "me"}, {"note", ""}};
  Graph& g = *m->graph;
  g.doc = "about the graph";
  const Dim n = g.dims().symbol("n");
  const ValueType rows = ValueType::tensor(DType::f32, {n, 3}), words = ValueType::tensor(DType::string, {2});
  const ValueId x = g.add_value("x", rows), flag = g.add_value("flag", ValueType::tensor(DType::boolean, {}));
  const ValueId list = g.add_value("list", ValueType::sequence_of(ValueType::tensor(DType::i64)));
  g.inputs = {x, flag, list};
  const ValueId c = g.add_constant("c", Tensor::of<float>({3}, {1, 2, 3}));
  const ValueId text = g.add_constant("text", Tensor::of<std::string>({2}, {"a", std::string("b\0c", 3)}));
  g.value(c).type = ValueType::tensor(DType::f32, {3});
  g.value(text).type = words;
  const NodeId add = g.add({.type = "Add", .inputs = {x, c}, .name = "add", .version = 14});
  const ValueId sum = only_output(g, add, "sum", rows);
  const NodeId op = g.add({.type = "Op",
                           .inputs = {sum, ValueId::none, text, list},
                           .attributes = one_of_each(),
                           .domain = "com.example",
                           .name = "op",
                           .version = 3});
  const ValueId made = only_output(g, op, "made", rows);
  Node branch;
  branch.type = "If";
  branch.version = 16;
  branch.inputs = {flag, made};
  branch.captures = 1;
  for (const char* name : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>(m->dims);
    body->inputs = {body->add_value("made", rows)};
    body->captures = 1;
    const NodeId neg = body->add({.type = "Neg", .inputs = {body->inputs[0]}, .version = 13});
    body->outputs = {only_output(*body, neg, name, rows)};
    branch.bodies.push_back({name, body});
  }
  branch.outputs = {g.add_value("y", rows)};
  g.outputs = {branch.outputs[0]};
  g.add_node(std::move(branch));
  return m;
}

std::string bytes_of(const Model& model) { return std::string(write_ort(model).bytes); }

std::string refusal(const Model& model, ErrorCode code) {
  try {
    write_ort(model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

TEST(WriteOrt, ReadsBackAsTheSame) {
  const auto model = everything();
  const auto again = load(bytes_of(*model));
  verify(*again->graph);
  EXPECT_EQ(print(*again->graph), print(*model->graph));
  auto opsets = model->opsets;
  opsets["com.microsoft"] = opsets["com.microsoft.nchwc"] = 1;  // of nodes that ONNX Runtime inserts
  EXPECT_EQ(again->opsets, opsets);
  EXPECT_EQ(again->metadata, model->metadata);
  EXPECT_EQ(again->ir_version, 9);
  EXPECT_EQ(again->model_version, 5);
  EXPECT_EQ(again->producer_name, "test");
  EXPECT_EQ(again->graph->doc, "about the graph");
  const Graph& g = *again->graph;
  EXPECT_EQ(g.value(g.inputs[2]).type.kind, Kind::sequence);
  for (const NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (n.type != "Op") continue;
    EXPECT_EQ(n.version, 3);
    for (const auto& [name, value] : model->graph->node(NodeId(1)).attributes)
      EXPECT_TRUE(n.attributes.has(name) && equal(*n.attributes.find(name), value)) << name;
  }
}

TEST(WriteOrt, ReadModelsCanBeWrittenAgain) {
  const auto once = load(bytes_of(*everything())), twice = load(bytes_of(*once));
  EXPECT_EQ(print(*twice->graph), print(*once->graph));
}

TEST(WriteOrt, HasTheTypesByWhichOnnxRuntimeChoosesKernels) {
  const std::string bytes = bytes_of(*everything());
  const fbs::InferenceSession& root = *fbs::GetInferenceSession(bytes.data());
  EXPECT_EQ(root.version()->str(), "6");
  const fbs::Graph& g = *root.model()->graph();
  EXPECT_EQ(g.max_node_index(), 3u);
  ASSERT_EQ(g.edges()->size(), 3u);
  const fbs::Node& add = *g.nodes()->Get(0);
  EXPECT_EQ(add.since_version(), 14);
  EXPECT_EQ(add.input_counts()->size(), 2u);
  EXPECT_EQ(g.nodes()->Get(2)->implicit_inputs()->size(), 1u);
  // Lists that are only written are declared as numbers.
  const auto& operators =
      *reinterpret_cast<const flatbuffers::Vector<Offset<fbs::OperatorTypes>>*>(root.kernel_types()->operators());
  ASSERT_EQ(operators.size(), 4u);
  EXPECT_EQ(operators.Get(0)->name()->str(), ":Add:14");
  const auto& types = *operators.Get(0)->types();
  ASSERT_EQ(types.size(), 1u);
  EXPECT_EQ(types.Get(0)->name()->str(), "T");
  EXPECT_EQ(types.Get(0)->ports()->size(), 3u);
  EXPECT_EQ(operators.Get(3)->name()->str(), "com.example:Op:3");
  EXPECT_EQ(operators.Get(3)->types()->Get(0)->name()->str(), "Input0");
  const auto& edges = *reinterpret_cast<const flatbuffers::Vector<Offset<fbs::NodeEdges>>*>(g.edges());
  ASSERT_EQ(edges.Get(2)->from()->size(), 1u);
  EXPECT_EQ(edges.Get(2)->from()->Get(0)->node(), 1u);
  EXPECT_EQ(edges.Get(2)->from()->Get(0)->input(), 1);
}

TEST(WriteOrt, ExpandsOperatorsThatAreFunctionsInOnnxRuntime) {
  Model m;
  Graph& g = *m.graph;
  m.opsets = {{"", 24}};
  const ValueType type = ValueType::tensor(DType::f32, {4}), half = ValueType::tensor(DType::f16, {4});
  g.inputs = {g.add_value("x", type), g.add_value("h", half)};
  ValueId x = g.inputs[0];
  for (const char* op : {"HardSwish", "Mish", "Swish"})
    x = only_output(g, g.add({.type = op, .inputs = {x}, .name = op, .version = 24}), cat("after_{}", op), type);
  const NodeId cast = g.add({.type = "CastLike", .inputs = {x, g.inputs[1]}, .version = 24});
  g.outputs = {only_output(g, cast, "y", half),
               only_output(g, g.add({.type = "Swish", .inputs = {x}, .attributes = {{"alpha", 2.0f}}, .version = 24}),
                           "z", type)};
  const auto again = load(bytes_of(m));
  std::string types;
  for (const NodeId id : again->graph->order()) types += again->graph->node(id).type + " ";
  EXPECT_EQ(types, "HardSigmoid Mul Softplus Tanh Mul Sigmoid Mul Cast Swish ");
  EXPECT_EQ(again->graph->value(again->graph->outputs[0]).name, "y");
  EXPECT_EQ(again->graph->value(again->graph->outputs[0]).type.dtype, DType::f16);
  EXPECT_EQ(g.node_count(), 5u) << "the model itself is unchanged";
}

TEST(WriteOrt, WeightsAreUsedInPlace) {
  Model m;
  Graph& g = *m.graph;
  m.opsets = {{"", 17}};
  const ValueType type = ValueType::tensor(DType::f32, {1000});
  g.inputs = {g.add_value("x", type)};
  const ValueId w = g.add_constant("w", Tensor::of<float>({1000}, std::vector<float>(1000, 2)));
  g.value(w).type = type;
  g.outputs = {only_output(g, g.add({.type = "Mul", .inputs = {g.inputs[0], w}, .version = 14}), "y", type)};
  const std::string file = testing::TempDir() + "retort_weights_" + std::to_string(getpid()) + ".ort";
  save_model(m, file, ModelFormat::ort);
  const auto again = load_model(file, ReadOptions{.trusted = true});
  for (size_t i = 0; i < again->graph->value_count(); ++i) {
    const Tensor& t = again->graph->value(ValueId(i)).constant;
    if (!t) continue;
    EXPECT_TRUE(file_range(t).has_value());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 32, 0u);
  }
  unlink(file.c_str());
}

TEST(WriteOrt, RejectsTypesThatTheFormatLacks) {
  auto m = everything();
  m->graph->value(m->graph->inputs[2]).type = ValueType::optional_of(ValueType::tensor(DType::f32));
  EXPECT_NE(refusal(*m, ErrorCode::not_implemented).find("value 'list' optional"), std::string::npos);
  m = everything();
  m->graph->node(NodeId(1)).attributes.set("type", ValueType::tensor(DType::f32));
  EXPECT_NE(refusal(*m, ErrorCode::not_implemented).find("'op' (com.example.Op): ORT format has no attributes of kind"),
            std::string::npos)
      << refusal(*m, ErrorCode::not_implemented);
  m = everything();
  m->graph->value(m->graph->node(NodeId(0)).outputs[0]).type = {};
  EXPECT_NE(refusal(*m, ErrorCode::not_implemented).find("type of value 'sum' is not known"), std::string::npos);
  m = everything();
  // Never read: its size is too large.
  int64_t nothing = 0;
  const Tensor huge(DType::i64, {int64_t(1) << 28}, &nothing, nullptr);
  m->graph->resize_inputs(NodeId(0), 3);
  m->graph->set_input(NodeId(0), 2, m->graph->add_constant("huge", huge));
  EXPECT_NE(refusal(*m, ErrorCode::invalid_argument).find("2 GiB"), std::string::npos);
}

TEST(WriteOrt, AnOutputWithoutReadersNeedsNoType) {
  auto m = everything();
  Graph& g = *m->graph;
  const NodeId op =
      g.add({.type = "Frob", .inputs = {g.inputs[0]}, .domain = "com.example", .name = "frob", .version = 1});
  only_output(g, op, "unread", {});
  const auto again = load(bytes_of(*m));
  for (const NodeId id : again->graph->order()) {
    const Node& n = again->graph->node(id);
    if (n.name != "frob") continue;
    EXPECT_TRUE(n.outputs.empty() || n.outputs[0] == ValueId::none);
  }
}

TEST(WriteOrt, FormatByKeyOrName) {
  EXPECT_EQ(saved_format("", "a.ort"), ModelFormat::ort);
  EXPECT_EQ(saved_format("", "a.ORT"), ModelFormat::ort);
  EXPECT_EQ(saved_format("", "ort"), ModelFormat::onnx);
  EXPECT_EQ(saved_format("ONNX", "a.ort"), ModelFormat::onnx);
  EXPECT_EQ(saved_format("ORT", ""), ModelFormat::ort);
  EXPECT_THROW(saved_format("ort", "a.ort"), Error);
}

TEST(WriteOrt, EndsWhenLoadingIsCancelled) {
  Model weights;
  Graph& g = *weights.graph;
  g.outputs = {g.add_constant("w", Tensor(DType::u8, {1 << 20}))};
  const auto nodes = everything();
  const std::atomic<bool> cancel{true};
  const LoadingThread loading(&cancel);
  EXPECT_THROW(write_ort(*nodes), Error);
  EXPECT_THROW(write_ort(weights), Error);
}

}  // namespace
}  // namespace retort::ort_format
