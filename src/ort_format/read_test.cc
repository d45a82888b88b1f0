#include <filesystem>
#include <fstream>

#include "base/loading.h"
#include "onnx/weight_file.h"
#include "ort_format/flat_testing.h"
#include "ort_format/translate.h"

namespace retort::ort_format {
namespace {

using Kind = ValueType::Kind;

/// y = If(b) { x + c } else { c }, with a weight and metadata.
std::string small_model(Builder& b, const std::string& version = "6") {
  const auto vector = [&](const std::string& name) { return value(b, name, tensor_type(b, 1, {2})); };
  const auto then_graph = GraphSpec{{node(b, "Add", {"x", "c"}, {"t"}, {}, 14)}, {}, {"t"}, {vector("t")}, {}, {}};
  const auto else_graph = GraphSpec{{node(b, "Identity", {"c"}, {"e"}, {}, 16)}, {}, {"e"}, {vector("e")}, {}, {}};
  const auto graph_attribute = [&](const char* name, const GraphSpec& g) {
    const auto body = g.build(b);
    return fbs::CreateAttributeDirect(b, name, 5, 0, 0, nullptr, 0, body);
  };
  const auto branch =
      node(b, "If", {"b"}, {"y"},
           {graph_attribute("then_branch", then_graph), graph_attribute("else_branch", else_graph)}, 16);
  const GraphSpec main{{branch},
                       {"x", "b"},
                       {"y"},
                       {vector("x"), vector("y"), vector("c"), value(b, "b", tensor_type(b, 9, {}))},
                       {floats(b, "c", {1, 2})},
                       {}};
  return finish(b, main.build(b), version);
}

TEST(OrtFormat, header_and_graph) {
  for (const char* version : {"5", "6"}) {
    Builder b;
    const auto m = load(small_model(b, version));
    EXPECT_EQ(m->ir_version, 8);
    EXPECT_EQ(m->opsets.at(""), 17);
    EXPECT_EQ(m->producer_name, "producer");
    EXPECT_EQ(m->producer_version, "1.2");
    EXPECT_EQ(m->domain, "domain");
    EXPECT_EQ(m->model_version, 3);
    EXPECT_EQ(m->doc, "doc");
    EXPECT_EQ(m->graph->doc, "graph doc");
    ASSERT_EQ(m->metadata.size(), 1u);
    EXPECT_EQ(m->metadata[0].second, "value");
    verify(*m->graph);
    ASSERT_EQ(m->graph->inputs.size(), 2u);
    EXPECT_EQ(m->graph->value(m->graph->inputs[1]).type.dtype, DType::boolean);
    EXPECT_EQ(m->graph->value(m->graph->outputs[0]).type.shape, Shape({2}));
  }
}

TEST(OrtFormat, bodies_and_versions_of_nodes) {
  Builder b;
  const auto m = load(small_model(b));
  const Node& branch = m->graph->node(NodeId(0));
  EXPECT_EQ(branch.version, 16);
  ASSERT_EQ(branch.bodies.size(), 2u);
  EXPECT_EQ(branch.bodies[0].attribute, "then_branch");
  EXPECT_EQ(branch.captures, 2u);  // x and c
  EXPECT_EQ(branch.bodies[0].graph->node(NodeId(0)).version, 14);
  EXPECT_EQ(branch.bodies[1].graph->node(NodeId(0)).type, "Identity");
  EXPECT_EQ(branch.bodies[1].graph->node(NodeId(0)).version, 16);
}

TEST(OrtFormat, attributes) {
  Builder b;
  const std::vector<float> fs{1.5f, -2};
  const std::vector<int64_t> is{INT64_MIN, 7};
  const auto texts = strings(b, {"a", "", "c\nd"});
  const std::vector<Offset<fbs::Tensor>> tensors{floats(b, "", {3}), floats(b, "", {})};
  const auto t = floats(b, "", {4, 5});
  const auto name = [&](const char* n) { return b.CreateString(n); };
  const std::vector<Offset<fbs::Attribute>> all{
      fbs::CreateAttributeDirect(b, "f", 1, 2.5f),
      fbs::CreateAttributeDirect(b, "zero", 1),
      fbs::CreateAttributeDirect(b, "i", 2, 0, -9),
      fbs::CreateAttributeDirect(b, "s", 3, 0, 0, "text"),
      fbs::CreateAttributeDirect(b, "t", 4, 0, 0, nullptr, t),
      fbs::CreateAttributeDirect(b, "fs", 6, 0, 0, nullptr, 0, 0, &fs),
      fbs::CreateAttributeDirect(b, "is", 7, 0, 0, nullptr, 0, 0, nullptr, &is),
      fbs::CreateAttribute(b, name("ss"), 8, 0, 0, 0, 0, 0, 0, 0, texts),
      fbs::CreateAttributeDirect(b, "ts", 9, 0, 0, nullptr, 0, 0, nullptr, nullptr, nullptr, &tensors),
      fbs::CreateAttributeDirect(b, "none", 7)};
  const GraphSpec main{{node(b, "Op", {"x", ""}, {"y"}, all)}, {"x"}, {"y"},
                       {value(b, "x", tensor_type(b, 1, {}))}, {},    {}};
  const auto m = load(finish(b, main.build(b)));
  const Node& n = m->graph->node(NodeId(0));
  EXPECT_EQ(n.version, 17);  // the file gives no version
  EXPECT_EQ(n.inputs.size(), 2u);
  EXPECT_EQ(n.inputs[1], ValueId::none);
  const Attributes& a = n.attributes;
  EXPECT_EQ(a.get_or<float>("f", 0), 2.5f);
  EXPECT_EQ(a.get_or<float>("zero", 1), 0.0f);
  EXPECT_EQ(a.get_or<int64_t>("i", 0), -9);
  EXPECT_EQ(a.get_or<std::string>("s", ""), "text");
  EXPECT_EQ(a.get<Tensor>("t")->at<float>(1), 5);
  EXPECT_EQ(*a.get<std::vector<float>>("fs"), fs);
  EXPECT_EQ(*a.get<std::vector<int64_t>>("is"), is);
  EXPECT_EQ(*a.get<std::vector<std::string>>("ss"), (Strings{"a", "", "c\nd"}));
  EXPECT_EQ(a.get<std::vector<Tensor>>("ts")->size(), 2u);
  EXPECT_TRUE(a.get<std::vector<int64_t>>("none")->empty());
}

TEST(OrtFormat, types_and_tensors) {
  Builder b;
  const auto sequence =
      fbs::CreateTypeInfo(b, fbs::AnyType_SequenceType, fbs::CreateSequenceType(b, tensor_type(b, 7, {3})).Union());
  const auto map =
      fbs::CreateTypeInfo(b, fbs::AnyType_MapType, fbs::CreateMapType(b, 8, tensor_type(b, 1, {})).Union());
  const std::vector<Offset<fbs::Dimension>> dims{
      fbs::CreateDimension(b, fbs::CreateDimensionValueDirect(b, 2, 0, "n")), fbs::CreateDimension(b),
      fbs::CreateDimension(b, fbs::CreateDimensionValueDirect(b, 2, 0, "n"))};
  const auto open = fbs::CreateTypeInfo(
      b, fbs::AnyType_TensorType, fbs::CreateTensorType(b, 10, fbs::CreateShape(b, b.CreateVector(dims))).Union());
  const auto unranked = fbs::CreateTypeInfo(b, fbs::AnyType_TensorType, fbs::CreateTensorType(b, 1).Union());
  const std::vector<int64_t> two{2}, four{4}, one{1};
  const std::vector<uint8_t> place{2, 0, 0, 0, 0, 0, 0, 0};
  const auto texts = fbs::CreateTensor(b, b.CreateString("texts"), b.CreateVector(two), 8, 0, strings(b, {"ab", ""}));
  const auto sparse = fbs::CreateSparseTensorDirect(b, floats(b, "sparse", {9}),
                                                    fbs::CreateTensorDirect(b, "", &one, 7, &place), &four);
  const GraphSpec main{{node(b, "Op", {"texts", "sparse"}, {"y"})},
                       {"s", "m", "o", "u"},
                       {"y"},
                       {value(b, "s", sequence), value(b, "m", map), value(b, "o", open), value(b, "u", unranked)},
                       {texts},
                       {sparse}};
  const auto m = load(finish(b, main.build(b)));
  const Graph& g = *m->graph;
  EXPECT_EQ(g.value(g.inputs[0]).type.kind, Kind::sequence);
  EXPECT_EQ(g.value(g.inputs[0]).type.element->dtype, DType::i64);
  EXPECT_EQ(g.value(g.inputs[1]).type.kind, Kind::map);
  EXPECT_EQ(g.value(g.inputs[1]).type.key, DType::string);
  const ValueType& o = g.value(g.inputs[2]).type;
  EXPECT_EQ(o.shape[0], o.shape[2]);
  EXPECT_NE(o.shape[0], o.shape[1]);
  EXPECT_EQ(m->dims->symbol_name(o.shape[0]), "n");
  EXPECT_FALSE(g.value(g.inputs[3]).type.ranked);
  const Node& n = g.node(NodeId(0));
  EXPECT_EQ(g.constant(n.inputs[0])->data<std::string>()[0], "ab");
  const Tensor& dense = *g.constant(n.inputs[1]);
  EXPECT_EQ(dense.shape(), Shape({4}));
  EXPECT_EQ(dense.at<float>(2), 9);
  EXPECT_EQ(dense.at<float>(3), 0);
}

const Tensor& weight(const Model& m) {
  for (size_t i = 0; i < m.graph->value_count(); ++i) {
    if (const Tensor* t = m.graph->constant(ValueId(i))) return *t;
  }
  throw std::logic_error("no weight");
}

TEST(OrtFormat, bytes_are_copied_unless_they_are_lent) {
  Builder b;
  const std::string bytes = small_model(b);
  const auto inside = [&](const Tensor& t) {
    const char* p = t.data<char>();
    return p >= bytes.data() && p < bytes.data() + bytes.size();
  };
  EXPECT_FALSE(inside(weight(*load(bytes))));
  EXPECT_TRUE(inside(weight(*load(bytes, {.borrow = true}))));
  EXPECT_EQ(weight(*load(bytes)).at<float>(1), 2);
  // The bytes may begin at any address: they are copied to where they can be read.
  for (size_t shift = 1; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, ' ') + bytes;
    const auto m = load_model(std::as_bytes(std::span(shifted)).subspan(shift), {.borrow = true});
    EXPECT_EQ(weight(*m).at<float>(1), 2);
  }
}

TEST(OrtFormat, weights_of_a_file_stay_in_it) {
  const std::string path = testing::TempDir() + "/retort_weights_" + std::to_string(getpid()) + ".onnx";
  Builder b;
  std::ofstream(path, std::ios::binary) << small_model(b);
  FileIdentity identity;
  const auto m = load_model(path, {}, ModelFormat::any, &identity);  // the content decides, not the name
  EXPECT_EQ(m->path, path);
  const auto range = file_range(weight(*m));
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->file, identity);
  EXPECT_EQ(range->length, 8u);
  EXPECT_EQ(weight(*load_model(path, {.trusted = false})).at<float>(1), 2);
  EXPECT_THROW(load_model(path, {}, ModelFormat::onnx), Error);
  std::filesystem::remove(path);
}

