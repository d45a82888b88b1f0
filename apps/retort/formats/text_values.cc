// Tensors from texts: values on the command line, cells of .csv files.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace retort::cli {
namespace {

using nlohmann::json;

constexpr const char* kSuffixes[] = {".npy", ".npz", ".pb", ".csv", ".png", ".jpg", ".jpeg", ".wav"};

std::string trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r");
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

template <typename Integer>
bool put_integer(std::byte* at, const std::string& text) {
  Integer number = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  std::memcpy(at, &number, sizeof number);
  return error == std::errc() && end == text.data() + text.size();
}

bool put_bool(std::byte* at, const std::string& text) {
  const bool yes = text == "true" || text == "True" || text == "1";
  *at = std::byte(yes);
  return yes || text == "false" || text == "False" || text == "0";
}

bool put_float(HostTensor& t, size_t i, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool infinite = text.find_first_of("nN") != std::string::npos;  // "inf", "nan", and not "1e999"
  if (text.empty() || *end || std::isfinite(number) == infinite) return false;
  set_number(t, i, number);
  // A finite number may be too large for the type.
  return std::isfinite(number) == std::isfinite(cli::number(t, i));
}

/// Whether element i could be set.
bool put(HostTensor& t, size_t i, const std::string& text) {
  std::byte* at = t.bytes.data() + i * type_bytes(t.type);
  switch (t.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING:
      t.strings[i] = text;
      return true;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return put_bool(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return put_integer<int8_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return put_integer<uint8_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return put_integer<int16_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return put_integer<uint16_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return put_integer<int32_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return put_integer<uint32_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return put_integer<int64_t>(at, text);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return put_integer<uint64_t>(at, text);
    default:
      if (is_float(t.type)) return put_float(t, i, text);
      throw Failure(std::string("elements of type ") + type_name(t.type) + " cannot be given as text; give a .pb file");
  }
}

/// Whether the last extents of an input can be those of a table, and all before them 1.
bool ends_with(const std::vector<int64_t>& shape, const std::vector<int64_t>& table) {
  if (table.size() < 2 || shape.size() < table.size()) return false;
  const size_t before = shape.size() - table.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0 && shape[i] != (i < before ? 1 : table[i - before])) return false;
  }
  return true;
}

/// The shape for `count` elements: that of the input, with `natural` at its end if it is a table that fits there;
/// otherwise with its free extents 1, except for the last one; `natural` if the input has no shape, or the same rank.
std::vector<int64_t> fitted(const PortInfo& port, const std::vector<int64_t>& natural, int64_t count) {
  if (!port.ranked || (port.shape.size() == natural.size() && natural.size() > 1)) return natural;
  std::vector<int64_t> shape = port.shape;
  if (ends_with(shape, natural)) {
    std::fill(shape.begin(), shape.end(), 1);
    std::copy(natural.begin(), natural.end(), shape.end() - ptrdiff_t(natural.size()));
    return shape;
  }
  int64_t known = 1;
  size_t last = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) last = i;
    known *= shape[i] < 0 ? 1 : shape[i];
  }
  for (int64_t& extent : shape) extent = extent < 0 ? 1 : extent;
  if (last < shape.size() && known > 0 && count % known == 0)
    shape[last] = count / known;
  else if (known != count)
    throw Failure(std::to_string(count) + (count == 1 ? " value does" : " values do") + " not fill '" + port.name +
                  "' of shape " + shape_text(port));
  return shape;
}

/// Collects the elements of nested lists; all lists of one depth must have the same length.
void collect(const json& list, size_t depth, std::vector<int64_t>& shape, std::vector<std::string>& elements) {
  if (!list.is_array()) {
    if (depth != shape.size()) throw Failure("its lists have different depths");
    elements.push_back(list.is_string() ? list.get<std::string>() : list.dump());
    return;
  }
  const auto size = int64_t(list.size());
  if (depth == shape.size() && elements.empty()) shape.push_back(size);
  if (depth >= shape.size() || shape[depth] != size) throw Failure("its lists have different lengths");
  for (const json& item : list) collect(item, depth + 1, shape, elements);
}

HostTensor parse_list(const std::string& text, const PortInfo& port) {
  const json list = json::parse(text, nullptr, false);
  if (list.is_discarded()) throw Failure("it does not look like [[1,2],[3,4]]");
  std::vector<int64_t> shape;
  std::vector<std::string> elements;
  collect(list, 0, shape, elements);
  return tensor_of(elements, shape, port);
}

}  // namespace

bool is_float(ONNXTensorElementDataType type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

bool has_known_suffix(const std::string& path) {
  return std::any_of(std::begin(kSuffixes), std::end(kSuffixes), [&](const char* s) { return has_suffix(path, s); });
}

bool has_suffix(const std::string& path, std::string_view suffix) {
  if (path.size() < suffix.size()) return false;
  return std::equal(suffix.begin(), suffix.end(), path.end() - ptrdiff_t(suffix.size()),
                    [](char wanted, char c) { return std::tolower(static_cast<unsigned char>(c)) == wanted; });
}

bool is_value(const std::string& text, const PortInfo& port) {
  const bool suffixed = has_known_suffix(text);
  const bool list = text.starts_with('[') || text.starts_with('"');
  if (port.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return list || !suffixed;
  if (suffixed || text.empty()) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  const bool number = end != text.c_str() && (*end == 0 || *end == ',' || *end == ' ');
  return list || number || text.starts_with("true") || text.starts_with("false");
}

HostTensor tensor_of(const std::vector<std::string>& elements, const std::vector<int64_t>& natural,
                     const PortInfo& port) {
  HostTensor t{.type = port.type, .shape = fitted(port, natural, int64_t(elements.size()))};
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    t.strings.resize(elements.size());
  else
    t.bytes.resize(t.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!put(t, i, trimmed(elements[i])))
      throw Failure("'" + elements[i] + "' is not a number of type " + type_name(t.type));
  }
  return t;
}

HostTensor parse_values(const std::string& text, const PortInfo& port) try {
  if (port.kind != ONNX_TYPE_TENSOR) throw Failure("it is not a tensor; give it as a .pb file");
  if (text.starts_with('[') || text.starts_with('"')) return parse_list(text, port);
  if (port.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return tensor_of({text}, {}, port);
  std::vector<std::string> elements;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    elements.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return tensor_of(elements, elements.size() == 1 ? std::vector<int64_t>{} : std::vector{int64_t(elements.size())},
                   port);
} catch (const Failure& e) {
  throw Failure("'" + port.name + "' cannot be '" + (text.size() > 40 ? text.substr(0, 40) + "…" : text) +
                "': " + e.what());
}

}  // namespace retort::cli
