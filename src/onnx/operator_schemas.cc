#include "onnx/operator_schemas.h"

#include <charconv>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/split.h"

namespace retort::onnx {
namespace {

constexpr std::string_view kSchemas =
#include "onnx/operator_schemas.inc"
    ;

/// One version of an operator, as it is in the text.
struct SchemaRow {
  int since = 0;
  std::string_view inputs, outputs, parameters;
};

int count_of(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string_view> listed(std::string_view text) {
  return text == "-" ? std::vector<std::string_view>() : split(text, ' ');
}

/// The text, parsed once. The build generates it, so its content is not checked again.
class Schemas {
 public:
  Schemas() {
    const std::vector<std::string_view> lines = split(kSchemas, '\n');
    for (const std::string_view name : split(lines[0], '\t')) names_.emplace_back(name);
    std::vector<std::string_view> row(6);
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string_view> cells = split(lines[i], '\t');
      if (cells.size() == row.size()) {
        for (size_t k = 0; k < row.size(); ++k) row[k] = cells[k].empty() ? row[k] : cells[k];
        rows_[cat("{} {}", row[0], row[1])].push_back({count_of(row[2]), row[3], row[4], row[5]});
      } else if (!lines[i].empty()) {
        auto& types = sets_.emplace_back();
        for (const std::string_view number : split(lines[i], ' '))
          types.push_back(names_.at(size_t(count_of(number))).c_str());
      }
    }
  }

  /// All versions of an operator; empty if it is unknown.
  std::span<const SchemaRow> all(std::string_view domain, std::string_view type) const {
    const auto found = rows_.find(cat("{} {}", domain.empty() ? "ai.onnx" : domain, type));
    if (found == rows_.end()) return {};
    return found->second;
  }

  /// Null if the operator is unknown or does not exist in this version yet.
  const SchemaRow* find(std::string_view domain, std::string_view type, int version) const {
    const SchemaRow* newest = nullptr;
    for (const SchemaRow& r : all(domain, type)) {
      if (r.since <= version) newest = &r;
    }
    return newest;
  }

  OperatorSchema read(const SchemaRow& row) const {
    OperatorSchema schema{.since = row.since, .inputs = {}, .outputs = {}, .parameters = {}};
    for (const std::string_view parameter : listed(row.parameters)) {
      const size_t is = parameter.rfind('=');
      schema.parameters.push_back({parameter.substr(0, is), sets_.at(size_t(count_of(parameter.substr(is + 1))))});
    }
    schema.inputs = ports(row.inputs);
    schema.outputs = ports(row.outputs);
    return schema;
  }

 private:
  static std::vector<OperatorSchema::Port> ports(std::string_view text) {
    std::vector<OperatorSchema::Port> all;
    for (const std::string_view port : listed(text)) {
      const size_t colon = std::min(port.find(':'), port.size());
      all.push_back({port.substr(0, colon), port.substr(std::min(colon + 1, port.size()))});
    }
    return all;
  }

  std::vector<std::string> names_;
  std::vector<std::vector<const char*>> sets_;
  std::unordered_map<std::string, std::vector<SchemaRow>> rows_;  // indexed by "domain type"; the oldest is first
};

const Schemas& schemas() {
  static const Schemas* const kRead = new Schemas;
  return *kRead;
}

}  // namespace

std::vector<int> operator_versions(std::string_view domain, std::string_view type) {
  std::vector<int> versions;
  for (const SchemaRow& row : schemas().all(domain, type)) versions.push_back(row.since);
  return versions;
}

std::optional<OperatorSchema> operator_schema(std::string_view domain, std::string_view type, int version) {
  const SchemaRow* row = schemas().find(domain, type, version);
  return row ? std::optional(schemas().read(*row)) : std::nullopt;
}

}  // namespace retort::onnx
