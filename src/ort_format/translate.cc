#include "ort_format/translate.h"

#include "onnx/name_hash.h"
#include "onnx/schema.h"
#include "tensor/dtype.h"

namespace retort::ort_format {
namespace {

using onnx::AttributeKind;
using onnx::MessageWriter;
namespace tag = onnx::tag;

enum class DimensionKind : int8_t { unknown = 0, value = 1, param = 2 };
constexpr int kPrimitive = 0;  ///< Node.type: an operator, not a part of the graph that a provider has compiled

class Translator {
 public:
  explicit Translator(Flat& flat) : flat_(flat) {}
  MessageWriter model(const fbs::Model& m);

 private:
  std::string_view text(const flatbuffers::String* s) { return flat_.text(s); }
  MessageWriter entry(std::string_view key, std::string_view value) const;
  MessageWriter graph(const fbs::Graph& g);
  MessageWriter node(const fbs::Node& n);
  MessageWriter attribute(const fbs::Attribute& a);
  void value(const fbs::Attribute& a, MessageWriter& to);
  MessageWriter tensor(const fbs::Tensor& t);
  void data(const fbs::Tensor& t, MessageWriter& to);
  MessageWriter sparse(const fbs::SparseTensor& s);
  MessageWriter value_info(std::string_view name, const fbs::TypeInfo* type);
  MessageWriter type(const fbs::TypeInfo& t);
  MessageWriter tensor_type(const fbs::TensorType& t);
  MessageWriter shape(const fbs::Shape& s);

