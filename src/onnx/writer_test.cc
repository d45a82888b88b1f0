// Tests that a written model reads back as the same graph with the same bits.
#include "onnx/writer.h"

#include <atomic>
#include <filesystem>

#include "base/loading.h"
#include "onnx/model_testing.h"
#include "onnx/new_file.h"
#include "onnx/weight_file.h"

namespace retort::onnx {
namespace {

Tensor bytes_tensor(DType dtype, int64_t count, int seed = 0) {
  Tensor t(dtype, {count});
  for (size_t i = 0; i < t.bytes(); ++i) {
    t.mutable_data<uint8_t>()[i] = uint8_t(dtype == DType::boolean ? i & 1 : i * 7 + size_t(seed));
  }
  return t;
}

/// x → Add(c) → If with bodies that capture → y, with an attribute of every kind.
/// One attribute of each kind but graphs; `type` has a symbol.
Attributes one_of_each(Dim n) {
  return {{"i", int64_t(-1)},
          {"f", 0.5f},
          {"s", std::string("text\0x", 6)},
          {"is", std::vector<int64_t>{1, INT64_MIN}},
          {"fs", std::vector<float>{1, -2}},
          {"ss", std::vector<std::string>{"", "b"}},
          {"none", std::vector<int64_t>{}},
          {"t", bytes_tensor(DType::i4, 3)},
          {"ts", std::vector<Tensor>{bytes_tensor(DType::f16, 2)}},
          {"type", ValueType::optional_of(ValueType::sequence_of(ValueType::tensor(DType::i64, {n})))},
          {"sparse",
           SparseTensor{
               .dense_shape = {4}, .values = Tensor::of<float>({1}, {2}), .indices = Tensor::of<int64_t>({1}, {3})}}};
}

std::unique_ptr<Model> sample() {
  auto m = std::make_unique<Model>();
  m->ir_version = 9;
  m->opsets = {{"", 17}, {"com.example", 3}};
  m->producer_name = "test";
  m->model_version = 5;
  m->metadata = {{"author", "me"}, {"note", ""}};
  Graph& g = *m->graph;
  g.name = "main";
  const Dim n = g.dims().symbol("n");
  const ValueId x = g.add_value("x", ValueType::tensor(DType::f32, {n, 3}));
  const ValueId c = g.add_constant("c", Tensor::of<float>({3}, {1, 2, 3}));
  const ValueId flag = g.add_constant("flag", Tensor::of<bool>({}, {true}));
  g.inputs = {x};
  const NodeId add = g.add({.type = "Add", .inputs = {x, c}, .name = "add", .version = 17});
  const ValueId sum = g.node(add).outputs[0];
  g.value(sum) = {.name = "sum", .type = ValueType::tensor(DType::f32, {n, 3}), .producer = add};
  const NodeId custom = g.add({.type = "Op",
                               .inputs = {sum, ValueId::none, c},
                               .attributes = one_of_each(n),
                               .domain = "com.example",
                               .name = "op",
                               .outputs = 2,
                               .version = 3});
  Node branch;
  branch.type = "If";
  branch.name = "if";
  branch.version = 17;
  branch.inputs = {flag, sum, c};
  branch.captures = 2;
  for (const char* which : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>(m->dims);
    const ValueId s = body->add_value("sum", g.value(sum).type), own = body->add_value("c", g.value(c).type);
    const ValueId k = body->add_constant("k", Tensor::of<int64_t>({2}, {7, 8}));
    body->inputs = {s, own};
    body->captures = 2;
    const NodeId inner =
        body->add({.type = which[0] == 't' ? "Mul" : "Sub", .inputs = {s, own, k}, .name = which, .version = 17});
    body->outputs = {body->node(inner).outputs[0]};
    branch.bodies.push_back({which, body});
  }
  branch.outputs = {g.add_value("y", ValueType::tensor(DType::f32))};
  g.add_node(branch);
  g.outputs = {branch.outputs[0], g.node(custom).outputs[1]};
  return m;
}

TEST(Writer, RoundTrip) {
  const auto m = sample();
  verify(*m->graph);
  const std::string bytes = write_model(*m);
  const auto back = read(bytes);
  verify(*back->graph);
  EXPECT_EQ(print(*back->graph), print(*m->graph));
  EXPECT_EQ(back->metadata, m->metadata);
  EXPECT_EQ(back->opsets, m->opsets);
  EXPECT_EQ(back->model_version, 5);
  EXPECT_EQ(back->ir_version, 9);
  EXPECT_EQ(write_model(*back), bytes);
  Attributes a = m->graph->node(NodeId(1)).attributes, b = back->graph->node(NodeId(1)).attributes;
  const SparseTensor s = *b.get<SparseTensor>("sparse");
  EXPECT_EQ(s.dense_shape, Shape{4});
  EXPECT_EQ(s.indices.data<int64_t>()[0], 3);
  a.erase("sparse");  // SparseTensors never compare equal
  b.erase("sparse");
  EXPECT_TRUE(a == b);
}

TEST(Writer, ConstantsOfEveryTypeAreBitEqual) {
  Model m;
  m.opsets = {{"", 23}};
  Graph& g = *m.graph;
  for (int t = 1; t < kDTypeCount; ++t) {
    for (int64_t count : {0, 5, 1000}) {
      const DType dtype = DType(t);
      Tensor tensor = dtype == DType::string ? Tensor(dtype, {count}) : bytes_tensor(dtype, count, t);
      if (dtype == DType::string && count) tensor.mutable_data<std::string>()[count - 1] = "last";
      g.outputs.push_back(g.add_constant(cat("{}_{}", dtype_name(dtype), count), tensor));
    }
  }
  const auto back = read(write_model(m));
  ASSERT_EQ(back->graph->outputs.size(), g.outputs.size());
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const GraphValue &was = g.value(g.outputs[i]), &is = back->graph->value(back->graph->outputs[i]);
    EXPECT_EQ(is.name, was.name);
    EXPECT_TRUE(equal(Attribute(is.constant), Attribute(was.constant))) << was.name;
  }
}

TEST(Writer, LargeConstantsLieAligned) {
  for (size_t names = 0; names < 70; ++names) {
    Model m;
    m.opsets = {{"", 17}};
    m.doc = std::string(names, 'd');
    Graph& g = *m.graph;
    for (int i = 0; i < 3; ++i)
      g.outputs.push_back(g.add_constant("c" + std::to_string(i), bytes_tensor(DType::f64, 40 + 3 * i, i)));
    const std::string bytes = write_model(m);
    const auto back = read(bytes, {.borrow = true});
    for (int i = 0; i < 3; ++i) {
      const Tensor& t = constant_named(*back->graph, "c" + std::to_string(i));
      const size_t offset = size_t(bytes.find(std::string_view(g.value(ValueId(i)).constant.data<char>(), t.bytes())));
      EXPECT_EQ(offset % 64, 0u) << names;
    }
  }
}

TEST(Writer, UnusedConstantsAndDeadNodesAreLeftOut) {
  const auto m = sample();
  m->graph->add_constant("unused", bytes_tensor(DType::f32, 1000));
  const NodeId dead = m->graph->add({.type = "Dead", .inputs = {m->graph->inputs[0]}});
  m->graph->remove(dead);
  EXPECT_EQ(write_model(*m), write_model(*sample()));
}

TEST(Writer, NodesThatShareANameGetOneEach) {
  Model m;
  m.opsets = {{"", 17}};
  Graph& g = *m.graph;
  ValueId v = g.add_value("x", ValueType::tensor(DType::f32, {2}));
  g.inputs = {v};
  for (const char* name : {"a", "a", "", "a#1", ""}) {
    v = g.node(g.add({.type = "Neg", .inputs = {v}, .name = name, .version = 17})).outputs[0];
  }
  g.outputs = {v};
  const auto back = read(write_model(m));
  std::vector<std::string> names;
  for (NodeId id : back->graph->order()) names.push_back(back->graph->node(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a#1", "", "a#1#1", ""}));
}

TEST(Writer, NamesAreUniqueInEveryScope) {
  Model m;
  m.opsets = {{"", 17}};
  Graph& g = *m.graph;
  const ValueId x = g.add_value("x", ValueType::tensor(DType::f32, {2})), same = g.add_value("x"),
                nameless = g.add_value("");
  g.inputs = {x};
  auto body = std::make_shared<Graph>(m.dims);
  const ValueId captured = body->add_value("elsewhere"), local = body->add_value("x"), result = body->add_value("x");
  body->inputs = {captured};
  body->captures = 1;
  Node neg, abs, inner, loop;
  neg.type = "Neg";
  neg.inputs = {captured};
  neg.outputs = {local};
  body->add_node(neg);
  abs.type = "Add";
  abs.inputs = {local, captured};
  abs.outputs = {result};
  body->add_node(abs);
  body->outputs = {result};
  inner.type = "Identity";
  inner.inputs = {x};
  inner.outputs = {same};
  g.add_node(inner);
  loop.type = "Once";
  loop.inputs = {same};
  loop.captures = 1;
  loop.outputs = {nameless};
  loop.bodies.push_back({"body", body});
  g.add_node(loop);
  g.outputs = {nameless};
  const auto back = read(write_model(m));
  verify(*back->graph);
  const Graph& b = *back->graph->node(NodeId(1)).bodies[0].graph;
  EXPECT_EQ(back->graph->node(NodeId(1)).inputs[0], back->graph->node(NodeId(0)).outputs[0]);
  EXPECT_EQ(b.node(NodeId(1)).inputs[1], b.inputs[0]);
  EXPECT_EQ(b.node(NodeId(1)).inputs[0], b.node(NodeId(0)).outputs[0]);
  EXPECT_EQ(back->graph->value(back->graph->inputs[0]).name, "x");
}

TEST(Writer, DefaultsStayInputs) {
  Model m;
  m.opsets = {{"", 17}};
  const ValueId x = m.graph->add_value("x", ValueType::tensor(DType::f32, {2}));
  m.graph->inputs = m.graph->outputs = {x};
  m.graph->defaults[x] = Tensor::of<float>({2}, {3, 4});
  const auto back = read(write_model(m));
  ASSERT_EQ(back->graph->inputs.size(), 1u);
  EXPECT_EQ(back->graph->defaults.at(back->graph->inputs[0]).data<float>()[1], 4.0f);
}

TEST(Writer, FunctionsRoundTrip) {
  Model m;
  m.ir_version = 8;
  m.opsets = {{"", 17}, {"f", 1}};
  Function f{.domain = "f",
             .name = "F",
             .overload = "o",
             .attributes = {"alpha"},
             .defaults = {{"beta", 2.0f}},
             .opsets = {{"", 16}}};
  f.body = std::make_shared<Graph>(m.dims);
  const ValueId a = f.body->add_value("a");
  f.body->inputs = {a};
  const NodeId n = f.body->add({.type = "Elu",
                                .inputs = {a},
                                .attributes = {{"alpha", AttributeRef{"alpha", 1}}},
                                .name = "elu",
                                .version = 16});
  f.body->outputs = {f.body->node(n).outputs[0]};
  m.functions.push_back(f);
  const auto back = read(write_model(m));
  EXPECT_EQ(back->ir_version, 10);  // the first version that has overloads
  ASSERT_EQ(back->functions.size(), 1u);
  const Function& b = back->functions[0];
  EXPECT_EQ(std::tuple(b.domain, b.name, b.overload, b.attributes),
            std::tuple(f.domain, f.name, f.overload, f.attributes));
  EXPECT_TRUE(b.defaults == f.defaults);
  EXPECT_EQ(b.opsets, f.opsets);
  EXPECT_EQ(print(*b.body), print(*f.body));
  EXPECT_EQ(*b.body->node(NodeId(0)).attributes.get<AttributeRef>("alpha"), (AttributeRef{"alpha", 1}));
}

TEST(Writer, VersionsMustAgree) {
  const auto m = sample();
  m->graph->node(NodeId(0)).version = 13;
  expect_error(ErrorCode::not_implemented, "node 'add' (Add) is of version 13", [&] { write_model(*m); });
  EXPECT_EQ(read(write_model(*sample(), WriteOptions{.opsets = {{"", 17}}}))->opsets,
            (std::map<std::string, int>{{"", 17}, {"com.example", 3}}));
}

TEST(Writer, ExternalDataBesideTheModel) {
  const Folder folder;
  Model m;
  m.opsets = {{"", 17}};
  Graph& g = *m.graph;
  for (int i = 0; i < 3; ++i)
    g.outputs.push_back(g.add_constant("c" + std::to_string(i), bytes_tensor(DType::f32, i ? 5000 : 10, i)));
  write_model(m, folder / "m.onnx", {.external_file = "m.data"});
  EXPECT_LT(folder.read("m.onnx").size(), 1000u);
  EXPECT_EQ(folder.read("m.data").size(), 20480u + 20000u);
  const auto back = read_model(folder / "m.onnx");
  for (int i = 0; i < 3; ++i) {
    const Tensor& t = constant_named(*back->graph, "c" + std::to_string(i));
    EXPECT_TRUE(equal(Attribute(t), Attribute(g.value(ValueId(i)).constant)));
  }
  EXPECT_EQ(file_range(constant_named(*back->graph, "c2"))->offset, 20480u);
  const auto bad = ErrorCode::invalid_argument;
  expect_error(bad, "beside the model", [&] { write_model(m, folder / "m.onnx", {.external_file = "../m.data"}); });
  expect_error(bad, "needs a file", [&] { write_model(m, WriteOptions{.external_file = "m.data"}); });
}

// A mapped model can be overwritten: the old file exists as long as it is mapped.
TEST(Writer, ReplacesFilesThatAreInUse) {
  const Folder folder;
  const auto m = sample();
  m->graph->outputs.push_back(m->graph->add_constant("big", bytes_tensor(DType::f32, 5000, 1)));
  write_model(*m, folder / "m.onnx");
  const auto mapped = read_model(folder / "m.onnx");
  write_model(*mapped, folder / "m.onnx");
  write_model(*sample(), folder / "m.onnx");
  EXPECT_TRUE(equal(Attribute(constant_named(*mapped->graph, "big")), Attribute(bytes_tensor(DType::f32, 5000, 1))));
  EXPECT_EQ(folder.read("m.onnx"), write_model(*sample()));
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder / "")) ++files;
  EXPECT_EQ(files, 1u);
  expect_error(ErrorCode::fail, "cannot write", [&] { write_model(*m, folder / "nowhere/m.onnx"); });
}

// A model of many nodes and no weights, and one that is written in one piece, have no other place that asks.
TEST(Writer, EndsWhenLoadingIsCancelled) {
  const auto m = sample();
  const Folder folder;
  const std::atomic<bool> cancel{true};
  const LoadingThread loading(&cancel);
  expect_error(ErrorCode::model_load_canceled, "", [&] { form_model(*m, {}); });
  {
    NewFile file(folder / "part.onnx");
    expect_error(ErrorCode::model_load_canceled, "", [&] { file.write_at(0, "bytes"); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

}  // namespace
}  // namespace retort::onnx
