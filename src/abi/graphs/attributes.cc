#include "abi/graphs/attributes.h"

#include <cstring>

#include "abi/slots.h"
#include "abi/values/value.h"

namespace retort::abi {
namespace {

template <typename T>
std::vector<T> array_of(const void* data, int length) {
  require(length >= 0, ErrorCode::invalid_argument, "negative length {}", length);
  if (length == 0) return {};
  const T* first = &need(static_cast<const T*>(data), "data");
  return {first, first + length};
}

Attribute make(const void* data, int length, OrtOpAttrType type) {
  switch (type) {
    case ORT_OP_ATTR_INT:
      return need(static_cast<const int64_t*>(data), "data");
    case ORT_OP_ATTR_INTS:
      return array_of<int64_t>(data, length);
    case ORT_OP_ATTR_FLOAT:
      return need(static_cast<const float*>(data), "data");
    case ORT_OP_ATTR_FLOATS:
      return array_of<float>(data, length);
    case ORT_OP_ATTR_STRING: {
      const std::vector<char> bytes = array_of<char>(data, length);
      return std::string(bytes.begin(), bytes.end());
    }
    case ORT_OP_ATTR_STRINGS: {
      std::vector<std::string> texts;
      for (const char* text : array_of<const char*>(data, length)) texts.emplace_back(need_text(text, "data"));
      return texts;
    }
    default:
      fail(ErrorCode::fail, "attributes of kind {} cannot be made", int(type));
  }
}

/// Copies what fits; `out` says how much there is either way.
void copy_bytes(const void* from, size_t size, void* data, size_t room, size_t* out) {
  need(out, "out") = size;
  require(room >= size, ErrorCode::invalid_argument, "the buffer has {} bytes; {} are needed", room, size);
  if (size) std::memcpy(&need(static_cast<char*>(data), "data"), from, size);
}

/// A scalar must be of the kind asked for.
template <typename T>
void read_scalar(const OrtOpAttr& attribute, void* data, size_t room, size_t* out) {
  need(out, "out") = sizeof(T);
  const T* value = std::get_if<T>(&attribute.value);
  require(value, ErrorCode::invalid_argument, "attribute '{}' is of kind {}", attribute.name,
          attribute_kind(attribute.value));
  copy_bytes(value, sizeof(T), data, room, out);
}

/// An array or a text of another kind reads as empty.
template <typename T>
void read_array(const OrtOpAttr& attribute, void* data, size_t room, size_t* out) {
  const T* value = std::get_if<T>(&attribute.value);
  copy_bytes(value ? value->data() : nullptr, value ? value->size() * sizeof(*value->data()) : 0, data, room, out);
}

/// Each text with its terminator.
void read_texts(const OrtOpAttr& attribute, void* data, size_t room, size_t* out) {
  std::string all;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
    for (const std::string& text : *texts) all.append(text.c_str(), text.size() + 1);
  }
  copy_bytes(all.data(), all.size(), data, room, out);
}

}  // namespace

OrtOpAttrType attribute_type(const OrtOpAttr& attribute) {
  if (attribute.is_graph) return ORT_OP_ATTR_GRAPH;
  const Attribute& value = attribute.value;
  // In the order of the variant's first seven alternatives.
  constexpr OrtOpAttrType kTypes[] = {ORT_OP_ATTR_INT,    ORT_OP_ATTR_FLOAT,   ORT_OP_ATTR_STRING, ORT_OP_ATTR_INTS,
                                      ORT_OP_ATTR_FLOATS, ORT_OP_ATTR_STRINGS, ORT_OP_ATTR_TENSOR};
  return value.index() < std::size(kTypes) ? kTypes[value.index()] : ORT_OP_ATTR_UNDEFINED;
}

OrtStatusPtr ORT_API_CALL CreateOpAttr(const char* name, const void* data, int len, OrtOpAttrType type,
                                       OrtOpAttr** op_attr) noexcept {
  return guard([&] {
    auto made = std::make_unique<OrtOpAttr>();
    made->name = need_text(name, "name");
    made->value = make(data, len, type);
    give(op_attr, "op_attr", std::move(made));
  });
}

void ORT_API_CALL ReleaseOpAttr(OrtOpAttr* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL ReadOpAttr(const OrtOpAttr* op_attr, OrtOpAttrType type, void* data, size_t len,
                                     size_t* out) noexcept {
  return guard([&] {
    const OrtOpAttr& attribute = handle(op_attr, "op_attr");
    switch (type) {
      case ORT_OP_ATTR_INT:
        return read_scalar<int64_t>(attribute, data, len, out);
      case ORT_OP_ATTR_FLOAT:
        return read_scalar<float>(attribute, data, len, out);
      case ORT_OP_ATTR_INTS:
        return read_array<std::vector<int64_t>>(attribute, data, len, out);
      case ORT_OP_ATTR_FLOATS:
        return read_array<std::vector<float>>(attribute, data, len, out);
      case ORT_OP_ATTR_STRING:
        return read_array<std::string>(attribute, data, len, out);
      case ORT_OP_ATTR_STRINGS:
        return read_texts(attribute, data, len, out);
      default:
        break;
    }
    need(out, "out") = 0;
    fail(ErrorCode::invalid_argument, "attributes of kind {} are not read in this way", int(type));
  });
}

OrtStatusPtr ORT_API_CALL OpAttr_GetType(const OrtOpAttr* attribute, OrtOpAttrType* type) noexcept {
  return guard([&] { need(type, "type") = attribute_type(handle(attribute, "attribute")); });
}

OrtStatusPtr ORT_API_CALL OpAttr_GetName(const OrtOpAttr* attribute, const char** name) noexcept {
  return guard([&] { need(name, "name") = handle(attribute, "attribute").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr* attribute,
                                                              OrtValue** attr_tensor) noexcept {
  return guard([&] {
    const OrtOpAttr& a = handle(attribute, "attribute");
    const Tensor* tensor = std::get_if<Tensor>(&a.value);
    require(tensor, ErrorCode::invalid_argument, "attribute '{}' is of kind {}", a.name, attribute_kind(a.value));
    give(attr_tensor, "attr_tensor", std::make_unique<OrtValue>(*tensor));
  });
}

}  // namespace retort::abi