TEST(OrtFormat, format_by_name_and_by_content) {
  EXPECT_EQ(model_format(""), ModelFormat::any);
  EXPECT_EQ(model_format("ORT"), ModelFormat::ort);
  EXPECT_EQ(model_format("ONNX"), ModelFormat::onnx);
  EXPECT_THROW(model_format("ort"), Error);
  Builder b;
  const std::string bytes = small_model(b);
  EXPECT_EQ(detect_format(std::as_bytes(std::span(bytes))), ModelFormat::ort);
  // An ONNX model whose producer has the identifier as its name.
  const std::string producer("\x08\x08\x12\x04ORTM", 8);
  EXPECT_EQ(detect_format(std::as_bytes(std::span(producer))), ModelFormat::onnx);
  EXPECT_THROW(load_model(std::as_bytes(std::span(producer)), {}, ModelFormat::ort), Error);
  EXPECT_EQ(detect_format(std::as_bytes(std::span(bytes)).first(7)), ModelFormat::onnx);
}

TEST(OrtFormat, errors_say_what_is_wrong) {
  Builder a, b, c, d, e;
  EXPECT_NE(error_of(small_model(a, "7"), ErrorCode::fail).find("version '7'"), std::string::npos);
  const auto outside = fbs::CreateTensor(b, b.CreateString("w"), 0, 1, 0, 0, 64);
  const std::string far = finish(b, GraphSpec{{}, {}, {}, {}, {outside}, {}}.build(b));
  EXPECT_NE(error_of(far, ErrorCode::not_implemented).find("outside of it"), std::string::npos);
  const auto fused = fbs::CreateNodeDirect(c, "part", nullptr, 0, 0, "Fused", 1);
  EXPECT_NE(error_of(finish(c, GraphSpec{{fused}, {}, {}, {}, {}, {}}.build(c)), ErrorCode::not_implemented)
                .find("node 'part'"),
            std::string::npos);
  const std::string unknown = finish(d, GraphSpec{{node(d, "Op", {"z"}, {"y"})}, {}, {"y"}, {}, {}, {}}.build(d));
  EXPECT_NE(error_of(unknown, ErrorCode::invalid_graph).find("input 'z'"), std::string::npos);
  fbs::FinishInferenceSessionBuffer(e, fbs::CreateInferenceSessionDirect(e, "6"));
  const std::string empty(reinterpret_cast<const char*>(e.GetBufferPointer()), e.GetSize());
  EXPECT_NE(error_of(empty, ErrorCode::fail).find("no model"), std::string::npos);
}

TEST(OrtFormat, TranslationEndsWhenLoadingIsCancelled) {
  Builder b;
  alignas(8) char bytes[4096];
  const std::string model = small_model(b);
  ASSERT_LE(model.size(), sizeof bytes);
  std::memcpy(bytes, model.data(), model.size());
  Flat flat({bytes, model.size()});
  const std::atomic<bool> cancel{true};
  const LoadingThread loading(&cancel);
  EXPECT_THROW(translate(flat), Error);
}

}  // namespace
}  // namespace retort::ort_format
