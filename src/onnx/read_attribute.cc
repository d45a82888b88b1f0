#include <algorithm>
#include <vector>

#include "onnx/read_context.h"

namespace retort::onnx {
namespace {

/// The value field that belongs to a kind; 0: none.
uint32_t value_field(AttributeKind kind) {
  using namespace tag::attribute;
  constexpr uint32_t kFields[] = {
      0, f, i, s, t, g, floats, ints, strings, tensors, graphs, sparse_tensor, sparse_tensors, tp, type_protos};
  return size_t(kind) < std::size(kFields) ? kFields[size_t(kind)] : 0;
}

bool is_value_field(uint32_t field) {
  for (int kind = 1; kind <= int(AttributeKind::type_protos); ++kind) {
    if (value_field(AttributeKind(kind)) == field) return true;
  }
  return false;
}

Attribute empty_value(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::f:
      return 0.0f;
    case AttributeKind::i:
      return int64_t(0);
    case AttributeKind::s:
      return std::string();
    case AttributeKind::floats:
      return std::vector<float>();
    case AttributeKind::ints:
      return std::vector<int64_t>();
    case AttributeKind::strings:
      return std::vector<std::string>();
    case AttributeKind::tensors:
      return std::vector<Tensor>();
    case AttributeKind::tensor:
    case AttributeKind::graph:
    case AttributeKind::sparse_tensor:
    case AttributeKind::type_proto:
      fail(ErrorCode::invalid_graph, "it has no value");
    default:
      fail(ErrorCode::not_implemented, "attributes of kind {} are not supported", int(kind));
  }
}

/// The list in `a`; an empty one with room for `fields` elements if there is none yet.
template <typename T>
std::vector<T>& list_of(ReadAttribute& a, size_t fields) {
  if (auto* items = std::get_if<std::vector<T>>(&a.value)) return *items;
  a.value.emplace<std::vector<T>>().reserve(std::min(fields, size_t(1) << 20));
  return std::get<std::vector<T>>(a.value);
}

/// Reads the value in the current field of `m`; for lists also the values in the next fields, at most `fields` of them.
void read_value(ReadContext& c, Message& m, ReadAttribute& a, size_t fields) {
  switch (m.field()) {
    case tag::attribute::f:
      a.value = m.f32();
      break;
    case tag::attribute::i:
      a.value = m.integer();
      break;
    case tag::attribute::s:
      a.value = std::string(c.text(m));
      break;
    case tag::attribute::t:
      a.value = aligned(read_tensor(c, m.child("TensorProto")));
      break;
    case tag::attribute::g:
      a.graph = m.child("GraphProto");
      break;
    case tag::attribute::tp:
      a.value = read_type(c, m.child("TypeProto"));
      break;
    case tag::attribute::sparse_tensor:
      a.value = read_sparse(c, m.child("SparseTensorProto"));
      break;
    case tag::attribute::floats:
      for (auto& to = list_of<float>(a, fields);;) {
        m.each_fixed<float>([&](float v) { to.push_back(v); });
        if (!m.next_alike()) break;
      }
      break;
    case tag::attribute::ints:
      for (auto& to = list_of<int64_t>(a, fields);;) {
        m.each_varint([&](uint64_t v) { to.push_back(int64_t(v)); });
        if (!m.next_alike()) break;
      }
      break;
    case tag::attribute::strings:
      for (auto& to = list_of<std::string>(a, fields);;) {
        to.emplace_back(c.text(m));
        if (!m.next_alike()) break;
      }
      break;
    case tag::attribute::tensors:
      list_of<Tensor>(a, fields).push_back(aligned(read_tensor(c, m.child("TensorProto"))));
      break;
    default:
      fail(ErrorCode::not_implemented, "attributes of kind {} are not supported", int(a.kind));
  }
}

/// The fields that determine the meaning of the value.
struct Head {
  std::string_view name, reference;
  AttributeKind kind = AttributeKind::undefined;
  size_t fields = 0;  ///< number of fields that may hold values
};

Head read_head(ReadContext& c, Message m) {
  Head h;
  while (m.next()) {
    switch (m.field()) {
      case tag::attribute::name:
        h.name = c.text(m);
        break;
      case tag::attribute::type:
        h.kind = AttributeKind(m.integer());
        break;
      case tag::attribute::ref_attr_name:
        h.reference = c.text(m);
        break;
      default:
        do ++h.fields;
        while (m.next_alike());
    }
  }
  require(!h.name.empty(), ErrorCode::invalid_graph, "an attribute has no name");
  return h;
}

void read_fields(ReadContext& c, Message m, const Head& h, ReadAttribute& a, bool reference) {
  const uint32_t wanted = value_field(a.kind);
  require(wanted != 0, ErrorCode::invalid_graph, "{} is not an attribute type", int(a.kind));
  if (!h.reference.empty()) {
    require(reference, ErrorCode::invalid_graph, "it refers to attribute '{}' of a function, but is not in a function",
            h.reference);
    require(a.kind != AttributeKind::graph, ErrorCode::not_implemented,
            "references to graph attributes are not supported");
    a.value = AttributeRef{std::string(h.reference), int32_t(a.kind)};
    return;
  }
  bool found = false;
  while (m.next()) {
    if (m.field() == wanted) {
      read_value(c, m, a, h.fields);
      found = true;
    } else {
      require(!is_value_field(m.field()), ErrorCode::invalid_graph, "its type is {}, but it has a value in field {}",
              int(a.kind), m.field());
    }
  }
  if (!found) a.value = empty_value(a.kind);
}

}  // namespace

ReadAttribute read_attribute(ReadContext& c, Message m, bool reference) {
  const Head h = read_head(c, m);
  ReadAttribute a{.name = h.name, .kind = h.kind};
  in_context([&] { return cat("attribute '{}'", h.name); }, [&] { read_fields(c, m, h, a, reference); });
  return a;
}

}  // namespace retort::onnx