  Flat& flat_;
};

MessageWriter Translator::entry(std::string_view key, std::string_view value) const {
  MessageWriter m;
  m.bytes(tag::entry::key, key);
  m.bytes(tag::entry::value, value);
  return m;
}

MessageWriter Translator::shape(const fbs::Shape& s) {
  MessageWriter m;
  each_table(s.dims(), [&](const fbs::Dimension& d) {
    MessageWriter dim;
    const fbs::DimensionValue* v = d.value();
    if (v && v->kind() == int8_t(DimensionKind::value)) dim.integer(tag::dim::value, v->value());
    if (v && v->kind() == int8_t(DimensionKind::param)) dim.text(tag::dim::param, text(v->param()));
    m.message(tag::shape::dim, dim);
  });
  return m;
}

MessageWriter Translator::tensor_type(const fbs::TensorType& t) {
  MessageWriter m;
  m.integer(tag::tensor_type::elem_type, t.element());
  if (t.shape()) m.message(tag::tensor_type::shape, shape(*t.shape()));
  return m;
}

MessageWriter Translator::type(const fbs::TypeInfo& t) {
  MessageWriter m, inner;
  if (const fbs::TensorType* tensor = t.value_as_TensorType()) {
    m.message(tag::type::tensor, tensor_type(*tensor));
  } else if (const fbs::SequenceType* sequence = t.value_as_SequenceType()) {
    if (sequence->element()) inner.message(tag::tensor_type::elem_type, type(*sequence->element()));
    m.message(tag::type::sequence, inner);
  } else if (const fbs::MapType* map = t.value_as_MapType()) {
    inner.integer(tag::map_type::key_type, map->key());
    if (map->value()) inner.message(tag::map_type::value_type, type(*map->value()));
    m.message(tag::type::map, inner);
  }
  return m;
}

MessageWriter Translator::value_info(std::string_view name, const fbs::TypeInfo* of) {
  MessageWriter m;
  m.bytes(tag::value_info::name, name);
  if (of) m.message(tag::value_info::type, type(*of));
  return m;
}

// Data is not copied: it becomes external data of the ONNX model.
void Translator::data(const fbs::Tensor& t, MessageWriter& to) {
  require(t.external_data_offset() < 0, ErrorCode::not_implemented,
          "data of a model in ORT format that lies outside of it is not supported");
  const auto* raw = t.raw_data();
  if (!raw || raw->size() == 0) return to.bytes(tag::tensor::raw_data, "");
  to.integer(tag::tensor::data_location, 1);
  to.message(tag::tensor::external_data, entry("location", kData));
  to.message(tag::tensor::external_data, entry("offset", cat("{}", flat_.position(*raw))));
  to.message(tag::tensor::external_data, entry("length", cat("{}", raw->size())));
}

MessageWriter Translator::tensor(const fbs::Tensor& t) {
  MessageWriter m;
  const std::string_view name = text(t.name());
  m.text(tag::tensor::name, name);
  m.integer(tag::tensor::data_type, t.data_type());
  flat_.each(t.dims(), [&](int64_t d) { m.integer(tag::tensor::dims, d); });
  if (t.data_type() == int(DType::string)) {
    flat_.each_text(t.string_data(), [&](std::string_view s) { m.bytes(tag::tensor::string_data, s); });
  } else {
    data(t, m);
  }
  return m;
}

MessageWriter Translator::sparse(const fbs::SparseTensor& s) {
  MessageWriter m;
  if (s.values()) m.message(tag::sparse::values, tensor(*s.values()));
  if (s.indices()) m.message(tag::sparse::indices, tensor(*s.indices()));
  flat_.each(s.dims(), [&](int64_t d) { m.integer(tag::sparse::dims, d); });
  return m;
}

void Translator::value(const fbs::Attribute& a, MessageWriter& to) {
  switch (AttributeKind(a.type())) {
    case AttributeKind::f:
      return to.f32(tag::attribute::f, a.f());
    case AttributeKind::i:
      return to.integer(tag::attribute::i, a.i());
    case AttributeKind::s:
      return to.bytes(tag::attribute::s, text(a.s()));
    case AttributeKind::tensor:
      if (a.t()) to.message(tag::attribute::t, tensor(*a.t()));
      return;
    case AttributeKind::graph:
      if (a.g()) to.message(tag::attribute::g, graph(*a.g()));
      return;
    case AttributeKind::floats:
      return flat_.each(a.floats(), [&](float x) { to.f32(tag::attribute::floats, x); });
    case AttributeKind::ints:
      return flat_.each(a.ints(), [&](int64_t x) { to.integer(tag::attribute::ints, x); });
    case AttributeKind::strings:
      return flat_.each_text(a.strings(), [&](std::string_view x) { to.bytes(tag::attribute::strings, x); });
    case AttributeKind::tensors:
      return each_table(a.tensors(), [&](const fbs::Tensor& t) { to.message(tag::attribute::tensors, tensor(t)); });
    case AttributeKind::graphs:
      return each_table(a.graphs(), [&](const fbs::Graph& g) { to.message(tag::attribute::graphs, graph(g)); });
    default:
      return;  // a kind without a field in either format: the reader reports the error
  }
}

MessageWriter Translator::attribute(const fbs::Attribute& a) {
  MessageWriter m;
  m.text(tag::attribute::name, text(a.name()));
  m.integer(tag::attribute::type, a.type());
  value(a, m);
  return m;
}

MessageWriter Translator::node(const fbs::Node& n) {
  MessageWriter m;
  require(n.type() == kPrimitive, ErrorCode::not_implemented, "node '{}' is a part that another engine has compiled",
          n.name() ? n.name()->c_str() : "");
  flat_.each_text(n.inputs(), [&](std::string_view name) { m.bytes(tag::node::input, name); });
  flat_.each_text(n.outputs(), [&](std::string_view name) { m.bytes(tag::node::output, name); });
  m.text(tag::node::name, text(n.name()));
  m.text(tag::node::op_type, text(n.op_type()));
  m.text(tag::node::domain, text(n.domain()));
  each_table(n.attributes(), [&](const fbs::Attribute& a) { m.message(tag::node::attribute, attribute(a)); });
  return m;
}

MessageWriter Translator::graph(const fbs::Graph& g) {
  MessageWriter m;
  each_table(g.nodes(), [&](const fbs::Node& n) { m.message(tag::graph::node, node(n)); });
  each_table(g.initializers(), [&](const fbs::Tensor& t) { m.message(tag::graph::initializer, tensor(t)); });
  each_table(g.sparse_initializers(),
             [&](const fbs::SparseTensor& s) { m.message(tag::graph::sparse_initializer, sparse(s)); });
  onnx::NameMap<const fbs::TypeInfo*> types;
  each_table(g.values(), [&](const fbs::ValueInfo& v) { types[text(v.name())] = v.type(); });
  const auto port = [&](uint32_t field) {
    return [&, field](std::string_view name) {
      const auto found = types.find(name);
      m.message(field, value_info(name, found == types.end() ? nullptr : found->second));
    };
  };
  flat_.each_text(g.inputs(), port(tag::graph::input));
  flat_.each_text(g.outputs(), port(tag::graph::output));
  each_table(g.values(), [&](const fbs::ValueInfo& v) {
    if (v.type()) m.message(tag::graph::value_info, value_info(text(v.name()), v.type()));
  });
  return m;
}

MessageWriter Translator::model(const fbs::Model& model) {
  MessageWriter m, main = graph(*model.graph());
  main.text(tag::graph::doc, text(model.graph_doc()));
  m.integer(tag::model::ir_version, model.ir_version());
  m.text(tag::model::producer_name, text(model.producer_name()));
  m.text(tag::model::producer_version, text(model.producer_version()));
  m.text(tag::model::domain, text(model.domain()));
  m.integer(tag::model::model_version, model.model_version());
  m.text(tag::model::doc, text(model.doc()));
  m.message(tag::model::graph, main);
  each_table(model.opsets(), [&](const fbs::OperatorSet& o) {
    MessageWriter opset;
    opset.text(tag::opset::domain, text(o.domain()));
    opset.integer(tag::opset::version, o.version());
    m.message(tag::model::opset_import, opset);
  });
  each_table(model.metadata(),
             [&](const fbs::Entry& e) { m.message(tag::model::metadata, entry(text(e.key()), text(e.value()))); });
  return m;
}

}  // namespace

MessageWriter translate(Flat& flat) { return Translator(flat).model(flat.model()); }

}  // namespace retort::ort_format
