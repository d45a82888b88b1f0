#include "onnx/operator_facts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <span>

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

/// The lines of an operator in the text.
struct OperatorLines {
  std::string_view domain, type, lines;
};

std::string_view first_cell(std::string_view line) { return line.substr(0, line.find('\t')); }

std::vector<OperatorLines> find_operators() {
  std::vector<OperatorLines> all;
  for (size_t begin = 0; begin < kFacts.size();) {
    const size_t end = std::min(kFacts.find('\n', begin), kFacts.size());
    const std::string_view line = kFacts.substr(begin, end - begin), domain = first_cell(line);
    const std::string_view type = first_cell(line.substr(std::min(domain.size() + 1, line.size())));
    if (!all.empty() && all.back().domain == domain && all.back().type == type)
      all.back().lines = {all.back().lines.data(), size_t(line.data() + line.size() - all.back().lines.data())};
    else
      all.push_back({domain, type, line});
    begin = end + 1;
  }
  return all;
}

/// The oldest form is first.
std::vector<OperatorForm> read_forms(std::string_view lines) {
  std::vector<OperatorForm> forms;
  for (const std::string_view line : split(lines, '\n')) {
    const std::vector<std::string_view> cells = split(line, '\t');
    if (cells.size() < 4) continue;
    OperatorForm form{.since = number<int>(cells[2]), .types = cells[3] == kSame ? forms.back().types : cells[3]};
    if (cells.size() == 5 && cells[4] == kSame) {
      form.defaults = forms.back().defaults;
      form.unset = forms.back().unset;
      form.attributes = forms.back().attributes;
    } else {
      for (const std::string_view cell : std::span(cells).subspan(4)) add_attribute(form, cell);
    }
    forms.push_back(std::move(form));
  }
  return forms;
}

/// The forms of the operators that were asked for; a model has few of them all. Thread-safe; forms stay where they are.
class Forms {
 public:
  const std::vector<OperatorForm>& of(std::string_view domain, std::string_view type) {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(std::pair(domain, type)); known != known_.end()) return known->second;
    for (const OperatorLines& own : operators_) {
      if (own.domain == domain && own.type == type)
        return known_.emplace(std::pair(own.domain, own.type), read_forms(own.lines)).first->second;
    }
    return none_;
  }

 private:
  const std::vector<OperatorLines> operators_ = find_operators();
  const std::vector<OperatorForm> none_;
  std::mutex mutex_;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<OperatorForm>> known_;  // by domain and type
};

}  // namespace

const OperatorForm* operator_form(std::string_view domain, std::string_view type, int version) {
  static auto* const kForms = new Forms;
  if (domain == "com.ms.internal.nhwc") {  // the same operators with channels last
    const OperatorForm* usual = operator_form("", type, version);
    return usual ? usual : operator_form("com.microsoft", type, 0);
  }
  const OperatorForm* form = nullptr;
  for (const OperatorForm& f : kForms->of(domain, type)) {
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
