#include "onnx/operator_facts.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "base/split.h"

namespace retort::onnx {
namespace {

constexpr std::string_view kFacts =
#include "onnx/operator_facts.inc"
    ;

constexpr std::string_view kSame = "=";  ///< as in the version before

template <typename T>
T number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), ErrorCode::fail, "'{}' is not a number", text);
  return value;
}

template <typename T, typename Read>
std::vector<T> list(std::string_view text, Read read) {
  std::vector<T> values;
  if (text.empty()) return values;
  for (const std::string_view part : split(text, ',')) values.push_back(read(part));
  return values;
}

// "axis=i:1", "axis:i" or "axis!i"
void add_attribute(OperatorForm& form, std::string_view cell) {
  const size_t end = std::min(cell.find_first_of("=:!"), cell.size());
  const std::string_view name = cell.substr(0, end);
  const char mark = end < cell.size() ? cell[end] : ':';
  std::string_view kind = cell.substr(std::min(end + 1, cell.size()));
  if (mark == '=') kind = kind.substr(0, kind.find(':'));
  form.attributes.push_back({name, kind, mark == '!'});
  if (mark == '=') form.defaults.push_back(cell);
  if (mark == ':') form.unset.push_back(name);
}

/// Indexed by "domain type"; the oldest form is first.
using Forms = std::unordered_map<std::string, std::vector<OperatorForm>>;

Forms read_forms() {
  Forms forms;
  for (const std::string_view line : split(kFacts, '\n')) {
    const std::vector<std::string_view> cells = split(line, '\t');
    if (cells.size() < 4) continue;
    std::vector<OperatorForm>& of = forms[cat("{} {}", cells[0], cells[1])];
    OperatorForm form{.since = number<int>(cells[2]), .types = cells[3] == kSame ? of.back().types : cells[3]};
    if (cells.size() == 5 && cells[4] == kSame) {
      form.defaults = of.back().defaults;
      form.unset = of.back().unset;
      form.attributes = of.back().attributes;
    } else {
      for (const std::string_view cell : std::span(cells).subspan(4)) add_attribute(form, cell);
    }
    of.push_back(std::move(form));
  }
  return forms;
}

}  // namespace

const OperatorForm* operator_form(std::string_view domain, std::string_view type, int version) {
  static const auto* const kForms = new Forms(read_forms());
  if (domain == "com.ms.internal.nhwc") {  // the same operators with channels last
    const OperatorForm* usual = operator_form("", type, version);
    return usual ? usual : operator_form("com.microsoft", type, 0);
  }
  const auto found = kForms->find(cat("{} {}", domain, type));
  if (found == kForms->end()) return nullptr;
  const OperatorForm* form = nullptr;
  for (const OperatorForm& f : found->second) {
    if (version == 0 || f.since <= version) form = &f;
  }
  return form;
}

Attributes::Item read_default(std::string_view text) {
  const size_t is = text.find('='), colon = text.find(':', is);
  const std::string name(text.substr(0, is));
  const std::string_view kind = text.substr(is + 1, colon - is - 1), value = text.substr(colon + 1);
  const auto word = [](std::string_view s) { return std::string(s); };
  if (kind == "i") return {name, number<int64_t>(value)};
  if (kind == "f") return {name, number<float>(value)};
  if (kind == "s") return {name, std::string(value)};
  if (kind == "is") return {name, list<int64_t>(value, number<int64_t>)};
  if (kind == "fs") return {name, list<float>(value, number<float>)};
  return {name, list<std::string>(value, word)};
}

}  // namespace retort::onnx
