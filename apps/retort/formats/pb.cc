// ONNX TensorProto files, and SequenceProto, MapProto and OptionalProto for other values.
#include <algorithm>
#include <array>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "formats/formats.h"

namespace retort::cli {
namespace {

/// The types whose numbers in ONNXTensorElementDataType and TensorProto.DataType differ.
struct TypeNumbers {
  ONNXTensorElementDataType type;
  int32_t in_file;
};
constexpr TypeNumbers kOtherNumbers[] = {{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, 24},
                                         {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, 25},
                                         {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, 26}};

ONNXTensorElementDataType type_of(int32_t in_file) {
  for (const TypeNumbers& n : kOtherNumbers) {
    if (n.in_file == in_file) return n.type;
  }
  return ONNXTensorElementDataType(in_file);
}

template <typename Values>
void append(HostTensor& t, const Values& values) {
  for (const auto v : values) {
    const auto* b = reinterpret_cast<const std::byte*>(&v);
    // The low bytes of a wider number, as it is little-endian. Several elements of less than 8 bits are in one byte.
    t.bytes.insert(t.bytes.end(), b, b + std::max<size_t>(1, type_bytes(t.type)));
  }
}

void append_raw(HostTensor& t, protozero::data_view view) {
  const auto* b = reinterpret_cast<const std::byte*>(view.data());
  t.bytes.insert(t.bytes.end(), b, b + view.size());
}

}  // namespace

int32_t pb_type_number(ONNXTensorElementDataType type) {
  for (const TypeNumbers& n : kOtherNumbers) {
    if (n.type == type) return n.in_file;
  }
  return int32_t(type);
}

namespace {

// Reads type and shape of an onnx.TensorProto before its elements, since fields may come in any order.
HostTensor parse_pb_type(const std::string& bytes) {
  constexpr int kDataLocation = 14, kExternal = 1;
  HostTensor t;
  bool external = false;
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.tag() == 2)
      t.type = type_of(p.get_int32());
    else if (p.tag() == 1 && p.wire_type() == protozero::pbf_wire_type::varint)
      t.shape.push_back(p.get_int64());
    else if (p.tag() == 1)
      for (int64_t d : p.get_packed_int64()) t.shape.push_back(d);
    else if (p.tag() == kDataLocation && p.wire_type() == protozero::pbf_wire_type::varint)
      external = p.get_enum() == kExternal;
    else
      p.skip();
  }
  if (external) throw Failure("its elements are in another file (external data); save them in the TensorProto");
  if (type_bits(t.type) == 0 && t.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    throw Failure("elements of the type with number " + std::to_string(pb_type_number(t.type)) + " are not supported");
  return t;
}

// Reads the fields that data sets use; elements are packed, as every writer does it.
HostTensor parse_tensor(const std::string& bytes) {
  HostTensor t = parse_pb_type(bytes);
  for (protozero::pbf_reader p(bytes); p.next();) {
    const auto field = p.wire_type() == protozero::pbf_wire_type::length_delimited ? p.tag() : 0;
    if (field == 9)
      append_raw(t, p.get_view());
    else if (field == 4)
      append(t, p.get_packed_float());
    else if (field == 10)
      append(t, p.get_packed_double());
    else if (field == 5)
      append(t, p.get_packed_int32());
    else if (field == 7)
      append(t, p.get_packed_int64());
    else if (field == 11)
      append(t, p.get_packed_uint64());
    else if (field == 6)
      t.strings.push_back(p.get_string());
    else
      p.skip();
  }
  const bool text = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  if (text ? t.strings.size() != t.count() : t.bytes.size() != t.size())
    throw Failure("the data of the TensorProto does not fit its shape");
  return t;
}

/// In a SequenceProto, the field number is 3 for tensors, 5 for sequences, 6 for maps.
HostValue parse_sequence(const std::string& bytes) {
  HostValue all{.kind = HostValue::Kind::sequence};
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.tag() == 3)
      all.items.push_back(parse_pb(p.get_bytes(), ONNX_TYPE_TENSOR));
    else if (p.tag() == 5)
      all.items.push_back(parse_pb(p.get_bytes(), ONNX_TYPE_SEQUENCE));
    else if (p.tag() == 6)
      all.items.push_back(parse_pb(p.get_bytes(), ONNX_TYPE_MAP));
    else if (p.tag() == 4 || p.tag() == 7)
      throw Failure("a sequence has sparse or optional items, which are not supported");
    else
      p.skip();
  }
  return all;
}

