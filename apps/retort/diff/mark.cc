#include "diff/mark.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "diff/proto.h"
#include "engine/engine.h"
#include "formats/tensors.h"

namespace retort::cli {
namespace {

using Marks = std::vector<const Mark*>;

bool makes(data_view node, const std::string& value) {
  const auto outputs = fields(node, kNodeOutput);
  return std::any_of(outputs.begin(), outputs.end(), [&](data_view name) { return name.to_string() == value; });
}

/// The name of a mark in the graph at that depth: names are unique over all depths.
std::string name_at(const Mark& mark, size_t depth) {
  return depth ? mark.name + "." + std::to_string(depth) : mark.name;
}

/// The depth of the Loop that lists the mark's value per iteration; none if the value is stacked.
size_t lister(const Mark& mark) {
  if (!mark.listed) return SIZE_MAX;
  const auto loop = std::find_if(mark.path.begin(), mark.path.end(), [](const BodyStep& s) { return s.op == "Loop"; });
  return size_t(loop - mark.path.begin());
}

std::string empty_list(int32_t type, const std::string& to) {
  std::string node = node_of("SequenceEmpty", {}, to);
  protozero::pbf_writer(node).add_message(kNodeAttribute, int_attribute("dtype", type));
  return node;
}

/// The ValueInfoProto of a sequence of tensors.
std::string list_info(int32_t type, const std::string& name) {
  std::string tensor, element, sequence, whole, info;
  protozero::pbf_writer(tensor).add_int32(kTypeElement, type);
  protozero::pbf_writer(element).add_message(kTypeTensor, tensor);
  protozero::pbf_writer(sequence).add_message(kTypeElement, element);
  protozero::pbf_writer(whole).add_message(kTypeSequence, sequence);
  protozero::pbf_writer p(info);
  p.add_string(kValueName, name);
  p.add_message(kValueType, whole);
  return info;
}

/// A Constant without elements.
std::string nothing(int32_t type, const std::string& to) {
  std::string tensor, attribute, node = node_of("Constant", {}, to);
  protozero::pbf_writer t(tensor), a(attribute);
  t.add_int64(kTensorDims, 0);
  t.add_int32(kTensorType, type);
  t.add_bytes(kTensorRaw, "");
  a.add_string(kAttributeName, "value");
  a.add_message(kAttributeTensor, tensor);
  a.add_int32(kAttributeType, kTensorAttribute);
  protozero::pbf_writer(node).add_message(kNodeAttribute, attribute);
  return node;
}

std::string node_with(data_view node, const Marks& marks, size_t depth);

/// `marks` lead through the node that has the graph as an attribute, in this branch or another; all lead through main
/// graphs.
std::string graph_with(data_view graph, const std::string& attribute, const Marks& marks, size_t depth) {
  const auto is_here = [&](const Mark& m) { return depth == 0 || m.path[depth - 1].attribute == attribute; };
  std::string out = changed(graph, [&](Tag tag, data_view field) -> std::optional<std::string> {
    if (tag != kGraphNode) return {};
    Marks through;
    for (const Mark* m : marks) {
      if (is_here(*m) && m->path.size() > depth && makes(field, m->path[depth].output)) through.push_back(m);
    }
    return through.empty() ? std::nullopt : std::optional(node_with(field, through, depth));
  });
  for (const Mark* m : marks) {
    const std::string name = name_at(*m, depth);
    protozero::pbf_writer p(out);
    if (!is_here(*m))
      p.add_message(kGraphNode, m->listed && depth <= lister(*m) ? empty_list(m->type, name) : nothing(m->type, name));
    else if (depth > 0 && m->path.size() == depth)
      p.add_message(kGraphNode, node_of("Identity", {m->value}, name));
    if (depth > 0 && lister(*m) == depth - 1) continue;  // continues as the next item of the list
    std::string info;
    protozero::pbf_writer(info).add_string(kValueName, name);
    p.add_message(kGraphOutput, info);
  }
  std::string begin;  // nodes before the Loop, as nodes come after those that they read
  for (const Mark* m : marks) {
    if (is_here(*m) && lister(*m) == depth)
      protozero::pbf_writer(begin).add_message(kGraphNode, empty_list(m->type, m->name + ".begin"));
  }
  return begin + out;
}

/// Inserts fields of that tag after the first `at` ones, and adds empty ones if there are fewer.
std::string inserted(data_view message, Tag tag, size_t at, const std::vector<std::string>& more) {
  std::vector<std::string> all;
  for (const data_view field : fields(message, tag)) all.push_back(field.to_string());
  all.resize(std::max(all.size(), at));
  all.insert(all.begin() + ptrdiff_t(at), more.begin(), more.end());
  std::string out = without(message, tag);
  for (const std::string& field : all) protozero::pbf_writer(out).add_message(tag, field);
  return out;
}

/// A Loop that carries a sequence for each mark: it is empty at the start, and each iteration appends a tensor.
std::string listing_loop(data_view node, const Marks& marks, size_t depth) {
  const size_t inputs = fields(node, kNodeInput).size(), carried = std::max<size_t>(inputs, 2) - 2;
  std::string out = changed(node, [&](Tag tag, data_view attribute) -> std::optional<std::string> {
    if (tag != kNodeAttribute) return {};
    return changed(attribute, [&](Tag field, data_view body) -> std::optional<std::string> {
      if (field != kAttributeGraph) return {};
      std::string longer = graph_with(body, text(attribute, kAttributeName), marks, depth + 1);
      std::vector<std::string> results;
      for (const Mark* m : marks) {
        protozero::pbf_writer p(longer);
        p.add_message(kGraphInput, list_info(m->type, m->name + ".list"));
        p.add_message(kGraphNode,
                      node_of("SequenceInsert", {m->name + ".list", name_at(*m, depth + 1)}, m->name + ".end"));
        results.push_back(list_info(m->type, m->name + ".end"));
      }
      return inserted(longer, kGraphOutput, 1 + carried, results);  // the condition is the first
    });
  });
  std::vector<std::string> names;
  for (size_t i = inputs; i < 2; ++i) protozero::pbf_writer(out).add_string(kNodeInput, "");
  for (const Mark* m : marks) {
    protozero::pbf_writer(out).add_string(kNodeInput, m->name + ".begin");
    names.push_back(name_at(*m, depth));
  }
  return inserted(out, kNodeOutput, carried, names);
}

std::string node_with(data_view node, const Marks& marks, size_t depth) {
  if (lister(*marks.at(0)) == depth) return listing_loop(node, marks, depth);
  size_t results = 0;  // of a body
  std::string out = changed(node, [&](Tag tag, data_view attribute) -> std::optional<std::string> {
    if (tag != kNodeAttribute) return {};
    const std::string name = text(attribute, kAttributeName);
    if (name == "scan_output_axes" || name == "scan_output_directions") {
      std::string longer = attribute.to_string();
      for (size_t i = 0; i < marks.size(); ++i) protozero::pbf_writer(longer).add_int64(kAttributeInts, 0);
      return longer;
    }
    return changed(attribute, [&](Tag field, data_view body) -> std::optional<std::string> {
      if (field != kAttributeGraph) return {};
      results = fields(body, kGraphOutput).size();
      return graph_with(body, name, marks, depth + 1);
    });
  });
  protozero::pbf_writer p(out);
  if (text(node, kNodeOperator) == "Loop") --results;  // the condition stays inside
  for (size_t i = fields(node, kNodeOutput).size(); i < results; ++i) p.add_string(kNodeOutput, "");
  for (const Mark* m : marks) p.add_string(kNodeOutput, name_at(*m, depth));
  return out;
}

std::optional<data_view> find_body(data_view graph, const BodyStep& step) {
  for (const data_view node : fields(graph, kGraphNode)) {
    if (!makes(node, step.output)) continue;
    for (const data_view attribute : fields(node, kNodeAttribute)) {
      const auto bodies = fields(attribute, kAttributeGraph);
      if (!bodies.empty() && text(attribute, kAttributeName) == step.attribute) return bodies[0];
    }
  }
  return {};
}

}  // namespace

std::string read_model_file(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Failure& f) {
    throw Failure(path + ": " + f.what());
  }
}

