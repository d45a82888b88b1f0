#include "base/error.h"
#include "onnx/read_context.h"

namespace retort::onnx {
namespace {

// Negative numbers mean "unknown", as in ONNX Runtime; they must not be taken for handles of symbols.
Dim read_dim(ReadContext& c, Message m) {
  c.count_entry();
  Dim d = -1;
  std::string denotation;
  while (m.next()) {  // a oneof: the last field wins
    if (m.field() == tag::dim::value) d = std::max<int64_t>(m.integer(), -1);
    if (m.field() == tag::dim::param) d = m.bytes().empty() ? -1 : c.model.dims->symbol(std::string(c.text(m)));
    if (m.field() == tag::dim::denotation) denotation = c.text(m);
  }
  if (d == -1) d = c.model.dims->fresh_extent();
  if (!is_known(d) && !denotation.empty()) c.model.denotations.emplace_back(denotation, d);
  return d;
}

Shape read_shape(ReadContext& c, Message m) {
  Shape shape;
  size_t rank = 0;
  for (Message count = m; count.next();) rank += count.field() == tag::shape::dim;
  shape.resize(rank);
  for (size_t i = 0; m.next();) {
    if (m.field() == tag::shape::dim) shape[i++] = read_dim(c, m.child("TensorShapeProto.Dimension"));
  }
  return shape;
}

void read_tensor_type(ReadContext& c, Message m, ValueType& type) {
  while (m.next()) {
    if (m.field() == tag::tensor_type::elem_type) type.dtype = read_dtype(m.integer());
    if (m.field() == tag::tensor_type::shape) {
      type.ranked = true;
      type.shape = read_shape(c, m.child("TensorShapeProto"));
    }
  }
  if (type.dtype == DType::undefined) read_dtype(0);
}

std::shared_ptr<const ValueType> read_element(ReadContext& c, Message m) {
  std::shared_ptr<const ValueType> element;
  while (m.next()) {
    if (m.field() == tag::tensor_type::elem_type) {
      element = std::make_shared<const ValueType>(read_type(c, m.child("TypeProto")));
    }
  }
  require(element != nullptr, ErrorCode::invalid_graph, "a {} has no element type", m.what());
  return element;
}

void read_map_type(ReadContext& c, Message m, ValueType& type) {
  while (m.next()) {
    if (m.field() == tag::map_type::key_type) type.key = read_dtype(m.integer());
    if (m.field() == tag::map_type::value_type) {
      type.element = std::make_shared<const ValueType>(read_type(c, m.child("TypeProto")));
      type.dtype = type.element->dtype;
    }
  }
  require(type.key != DType::undefined && type.element, ErrorCode::invalid_graph, "a map type has no key or no value");
}

}  // namespace

DType read_dtype(int64_t number) {
  require(number != 27 && number != 28, ErrorCode::not_implemented,
          "element type {} (6-bit float) does not exist in the C interface; use a float of 8 bits", number);
  require(number > 0 && number < kDTypeCount, ErrorCode::invalid_graph, "element type {} does not exist", number);
  return DType(number);
}

ValueType read_type(ReadContext& c, Message m) {
  using Kind = ValueType::Kind;
  c.count_entry();
  ValueType type;
  while (m.next()) {
    const uint32_t field = m.field();
    if (field != tag::type::tensor && field != tag::type::sparse && field != tag::type::sequence &&
        field != tag::type::optional && field != tag::type::map && field != tag::type::opaque) {
      continue;
    }
    type = {};  // a oneof: the last field wins
    switch (field) {
      case tag::type::tensor:
      case tag::type::sparse:
        type.kind = field == tag::type::tensor ? Kind::tensor : Kind::sparse;
        read_tensor_type(c, m.child("TypeProto.Tensor"), type);
        break;
      case tag::type::sequence:
      case tag::type::optional:
        type.kind = field == tag::type::sequence ? Kind::sequence : Kind::optional;
        type.element = read_element(c, m.child("TypeProto.Sequence"));
        break;
      case tag::type::map:
        type.kind = Kind::map;
        read_map_type(c, m.child("TypeProto.Map"), type);
        break;
      default:
        type.kind = Kind::opaque;
    }
  }
  return type;
}

}  // namespace retort::onnx
