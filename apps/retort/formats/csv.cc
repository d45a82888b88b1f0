// Tables of numbers or texts as .csv files.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "formats/formats.h"

namespace retort::cli {
namespace {

/// The delimiter that the first line has most.
char delimiter_of(const std::string& line) {
  const auto often = [&](char c) { return std::count(line.begin(), line.end(), c); };
  const char best = often(';') > often(',') ? ';' : ',';
  return often('\t') > often(best) ? '\t' : best;
}

/// Cells may stand in double quotes, which are doubled inside.
std::vector<std::vector<std::string>> parse_rows(const std::string& text, char delimiter) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& cell = rows.back().back();
    if (inside && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"')
      cell += text[++i];
    else if (text[i] == '"')
      inside = !inside;
    else if (!inside && text[i] == delimiter)
      rows.back().emplace_back();
    else if (!inside && text[i] == '\n')
      rows.push_back({""});
    else if (inside || text[i] != '\r')
      cell += text[i];
  }
  if (inside) throw Failure("a cell begins with a quote and does not end with one");
  std::erase_if(rows, [](const auto& row) { return row.size() == 1 && row[0].empty(); });
  return rows;
}

bool is_number(const std::string& cell) {
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  return end != cell.c_str() || cell.starts_with("true") || cell.starts_with("false");
}

std::string cell_text(const HostTensor& t, size_t i) {
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    std::string quoted = "\"";
    for (const char c : t.strings[i]) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  }
  char text[40];
  const bool wide = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 || t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
  const std::byte* at = t.bytes.data() + i * type_bytes(t.type);
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) return std::to_string(*reinterpret_cast<const int64_t*>(at));
  if (wide) return std::to_string(*reinterpret_cast<const uint64_t*>(at));
  const int digits = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ? 17 : 9;  // enough to read the same number again
  std::snprintf(text, sizeof text, "%.*g", is_float(t.type) ? digits : 10, number(t, i));
  return text;
}

}  // namespace

HostTensor parse_csv(const std::string& bytes, const PortInfo& port) {
  const size_t mark = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;  // of UTF-8, as spreadsheets write it
  const std::string text = bytes.substr(mark);
  if (text.find('\0') != std::string::npos)
    throw Failure("it has a zero byte, as UTF-16 has: the table must be text in UTF-8");
  auto rows = parse_rows(text, delimiter_of(text.substr(0, text.find('\n'))));
  const bool numbers = port.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  if (numbers && !rows.empty() && std::none_of(rows[0].begin(), rows[0].end(), is_number)) rows.erase(rows.begin());
  if (rows.empty()) throw Failure("the table has no rows");
  std::vector<std::string> elements;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].size() != rows[0].size())
      throw Failure("row " + std::to_string(r + 1) + " has " + std::to_string(rows[r].size()) +
                    " cells, the first has " + std::to_string(rows[0].size()));
    elements.insert(elements.end(), rows[r].begin(), rows[r].end());
  }
  return tensor_of(elements, {int64_t(rows.size()), int64_t(rows[0].size())}, port);
}

std::string csv_text(const HostTensor& tensor) {
  if (is_complex(tensor.type)) throw Failure("a .csv file has no complex numbers");
  const size_t count = tensor.count();
  const size_t rows = tensor.shape.empty() ? 1 : size_t(tensor.shape[0]);
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += cell_text(tensor, i);
    text += (i + 1) % (count / rows) == 0 ? "\n" : ",";
  }
  return text;
}

}  // namespace retort::cli
