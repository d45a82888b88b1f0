#include "mark.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "engine.h"

namespace retort::cli {
namespace {

using protozero::data_view;
using Tag = protozero::pbf_tag_type;
using Marks = std::vector<const Mark*>;

// Field numbers of onnx.proto.
constexpr Tag kModelGraph = 7, kGraphNode = 1, kGraphOutput = 12, kValueName = 1;
constexpr Tag kNodeInput = 1, kNodeOutput = 2, kNodeOperator = 4, kNodeAttribute = 5;
constexpr Tag kAttributeName = 1, kAttributeTensor = 5, kAttributeGraph = 6, kAttributeInts = 8, kAttributeType = 20;
constexpr Tag kTensorDims = 1, kTensorType = 2, kTensorRaw = 9;
constexpr int32_t kTensorAttribute = 4;  // AttributeProto.TENSOR

std::vector<data_view> fields(data_view message, Tag tag) {
  std::vector<data_view> all;
  for (protozero::pbf_reader p(message); p.next(tag, protozero::pbf_wire_type::length_delimited);)
    all.push_back(p.get_view());
  return all;
}

std::string text(data_view message, Tag tag) {
  const auto all = fields(message, tag);
  return all.empty() ? "" : all.back().to_string();
}

data_view find_graph(const std::string& model) {
  const auto graphs = fields(data_view(model), kModelGraph);
  if (graphs.size() != 1) throw Failure(graphs.empty() ? "the model has no graph" : "the model has two graphs");
  return graphs[0];
}

/// A message with other bytes in those of its fields for which `change` has some.
std::string changed(data_view message, const std::function<std::optional<std::string>(Tag, data_view)>& change) {
  std::string out;
  protozero::pbf_reader p(message);
  for (size_t begin = 0; p.next();) {
    std::optional<std::string> other;
    if (p.wire_type() == protozero::pbf_wire_type::length_delimited)
      other = change(p.tag(), p.get_view());
    else
      p.skip();
    const size_t end = message.size() - p.length();
    if (other)
      protozero::pbf_writer(out).add_message(p.tag(), *other);
    else
      out.append(message.data() + begin, end - begin);
    begin = end;
  }
  return out;
}

bool makes(data_view node, const std::string& value) {
  const auto outputs = fields(node, kNodeOutput);
  return std::any_of(outputs.begin(), outputs.end(), [&](data_view name) { return name.to_string() == value; });
}

/// The name of a mark in the graph of that depth: names are unique over all depths.
std::string name_at(const Mark& mark, size_t depth) {
  return depth ? mark.name + "." + std::to_string(depth) : mark.name;
}

std::string identity(const std::string& from, const std::string& to) {
  std::string node;
  protozero::pbf_writer p(node);
  p.add_string(kNodeInput, from);
  p.add_string(kNodeOutput, to);
  p.add_string(kNodeOperator, "Identity");
  return node;
}

/// A Constant of no elements.
std::string nothing(int32_t type, const std::string& to) {
  std::string tensor, attribute, node;
  protozero::pbf_writer t(tensor), a(attribute), p(node);
  t.add_int64(kTensorDims, 0);
  t.add_int32(kTensorType, type);
  t.add_bytes(kTensorRaw, "");
  a.add_string(kAttributeName, "value");
  a.add_message(kAttributeTensor, tensor);
  a.add_int32(kAttributeType, kTensorAttribute);
  p.add_string(kNodeOutput, to);
  p.add_string(kNodeOperator, "Constant");
  p.add_message(kNodeAttribute, attribute);
  return node;
}

std::string node_with(data_view node, const Marks& marks, size_t depth);

/// `marks` lead through the node whose attribute the graph is, in this or another branch; all lead through main graphs.
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
      p.add_message(kGraphNode, nothing(m->type, name));
    else if (depth > 0 && m->path.size() == depth)
      p.add_message(kGraphNode, identity(m->value, name));
    std::string info;
    protozero::pbf_writer(info).add_string(kValueName, name);
    p.add_message(kGraphOutput, info);
  }
  return out;
}

std::string node_with(data_view node, const Marks& marks, size_t depth) {
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
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(path + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> made_values(const std::string& model, const std::vector<BodyStep>& path) try {
  data_view graph = find_graph(model);
  for (const BodyStep& step : path) {
    const auto body = find_body(graph, step);
    if (!body) return {};
    graph = *body;
  }
  std::map<std::string, std::string> made;
  for (const data_view node : fields(graph, kGraphNode)) {
    for (const data_view name : fields(node, kNodeOutput)) {
      if (!name.empty()) made.emplace(name.to_string(), text(node, kNodeOperator));
    }
  }
  return made;
} catch (const protozero::exception& e) {
  throw Failure(std::string("the model is no protobuf: ") + e.what());
}

std::string with_outputs(const std::string& model, const std::vector<Mark>& marks) {
  Marks all;
  for (const Mark& m : marks) all.push_back(&m);
  return changed(data_view(model), [&](Tag tag, data_view graph) {
    return tag == kModelGraph ? std::optional(graph_with(graph, "", all, 0)) : std::nullopt;
  });
}

}  // namespace retort::cli
