// numpy's .npy files, in C order.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "formats/formats.h"

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

}  // namespace

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
  const size_t room = bytes.size() - start - header_size, count = t.count();
  if (count > room / type_bytes(t.type)) throw Failure("the .npy data is cut off");
  const size_t size = count * type_bytes(t.type);
  t.bytes.resize(size);
  std::memcpy(t.bytes.data(), bytes.data() + start + header_size, size);
  return t;
}

bool numpy_has(ONNXTensorElementDataType type) {
  return std::any_of(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& n) { return n.type == type; });
}

std::string npy_bytes(const HostTensor& tensor) {
  std::string dims;
  for (int64_t d : tensor.shape) dims += std::to_string(d) + ",";
  std::string code;
  for (const NpyType& n : kNpyTypes) {
    if (n.type == tensor.type) code = n.code;
  }
  if (code.empty()) throw Failure(std::string(".npy files have no elements of type ") + type_name(tensor.type));
  std::string header = "{'descr': '" + code + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto size = uint16_t(header.size());
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.append(reinterpret_cast<const char*>(&size), 2);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

}  // namespace retort::cli