std::vector<data_view> graphs_at(const std::string& model, const std::vector<BodyStep>& path) {
  std::vector<data_view> graphs{find_graph(model)};
  for (const BodyStep& step : path) {
    const auto body = find_body(graphs.back(), step);
    if (!body) return {};
    graphs.push_back(*body);
  }
  return graphs;
}

std::map<std::string, std::string> made_values(const std::string& model, const std::vector<BodyStep>& path) try {
  std::map<std::string, std::string> made;
  const std::vector<data_view> graphs = graphs_at(model, path);
  if (graphs.empty()) return made;
  for (const data_view node : fields(graphs.back(), kGraphNode)) {
    for (const data_view name : fields(node, kNodeOutput)) {
      if (!name.empty()) made.emplace(name.to_string(), text(node, kNodeOperator));
    }
  }
  return made;
} catch (const protozero::exception&) {
  throw Failure("the model is not an ONNX file");
}

bool can_list(const std::vector<BodyStep>& path) {
  const auto turns = [](const BodyStep& s) { return s.op == "Loop" || s.op == "Scan"; };
  const auto first = std::find_if(path.begin(), path.end(), turns);
  return first != path.end() && first->op == "Loop" && std::find_if(first + 1, path.end(), turns) == path.end();
}

std::string with_outputs(const std::string& model, const std::vector<Mark>& marks) {
  Marks all;
  for (const Mark& m : marks) all.push_back(&m);
  return changed(data_view(model), [&](Tag tag, data_view graph) {
    return tag == kModelGraph ? std::optional(graph_with(graph, "", all, 0)) : std::nullopt;
  });
}

}  // namespace retort::cli
