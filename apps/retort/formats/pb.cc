// ONNX TensorProto files.
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "formats/formats.h"

namespace retort::cli {
namespace {

template <typename Values>
void append(HostTensor& t, const Values& values) {
  for (const auto v : values) {
    const auto* b = reinterpret_cast<const std::byte*>(&v);
    t.bytes.insert(t.bytes.end(), b, b + type_bytes(t.type));  // little-endian: the low bytes of a wider number
  }
}

void append_raw(HostTensor& t, protozero::data_view view) {
  const auto* b = reinterpret_cast<const std::byte*>(view.data());
  t.bytes.insert(t.bytes.end(), b, b + view.size());
}

// Type and shape of an onnx.TensorProto: fields may come in any order, so they are read before the elements.
HostTensor parse_pb_type(const std::string& bytes) {
  HostTensor t;
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.tag() == 2)
      t.type = ONNXTensorElementDataType(p.get_int32());
    else if (p.tag() == 1 && p.wire_type() == protozero::pbf_wire_type::varint)
      t.shape.push_back(p.get_int64());
    else if (p.tag() == 1)
      for (int64_t d : p.get_packed_int64()) t.shape.push_back(d);
    else
      p.skip();
  }
  if (type_bytes(t.type) == 0 && t.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    throw Failure(std::string("elements of type ") + type_name(t.type) + " are not supported");
  return t;
}

}  // namespace

// The fields that data sets use; elements are packed, as every writer does.
HostTensor parse_pb(const std::string& bytes) {
  HostTensor t = parse_pb_type(bytes);
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.wire_type() != protozero::pbf_wire_type::length_delimited)
      p.skip();
    else if (p.tag() == 9)
      append_raw(t, p.get_view());
    else if (p.tag() == 4)
      append(t, p.get_packed_float());
    else if (p.tag() == 10)
      append(t, p.get_packed_double());
    else if (p.tag() == 5)
      append(t, p.get_packed_int32());
    else if (p.tag() == 7)
      append(t, p.get_packed_int64());
    else if (p.tag() == 11)
      append(t, p.get_packed_uint64());
    else if (p.tag() == 6)
      t.strings.push_back(p.get_string());
    else
      p.skip();
  }
  const bool text = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  if (text ? t.strings.size() != t.count() : t.bytes.size() / type_bytes(t.type) != t.count())
    throw Failure("the data of the TensorProto does not fit its shape");
  return t;
}

std::string pb_bytes(const HostTensor& tensor, const std::string& name) {
  std::string bytes;
  protozero::pbf_writer p(bytes);
  p.add_packed_int64(1, tensor.shape.begin(), tensor.shape.end());
  p.add_int32(2, int32_t(tensor.type));
  for (const std::string& s : tensor.strings) p.add_bytes(6, s);
  p.add_string(8, name);
  if (tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    p.add_bytes(9, reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

}  // namespace retort::cli