/// Reads the keys as a vector, and the values, a SequenceProto of single elements of one type, as another.
HostValue parse_map(const std::string& bytes) {
  HostTensor keys{.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, .shape = {}}, values;
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.tag() == 2 && p.wire_type() == protozero::pbf_wire_type::varint)
      keys.type = type_of(p.get_int32());
    else if (p.tag() == 3 && p.wire_type() == protozero::pbf_wire_type::varint)
      append(keys, std::array{p.get_int64()});
    else if (p.tag() == 3)
      append(keys, p.get_packed_int64());
    else if (p.tag() == 4)
      keys.strings.push_back(p.get_string());
    else if (p.tag() == 5)
      for (const HostValue& v : parse_sequence(p.get_bytes()).items) {
        if (v.kind != HostValue::Kind::tensor || (values.type && values.type != v.tensor.type) || v.tensor.count() != 1)
          throw Failure("the values of a map must be single elements of one type");
        values.type = v.tensor.type;
        values.bytes.insert(values.bytes.end(), v.tensor.bytes.begin(), v.tensor.bytes.end());
        values.strings.insert(values.strings.end(), v.tensor.strings.begin(), v.tensor.strings.end());
      }
    else
      p.skip();
  }
  const auto length = [](const HostTensor& t) {
    return t.strings.empty() ? t.bytes.size() / std::max<size_t>(1, type_bytes(t.type)) : t.strings.size();
  };
  keys.shape = values.shape = {int64_t(length(keys))};
  if (keys.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 && keys.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    throw Failure(std::string("keys of type ") + type_name(keys.type) + " are not supported");
  if (length(values) != length(keys)) throw Failure("a map must have as many values as keys");
  return {.kind = HostValue::Kind::map,
          .items = {{.kind = HostValue::Kind::tensor, .tensor = std::move(keys)},
                    {.kind = HostValue::Kind::tensor, .tensor = std::move(values)}}};
}

}  // namespace

HostValue parse_pb(const std::string& bytes, ONNXType kind) {
  if (kind == ONNX_TYPE_SEQUENCE) return parse_sequence(bytes);
  if (kind == ONNX_TYPE_MAP) return parse_map(bytes);
  return {.kind = HostValue::Kind::tensor, .tensor = parse_tensor(bytes)};
}

namespace {

void write_tensor(protozero::pbf_writer& p, const HostTensor& tensor, const std::string& name) {
  p.add_packed_int64(1, tensor.shape.begin(), tensor.shape.end());
  p.add_int32(2, pb_type_number(tensor.type));
  for (const std::string& s : tensor.strings) p.add_bytes(6, s);
  p.add_string(8, name);
  if (tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    p.add_bytes(9, reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
}

/// The kind's number in SequenceProto.DataType and OptionalProto.DataType.
int32_t kind_number(HostValue::Kind kind) {
  switch (kind) {
    case HostValue::Kind::tensor:
      return 1;
    case HostValue::Kind::sequence:
      return 3;
    case HostValue::Kind::map:
      return 4;
    default:
      return 5;
  }
}

/// Element i of a vector, as a scalar tensor.
HostTensor sequence_element(const HostTensor& t, size_t i) {
  HostTensor one{.type = t.type, .shape = {}};
  const auto at = t.bytes.begin() + ptrdiff_t(i * type_bytes(t.type));
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    one.strings = {t.strings.at(i)};
  else
    one.bytes.assign(at, at + ptrdiff_t(type_bytes(t.type)));
  return one;
}

void write_value(protozero::pbf_writer& p, const HostValue& value, const std::string& name);

void write_sequence(protozero::pbf_writer& p, const HostValue& value, const std::string& name) {
  p.add_string(1, name);
  if (value.items.empty()) return;
  const HostValue::Kind kind = value.items[0].kind;
  p.add_enum(2, kind_number(kind));
  // The field number is that of the kind plus 2.
  for (const HostValue& item : value.items) {
    protozero::pbf_writer field(p, protozero::pbf_tag_type(kind_number(kind) + 2));
    write_value(field, item, "");
  }
}

/// Keys are integers or strings; values are a SequenceProto of scalar tensors.
void write_map(protozero::pbf_writer& p, const HostValue& value, const std::string& name) {
  const HostTensor &keys = value.items.at(0).tensor, &values = value.items.at(1).tensor;
  HostValue sequence{.kind = HostValue::Kind::sequence};
  for (size_t i = 0; i < values.count(); ++i)
    sequence.items.push_back({.kind = HostValue::Kind::tensor, .tensor = sequence_element(values, i)});
  p.add_string(1, name);
  p.add_int32(2, int32_t(keys.type));
  for (size_t i = 0; keys.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 && i < keys.count(); ++i) {
    int64_t key = 0;
    std::memcpy(&key, keys.bytes.data() + i * sizeof key, sizeof key);
    p.add_int64(3, key);
  }
  for (const std::string& key : keys.strings) p.add_bytes(4, key);
  protozero::pbf_writer field(p, 5);
  write_sequence(field, sequence, "");
}

void write_value(protozero::pbf_writer& p, const HostValue& value, const std::string& name) {
  using Kind = HostValue::Kind;
  if (value.kind == Kind::tensor) return write_tensor(p, value.tensor, name);
  if (value.kind == Kind::sequence) return write_sequence(p, value, name);
  if (value.kind == Kind::map) return write_map(p, value, name);
  p.add_string(1, name);  // an OptionalProto without a value
}

}  // namespace

std::string pb_bytes(const HostValue& value, const std::string& name) {
  std::string bytes;
  protozero::pbf_writer p(bytes);
  write_value(p, value, name);
  return bytes;
}

}  // namespace retort::cli
