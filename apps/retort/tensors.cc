#include "tensors.h"

#include <protozero/pbf_reader.hpp>

#include <bit>
#include <cerrno>
#include <charconv>
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
  if (!file) throw Failure(std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string between(const std::string& text, const std::string& after, char open, char close) {
  const size_t key = text.find(after);
  const size_t from = key == std::string::npos ? key : text.find(open, key + after.size());
  const size_t to = from == std::string::npos ? from : text.find(close, from + 1);
  if (to == std::string::npos) throw Failure("malformed .npy header");
  return text.substr(from + 1, to - from - 1);
}

// "3, 224, 224" or "3,".
std::vector<int64_t> parse_tuple(const std::string& text) {
  std::vector<int64_t> shape;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) throw Failure("the .npy header has the shape (" + text + ")");
    shape.push_back(extent);
    at = next;
  }
  return shape;
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
  t.shape = parse_tuple(between(header, "'shape':", '(', ')'));
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
  if (type_bytes(t.type) == 0) throw Failure("only tensors of numbers are supported");
  return t;
}

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
    else
      p.skip();
  }
  if (t.bytes.size() != t.count() * type_bytes(t.type))
    throw Failure("the data of the TensorProto does not fit its shape");
  return t;
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

HostTensor read_tensor_file(const std::string& path) {
  try {
    const std::string bytes = slurp(path);
    if (path.ends_with(".npy")) return parse_npy(bytes);
    if (path.ends_with(".pb")) return parse_pb(bytes);
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
  std::string code;
  for (const NpyType& n : kNpyTypes) {
    if (n.type == tensor.type) code = n.code;
  }
  if (code.empty()) throw Failure(path + ": .npy files have no elements of type " + type_name(tensor.type));
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

bool is_real(ONNXTensorElementDataType type) {
  return type_bytes(type) != 0 && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 &&
         type != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
}

double number(const HostTensor& tensor, size_t i) {
  const std::byte* at = tensor.bytes.data() + i * type_bytes(tensor.type);
  switch (tensor.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return load<float>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return load<double>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return double(load<_Float16>(at));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return std::bit_cast<float>(uint32_t(load<uint16_t>(at)) << 16);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return load<int8_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return load<int16_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return load<int32_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return double(load<int64_t>(at));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return load<uint8_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return load<uint16_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return load<uint32_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return double(load<uint64_t>(at));
    default:
      throw Failure(std::string(type_name(tensor.type)) + " is no type of real numbers");
  }
}

HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed) {
  HostTensor t;
  t.type = port.type;
  t.shape = shape.empty() ? port.shape : shape;
  for (int64_t& d : t.shape) d = d < 0 ? 1 : d;
  const size_t bytes = type_bytes(t.type);
  if (bytes == 0)
    throw Failure("input '" + port.name + "' of type " + type_name(t.type) + " must be given with --input");
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  t.bytes.resize(t.count() * bytes);
  for (std::byte *at = t.bytes.data(), *end = at + t.bytes.size(); at != end; at += bytes) {
    switch (t.type) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        store(at, normal(random));
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        store(at, double(normal(random)));
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
        store(at, _Float16(normal(random)));
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
        store(at, uint16_t(std::bit_cast<uint32_t>(normal(random)) >> 16));
        break;
      default:
        *at = std::byte(random() & 1);  // the low byte of an integer
    }
  }
  return t;
}

}  // namespace retort::cli
