// numpy's .npy files: read in any order of axes and bytes, written in C order and little-endian.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "engine/large_memory.h"
#include "formats/formats.h"

namespace retort::cli {
namespace {

struct NpyType {
  const char* code;
  ONNXTensorElementDataType type;
};
constexpr NpyType kNpyTypes[] = {
    {"<f4", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},     {"<f8", ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE},
    {"<f2", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16},   {"|i1", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8},
    {"<i2", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16},     {"<i4", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32},
    {"<i8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},     {"|u1", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8},
    {"<u2", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16},    {"<u4", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32},
    {"<u8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64},    {"|b1", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL},
    {"<c8", ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64}, {"<c16", ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128}};

constexpr size_t kPrefix = 12;                  // bytes of a file that tell the size of its header
constexpr size_t kMostEmpty = size_t(1) << 28;  // limit for texts without characters, which take no bytes in a file

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

/// The element type in "descr": "<f4", ">c16", "|S5", "<U10".
struct Element {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t bytes = 0;  ///< in the file
  size_t unit = 1;   ///< number of bytes that the byte order applies to
  bool swapped = false;
  bool wide = false;  ///< text in UTF-32
};

Element parse_element(const std::string& code) {
  Element e{.swapped = code.starts_with('>')};
  for (const NpyType& n : kNpyTypes) {
    if (code.size() < 2 || code.substr(1) != n.code + 1) continue;
    e.type = n.type;
    e.bytes = type_bytes(n.type);
    e.unit = is_complex(n.type) ? e.bytes / 2 : e.bytes;
  }
  e.wide = code.size() > 2 && code[1] == 'U';
  if (e.wide || (code.size() > 2 && code[1] == 'S')) {
    const auto [end, error] = std::from_chars(code.data() + 2, code.data() + code.size(), e.bytes);
    if (error != std::errc() || end != code.data() + code.size() || e.bytes > (size_t(1) << 32))
      throw Failure("the .npy header has the element type " + code);
    e.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    e.unit = e.wide ? 4 : 1;
    e.bytes *= e.unit;
  }
  if (e.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
    throw Failure("element type " + code + " is not supported; save numbers, booleans or strings");
  return e;
}

/// Copies elements from an order in which the first axis is the fastest to C order.
std::string from_fortran(const char* data, size_t element, const std::vector<int64_t>& shape, size_t count) {
  std::string all(count * element, '\0');
  std::vector<size_t> at(shape.size()), stride(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * size_t(shape[d - 1]);
  for (size_t i = 0, from = 0; i < count; ++i) {
    std::memcpy(all.data() + i * element, data + from * element, element);
    for (size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++at[d] < size_t(shape[d])) break;
      from -= stride[d] * at[d];
      at[d] = 0;
    }
  }
  return all;
}

void add_utf8(std::string& to, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) throw Failure("the .npy data has a text that is not Unicode");
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  to += char(kFirst[more] | c >> (6 * more));
  for (int i = more; i-- > 0;) to += char(0x80 | ((c >> (6 * i)) & 0x3f));
}

/// The text without the zeros that pad it.
std::string text_of(std::string_view bytes, bool wide) {
  std::string text(wide ? "" : bytes);
  for (size_t i = 0; wide && i + 4 <= bytes.size(); i += 4) {
    uint32_t c = 0;
    std::memcpy(&c, bytes.data() + i, 4);
    add_utf8(text, c);
  }
  return text.substr(0, text.find_last_not_of('\0') + 1);
}

void swap_bytes(const Element& e, HostTensor& t) {
  for (auto at = t.bytes.begin(); e.swapped && at != t.bytes.end(); at += ptrdiff_t(e.unit))
    std::reverse(at, at + ptrdiff_t(e.unit));
}

/// What an .npy file says before its data.
struct Header {
  Element element;
  HostTensor tensor;  ///< without elements
  bool fortran = false;
};

Header parse_header(const std::string& text) {
  const Element e = parse_element(between(text, "'descr':", '\'', '\''));
  return {.element = e,
          .tensor = {.type = e.type, .shape = parse_tuple(between(text, "'shape':", '(', ')'))},
          .fortran = text.find("'fortran_order': True") != std::string::npos};
}

HostTensor parse_elements(Header header, std::string_view data) {
  const Element& e = header.element;
  HostTensor& t = header.tensor;
  const size_t count = t.count();
  if (count > (e.bytes ? data.size() / e.bytes : kMostEmpty)) throw Failure("the .npy data is cut off");
  const std::string ordered = header.fortran ? from_fortran(data.data(), e.bytes, t.shape, count) : std::string();
  const std::string_view all = header.fortran ? std::string_view(ordered) : data.substr(0, count * e.bytes);
  const auto* first = reinterpret_cast<const std::byte*>(all.data());
  t.bytes.reserve(all.size());
  expect_large(t.bytes.data(), all.size());
  t.bytes.assign(first, first + all.size());
  swap_bytes(e, t);
  if (e.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return std::move(t);
  const std::string_view texts(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  for (size_t i = 0; i < count; ++i) t.strings.push_back(text_of(texts.substr(i * e.bytes, e.bytes), e.wide));
  t.bytes.clear();
  return std::move(t);
}

/// The size of a header with the bytes before it, and where it begins.
std::pair<size_t, size_t> header_place(std::string_view first) {
  if (first.size() < kPrefix || !first.starts_with("\x93NUMPY")) throw Failure("not an .npy file");
  const int version = first[6];
  if (version < 1 || version > 3)
    throw Failure("an .npy file of version " + std::to_string(version) + " is not known; save it with numpy.save");
  const bool is_long = version >= 2;
  uint32_t size = 0;
  std::memcpy(&size, first.data() + 8, is_long ? 4 : 2);
  const size_t begin = is_long ? 12 : 10;
  return {begin + size, begin};
}

/// Appends up to `count` bytes of a stream; less only at its end.
template <typename Bytes>
void read_into(std::istream& file, Bytes& to, size_t count) {
  using Byte = typename Bytes::value_type;
  std::vector<char> piece(std::min(count, size_t(1) << 20));
  while (count > 0 && file) {
    file.read(piece.data(), std::streamsize(std::min(count, piece.size())));
    const auto* first = reinterpret_cast<const Byte*>(piece.data());
    to.insert(to.end(), first, first + file.gcount());
    count -= size_t(file.gcount());
  }
  if (file.bad()) throw Failure("the file cannot be read");
}

}  // namespace

HostTensor parse_npy(const std::string& bytes) {
  const auto [end, begin] = header_place(bytes);
  if (bytes.size() < end) throw Failure("the .npy header is cut off");
  return parse_elements(parse_header(bytes.substr(begin, end - begin)), std::string_view(bytes).substr(end));
}

HostTensor read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(std::strerror(errno));
  std::string text;
  read_into(file, text, kPrefix);
  const auto [end, begin] = header_place(text);
  if (end > text.size()) read_into(file, text, end - text.size());
  if (text.size() < end) throw Failure("the .npy header is cut off");
  Header header = parse_header(text.substr(begin, end - begin));
  const std::string data = text.substr(end);  // of a header that is shorter than kPrefix
  if (header.fortran || header.element.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING || !data.empty()) {
    std::string rest = data;
    read_into(file, rest, SIZE_MAX);
    return parse_elements(std::move(header), rest);
  }
  HostTensor& t = header.tensor;
  const size_t size = t.size();
  std::error_code unknown;
  const uintmax_t there = std::filesystem::file_size(path, unknown);
  if (!unknown && there < size) throw Failure("the .npy data is cut off");
  if (!unknown) t.bytes.reserve(size);  // tensors may have gigabytes, and growing copies them
  expect_large(t.bytes.data(), t.bytes.capacity());
  read_into(file, t.bytes, size);
  if (t.bytes.size() < size) throw Failure("the .npy data is cut off");
  swap_bytes(header.element, t);
  return std::move(t);
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
