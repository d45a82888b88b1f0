#include "base/error.h"
#include "onnx/write_context.h"

namespace retort::onnx {
namespace {

MessageWriter write_shape(const DimTable& dims, const Shape& shape) {
  MessageWriter m;
  for (Dim d : shape) {
    MessageWriter dim;
    if (is_known(d)) {
      dim.integer(tag::dim::value, d);
    } else if (const std::string text = dims.text(d); !text.starts_with('?')) {
      dim.text(tag::dim::param, text);
    }
    m.message(tag::shape::dim, dim);
  }
  return m;
}

MessageWriter write_tensor_type(const DimTable& dims, const ValueType& type) {
  MessageWriter m;
  m.integer(tag::tensor_type::elem_type, int64_t(type.dtype));
  if (type.ranked) m.message(tag::tensor_type::shape, write_shape(dims, type.shape));
  return m;
}

MessageWriter write_sparse(const SparseTensor& s) {
  require(s.format == SparseTensor::Format::coo, ErrorCode::not_implemented,
          "ONNX has no sparse format other than COO");
  MessageWriter m;
  m.message(tag::sparse::values, write_tensor(s.values, ""));
  m.message(tag::sparse::indices, write_tensor(s.indices, ""));
  for (int64_t d : s.dense_shape) m.integer(tag::sparse::dims, d);
  return m;
}

/// Writes the value and returns its kind.
struct ValueWriter {
  MessageWriter& m;
  const DimTable& dims;

  AttributeKind operator()(int64_t v) {
    m.integer(tag::attribute::i, v);
    return AttributeKind::i;
  }
  AttributeKind operator()(float v) {
    m.f32(tag::attribute::f, v);
    return AttributeKind::f;
  }
  AttributeKind operator()(const std::string& v) {
    m.bytes(tag::attribute::s, v);
    return AttributeKind::s;
  }
  AttributeKind operator()(const std::vector<int64_t>& v) {
    for (int64_t x : v) m.integer(tag::attribute::ints, x);
    return AttributeKind::ints;
  }
  AttributeKind operator()(const std::vector<float>& v) {
    for (float x : v) m.f32(tag::attribute::floats, x);
    return AttributeKind::floats;
  }
  AttributeKind operator()(const std::vector<std::string>& v) {
    for (const std::string& x : v) m.bytes(tag::attribute::strings, x);
    return AttributeKind::strings;
  }
  AttributeKind operator()(const Tensor& v) {
    m.message(tag::attribute::t, write_tensor(v, ""));
    return AttributeKind::tensor;
  }
  AttributeKind operator()(const std::vector<Tensor>& v) {
    for (const Tensor& x : v) m.message(tag::attribute::tensors, write_tensor(x, ""));
    return AttributeKind::tensors;
  }
  AttributeKind operator()(const SparseTensor& v) {
    m.message(tag::attribute::sparse_tensor, write_sparse(v));
    return AttributeKind::sparse_tensor;
  }
  AttributeKind operator()(const ValueType& v) {
    m.message(tag::attribute::tp, write_type(dims, v));
    return AttributeKind::type_proto;
  }
  AttributeKind operator()(const AttributeRef& v) {
    require(v.kind != 0, ErrorCode::invalid_argument, "the reference to attribute '{}' has no kind", v.name);
    m.bytes(tag::attribute::ref_attr_name, v.name);
    return AttributeKind(v.kind);
  }
};

}  // namespace

MessageWriter write_type(const DimTable& dims, const ValueType& type) {
  using Kind = ValueType::Kind;
  MessageWriter m, inner;
  switch (type.kind) {
    case Kind::tensor:
    case Kind::sparse:
      m.message(type.kind == Kind::tensor ? tag::type::tensor : tag::type::sparse, write_tensor_type(dims, type));
      break;
    case Kind::sequence:
    case Kind::optional:
      if (type.element) inner.message(tag::tensor_type::elem_type, write_type(dims, *type.element));
      m.message(type.kind == Kind::sequence ? tag::type::sequence : tag::type::optional, inner);
      break;
    case Kind::map:
      inner.integer(tag::map_type::key_type, int64_t(type.key));
      if (type.element) inner.message(tag::map_type::value_type, write_type(dims, *type.element));
      m.message(tag::type::map, inner);
      break;
    case Kind::opaque:
      m.message(tag::type::opaque, inner);
      break;
    case Kind::unknown:
      break;
  }
  return m;
}

MessageWriter write_attribute(const DimTable& dims, const std::string& name, const Attribute& value) {
  MessageWriter m;
  m.bytes(tag::attribute::name, name);
  const AttributeKind kind = std::visit(ValueWriter{m, dims}, value);
  m.integer(tag::attribute::type, int64_t(kind));
  return m;
}

}  // namespace retort::onnx
