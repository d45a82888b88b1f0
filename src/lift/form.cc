#include "lift/form.h"

#include <algorithm>
#include <climits>

#include "base/advice.h"
#include "base/error.h"
#include "onnx/operator_facts.h"
#include "onnx/operator_schemas.h"

namespace retort {
namespace {

using onnx::OperatorForm;
using Port = onnx::OperatorSchema::Port;

void check_count(const Node& node, const std::vector<Port>& ports) {
  const size_t own = node.inputs.size() - node.captures;
  const bool any_number = !ports.empty() && ports.back().repeats;
  require(any_number || own <= ports.size(), ErrorCode::invalid_graph,
          "has {} inputs, but the operator takes {}; remove the others", own, ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const bool given = i < own && node.inputs[i] != ValueId::none;
    require(given || ports[i].optional, ErrorCode::invalid_graph,
            "required input {} ({}) is missing; give it to the node", i, ports[i].name);
  }
}

/// "INT" for "i", as in attribute_kind(); empty if any kind is right.
std::string_view kind_name(std::string_view kind) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"i", "INT"}, {"f", "FLOAT"}, {"s", "STRING"}, {"is", "INTS"}, {"fs", "FLOATS"}, {"ss", "STRINGS"}};
  for (const auto& [letter, name] : kKinds) {
    if (letter == kind) return name;
  }
  return "";
}

void check_attributes(const Node& node, const OperatorForm& form) {
  std::vector<std::string_view> names;
  for (const OperatorForm::Named& a : form.attributes) {
    names.push_back(a.name);
    const Attribute* given = node.attributes.find(a.name);
    require(given || !a.required || a.kind.empty(), ErrorCode::invalid_graph,
            "attribute '{}' is required and missing; set it", a.name);
    const std::string_view kind = kind_name(a.kind);
    require(!given || kind.empty() || kind == attribute_kind(*given), ErrorCode::invalid_graph,
            "attribute '{}' is of kind {}, but the operator expects {}; correct it", a.name,
            given ? attribute_kind(*given) : "", kind);
  }
  if (!node.domain.starts_with("com.microsoft")) return;  // the newest form has its own check, or lists exceptions
  for (const auto& [name, value] : node.attributes) {
    require(std::ranges::find(names, name) != names.end(), ErrorCode::invalid_graph, "unrecognised attribute '{}'; {}",
            name,
            names.empty() ? "remove it: the operator has no attributes" : use_one_of(name, names) + ", or remove it");
  }
}

}  // namespace

void check_form(const Node& node) {
  const int version = node.version > 0 ? node.version : INT_MAX;
  if (const auto schema = onnx::operator_schema(node.domain, node.type, version)) check_count(node, schema->inputs);
  if (const OperatorForm* form = onnx::operator_form(node.domain, node.type, node.version))
    check_attributes(node, *form);
}

}  // namespace retort
