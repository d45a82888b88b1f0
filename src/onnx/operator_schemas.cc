#include "onnx/operator_schemas.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/split.h"

namespace retort::onnx {
namespace {

constexpr std::string_view kSchemas =
#include "onnx/operator_schemas.inc"
    ;

constexpr std::string_view kNone = "-";

/// One version of an operator, as it is in the text: the cells of a line.
struct SchemaRow {
  std::string_view domain, type, since, inputs, outputs, parameters;
};
constexpr std::string_view SchemaRow::*kCells[] = {&SchemaRow::domain, &SchemaRow::type,    &SchemaRow::since,
                                                   &SchemaRow::inputs, &SchemaRow::outputs, &SchemaRow::parameters};

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Cuts off what comes before the next `at`.
std::string_view next(std::string_view& text, char at) {
  const size_t end = std::min(text.find(at), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// The text, parsed once. The build generates it, so its content is not checked again.
class Schemas {
 public:
  Schemas() {
    std::string_view text = kSchemas;
    const auto names = split(next(text, '\n'), '\t');
    names_.assign(names.begin(), names.end());
    for (const std::string& name : names_) types_.push_back(name.c_str());
    rows_.reserve(size_t(std::ranges::count(text, '\n')));
    SchemaRow row;
    while (!text.empty()) {
      std::string_view line = next(text, '\n');
      if (line.find('\t') == line.npos) {
        auto& set = sets_.emplace_back();
        set.reserve(size_t(std::ranges::count(line, ' ')) + 1);
        while (!line.empty()) set.push_back(types_[size_t(number(next(line, ' ')))]);
        continue;
      }
      for (const auto cell : kCells) {
        if (const std::string_view given = next(line, '\t'); !given.empty()) row.*cell = given;
      }
      rows_.push_back(row);
    }
  }

  /// All versions of an operator, the oldest first; empty if it is unknown.
  std::span<const SchemaRow> all(std::string_view domain, std::string_view type) const {
    const std::pair wanted(domain.empty() ? "ai.onnx" : domain, type);
    const auto key = [](const SchemaRow& row) { return std::pair(row.domain, row.type); };
    return std::ranges::equal_range(rows_, wanted, {}, key);
  }

  /// Null if the operator is unknown or does not exist in this version yet.
  const SchemaRow* find(std::string_view domain, std::string_view type, int version) const {
    const SchemaRow* newest = nullptr;
    for (const SchemaRow& row : all(domain, type)) {
      if (number(row.since) <= version) newest = &row;
    }
    return newest;
  }

  std::vector<OperatorSchema::Port> ports(const SchemaRow& row, std::string_view text) const {
    std::vector<OperatorSchema::Port> all;
    if (text == kNone) return all;
    all.reserve(size_t(std::ranges::count(text, ' ')) + 1);
    while (!text.empty()) {
      std::string_view cell = next(text, ' ');
      const size_t end = std::min(cell.find_first_of("?+*"), cell.size());
      const std::string_view marks = cell.substr(end);
      cell = cell.substr(0, end);
      OperatorSchema::Port port{.name = next(cell, ':'),
                                .parameter = {},
                                .types = {},
                                .optional = marks.starts_with('?'),
                                .repeats = marks.ends_with('+') || marks.ends_with('*'),
                                .mixed = marks.ends_with('*')};
      if (cell.starts_with('#')) {
        port.types = std::span(types_).subspan(size_t(number(cell.substr(1))), 1);
      } else {
        port.parameter = cell;
        for (const OperatorSchema::Parameter& p : parameters(row)) {
          if (p.name == port.parameter) port.types = p.types;
        }
      }
      all.push_back(port);
    }
    return all;
  }

  std::vector<OperatorSchema::Parameter> parameters(const SchemaRow& row) const {
    std::vector<OperatorSchema::Parameter> all;
    std::string_view text = row.parameters == kNone ? "" : row.parameters;
    all.reserve(size_t(std::ranges::count(text, ' ')) + 1);
    while (!text.empty()) {
      std::string_view cell = next(text, ' ');
      const std::string_view name = next(cell, '=');
      all.push_back({name, sets_[size_t(number(cell))]});
    }
    return all;
  }

 private:
  std::vector<std::string> names_;
  std::vector<const char*> types_;
  std::vector<std::vector<const char*>> sets_;
  std::vector<SchemaRow> rows_;  // sorted by domain, type and version
};

const Schemas& schemas() {
  static const Schemas* const kRead = new Schemas;
  return *kRead;
}

}  // namespace

std::vector<int> operator_versions(std::string_view domain, std::string_view type) {
  std::vector<int> versions;
  for (const SchemaRow& row : schemas().all(domain, type)) versions.push_back(number(row.since));
  return versions;
}

std::vector<OperatorSchema::Port> operator_inputs(std::string_view domain, std::string_view type, int version) {
  const SchemaRow* row = schemas().find(domain, type, version);
  return row ? schemas().ports(*row, row->inputs) : std::vector<OperatorSchema::Port>();
}

std::optional<OperatorSchema> operator_schema(std::string_view domain, std::string_view type, int version) {
  const Schemas& all = schemas();
  const SchemaRow* row = all.find(domain, type, version);
  if (!row) return std::nullopt;
  return OperatorSchema{number(row->since), all.ports(*row, row->inputs), all.ports(*row, row->outputs),
                        all.parameters(*row)};
}

}  // namespace retort::onnx
