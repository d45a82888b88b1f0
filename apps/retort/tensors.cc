#include "tensors.h"

#include <protozero/pbf_reader.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

namespace retort::cli {
namespace {

struct NpyType {
  const char* code;
  ONNXTensorElementDataType type;
};
constexpr NpyType kNpyTypes[] = {
    {"<f4", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},   {"<f8", ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE},
    {"<f2", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16}, {"|i1", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8},
    {"<i2", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16},   {"<i4", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32},
    {"<i8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},   {"|u1", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8},
    {"<u2", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16},  {"<u4", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32},
    {"<u8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64},  {"|b1", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL}};

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string between(const std::string& text, const std::string& after, char open, char close) {
  const size_t key = text.find(after);
  const size_t from = key == std::string::npos ? key : text.find(open, key + after.size());
  const size_t to = from == std::string::npos ? from : text.find(close, from + 1);
  if (to == std::string::npos) throw Failure("malformed .npy header");
  return text.substr(from + 1, to - from - 1);
}

HostTensor parse_npy(const std::string& bytes) {
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0) throw Failure("no .npy file");
  const bool long_header = bytes[6] >= 2;
  uint32_t header_size = 0;
  std::memcpy(&header_size, bytes.data() + 8, long_header ? 4 : 2);
  const size_t start = long_header ? 12 : 10;
  if (bytes.size() < start + header_size) throw Failure("the .npy header is cut off");
  const std::string header = bytes.substr(start, header_size);
  if (header.find("'fortran_order': True") != std::string::npos)
    throw Failure("Fortran order is not supported: save numpy.ascontiguousarray(x)");
  HostTensor t;
  const std::string code = between(header, "'descr':", '\'', '\'');
  for (const NpyType& n : kNpyTypes) {
    if (code == n.code) t.type = n.type;
  }
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) throw Failure("element type " + code + " is not supported");
  const std::string dims = between(header, "'shape':", '(', ')');
  for (size_t i = 0; i < dims.size();) {
    if (dims[i] < '0' || dims[i] > '9') {
      ++i;
      continue;
    }
    size_t used = 0;
    t.shape.push_back(std::stoll(dims.substr(i), &used));
    i += used;
  }
  const size_t size = t.count() * type_bytes(t.type);
  if (bytes.size() - start - header_size < size) throw Failure("the .npy data is cut off");
  t.bytes.resize(size);
  std::memcpy(t.bytes.data(), bytes.data() + start + header_size, size);
  return t;
}

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

// The fields of onnx.TensorProto that data sets use.
HostTensor parse_pb(const std::string& bytes) {
  HostTensor t;
  for (protozero::pbf_reader p(bytes); p.next();) {  // type and shape first: fields may come in any order
    if (p.tag() == 2)
      t.type = ONNXTensorElementDataType(p.get_int32());
    else if (p.tag() == 1 && p.wire_type() == protozero::pbf_wire_type::varint)
      t.shape.push_back(p.get_int64());
    else if (p.tag() == 1)
      for (int64_t d : p.get_packed_int64()) t.shape.push_back(d);
    else
      p.skip();
  }
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.tag() == 9)
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
    else
      p.skip();
  }
  if (type_bytes(t.type) == 0) throw Failure("only tensors of numbers are supported");
  if (t.bytes.size() != t.count() * type_bytes(t.type))
    throw Failure("the data of the TensorProto does not fit its shape");
  return t;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

HostTensor read_tensor_file(const std::string& path) {
  try {
    const std::string bytes = slurp(path);
    if (ends_with(path, ".npy")) return parse_npy(bytes);
    if (ends_with(path, ".pb")) return parse_pb(bytes);
  } catch (const protozero::exception& e) {
    throw Failure(path + ": malformed TensorProto: " + e.what());
  } catch (const Failure& f) {
    throw Failure(path + ": " + f.what());
  }
  throw Failure(path + ": the suffix must be .npy or .pb");
}

void write_npy(const std::string& path, const HostTensor& tensor) {
  std::string dims;
  for (int64_t d : tensor.shape) dims += std::to_string(d) + ",";
  std::string code = "|u1";
  for (const NpyType& n : kNpyTypes) {
    if (n.type == tensor.type) code = n.code;
  }
  std::string header = "{'descr': '" + code + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto size = uint16_t(header.size());
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.write(reinterpret_cast<const char*>(&size), 2);
  file.write(header.data(), std::streamsize(header.size()));
  file.write(reinterpret_cast<const char*>(tensor.bytes.data()), std::streamsize(tensor.bytes.size()));
  if (!file) throw Failure("cannot write '" + path + "'");
}

HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed, int64_t extent) {
  HostTensor t;
  t.type = port.type;
  t.shape = shape.empty() ? port.shape : shape;
  for (int64_t& d : t.shape) d = d < 0 ? extent : d;
  if (type_bytes(t.type) == 0)
    throw Failure("input '" + port.name + "' of type " + type_name(t.type) + " must be given with --input");
  std::mt19937_64 random(seed);
  t.bytes.resize(t.count() * type_bytes(t.type));
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < t.count(); ++i) {
      const float v = normal(random);
      std::memcpy(t.bytes.data() + 4 * i, &v, 4);
    }
  } else if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) {
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < t.count(); ++i) {
      const double v = normal(random);
      std::memcpy(t.bytes.data() + 8 * i, &v, 8);
    }
  } else {
    for (size_t i = 0; i < t.count(); ++i) t.bytes[i * type_bytes(t.type)] = std::byte(random() & 1);
  }
  return t;
}

}  // namespace retort::cli
