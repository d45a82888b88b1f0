#include "diff/diff_place.h"

#include <set>

#include "formats/formats.h"

namespace retort::cli {
namespace {

using nlohmann::json;

ONNXTensorElementDataType type_named(const std::string& name) {
  int type = 0;
  while (type_name(ONNXTensorElementDataType(type)) != std::string("other") &&
         name != type_name(ONNXTensorElementDataType(type)))
    ++type;
  return ONNXTensorElementDataType(type);
}

/// The element type in a type like "float32[2,3]".
ONNXTensorElementDataType element_type(const std::string& type) { return type_named(type.substr(0, type.find('['))); }

bool can_be_shown(const std::string& type, bool in_body) {
  return in_body ? type_bytes(element_type(type)) > 0 : !type.empty() && !type.starts_with("optional(");
}

/// The body that a step leads to, in the description of a graph.
const json& body_of(const json& graph, const BodyStep& step) {
  for (const json& node : graph["nodes"]) {
    for (const int out : node["outputs"]) {
      if (out >= 0 && graph["values"][size_t(out)]["name"] == step.output) return node.at("bodies").at(step.attribute);
    }
  }
  throw Failure("the model has no node that makes '" + step.output + "'");
}

}  // namespace

std::map<std::string, int32_t> readable_tensors(const json& graph, const std::vector<BodyStep>& path) {
  std::map<std::string, int32_t> types;
  const json* at = &graph;
  for (size_t depth = 0; depth <= path.size(); ++depth) {
    if (depth > 0) at = &body_of(*at, path[depth - 1]);
    for (const json& value : (*at)["values"]) {
      const ONNXTensorElementDataType type = element_type(value["type"]);
      if (type_name(type) != std::string("other")) types[value["name"]] = pb_type_number(type);
    }
  }
  return types;
}

DiffPlace list_place(const json& graph, std::vector<BodyStep> path, const std::string& first,
                     const std::string& second) {
  const auto in_first = made_values(first, path), in_second = made_values(second, path);
  DiffPlace p{.described = &graph, .path = std::move(path)};
  std::map<size_t, std::set<size_t>> roots;  // for each value of the graph: the values upstream of it that can be shown
  for (const json& node : graph["nodes"]) {
    std::set<size_t> from;
    for (const int in : node["inputs"]) {
      if (in >= 0) from.insert(roots[size_t(in)].begin(), roots[size_t(in)].end());
    }
    for (const int out : node["outputs"]) {
      if (out < 0) continue;
      const json& value = graph["values"][size_t(out)];
      const std::string name = value["name"];
      const auto made = in_first.find(name);
      roots[size_t(out)] = from;
      if (made == in_first.end() || !in_second.contains(name) || !can_be_shown(value["type"], !p.path.empty()))
        continue;
      p.index[name] = p.names.size();
      roots[size_t(out)] = {p.names.size()};
      p.names.push_back(name);
      p.makers.push_back(&node);
      p.operators.push_back(made->second);
      p.types.push_back(pb_type_number(element_type(value["type"])));
      p.graph.made_from.emplace_back(from.begin(), from.end());
    }
  }
  return p;
}

std::string DiffPlace::maker(size_t v) const {
  const json origins = makers[v]->value("origins", json::array());  // the call that was expanded
  return origins.empty() ? (*makers[v])["name"] : origins[0];
}

Mark DiffPlace::mark(size_t v, const std::string& name, bool listed) const {
  if (path.empty()) return {.name = names[v], .value = names[v]};
  return {.name = name, .path = path, .value = names[v], .type = types[v], .listed = listed};
}

size_t turns(const HostValue& v) {
  return v.kind == HostValue::Kind::sequence ? v.items.size() : v.tensor.shape.empty() ? 0 : size_t(v.tensor.shape[0]);
}

HostValue turn(const HostValue& v, size_t i) {
  if (i >= turns(v)) throw Failure("a value has no iteration " + std::to_string(i));
  if (v.kind == HostValue::Kind::sequence) return v.items[i];
  const HostTensor& t = v.tensor;
  HostTensor one{.type = t.type, .shape = {t.shape.begin() + 1, t.shape.end()}};
  const auto begin = t.bytes.begin() + ptrdiff_t(i * one.size());
  one.bytes.assign(begin, begin + ptrdiff_t(one.size()));
  return {.kind = v.kind, .tensor = std::move(one)};
}

}  // namespace retort::cli
