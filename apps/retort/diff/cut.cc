#include "diff/cut.h"

#include <algorithm>

#include "diff/proto.h"
#include "formats/formats.h"
#include "formats/new_file.h"

namespace retort::cli {
namespace {

bool makes_one(data_view node, const std::set<std::string>& names) {
  const auto outputs = fields(node, kNodeOutput);
  return std::any_of(outputs.begin(), outputs.end(), [&](data_view o) { return names.contains(o.to_string()); });
}

/// Adds the names that the nodes of a graph read and the graph does not make.
void add_reads(data_view graph, std::set<std::string>& reads);

void add_node_reads(data_view node, std::set<std::string>& reads) {
  for (const data_view name : fields(node, kNodeInput)) {
    if (!name.empty()) reads.insert(name.to_string());
  }
  for (const data_view attribute : fields(node, kNodeAttribute)) {
    for (const data_view body : fields(attribute, kAttributeGraph)) add_reads(body, reads);
  }
}

void add_reads(data_view graph, std::set<std::string>& reads) {
  std::set<std::string> inner, own;
  for (const data_view node : fields(graph, kGraphNode)) {
    add_node_reads(node, inner);
    for (const data_view name : fields(node, kNodeOutput)) own.insert(name.to_string());
  }
  for (const data_view output : fields(graph, kGraphOutput)) inner.insert(text(output, kValueName));
  for (const data_view input : fields(graph, kGraphInput)) own.insert(text(input, kValueName));
  for (const data_view weight : fields(graph, kGraphInitializer)) own.insert(text(weight, kTensorName));
  std::set_difference(inner.begin(), inner.end(), own.begin(), own.end(), std::inserter(reads, reads.end()));
}

/// The parts of a model that a cut consists of.
struct Parts {
  std::vector<data_view> nodes, weights;
  std::set<std::string> inputs;
};

/// Takes the weights that the nodes read out of their graph and those around it; `graphs`: outermost first.
void take_weights(const std::vector<data_view>& graphs, std::set<std::string> reads, Parts& all) {
  for (auto graph = graphs.rbegin(); graph != graphs.rend(); ++graph) {
    for (const data_view weight : fields(*graph, kGraphInitializer)) {
      if (reads.erase(text(weight, kTensorName))) all.weights.push_back(weight);
    }
    // Graphs further out do not see a name that is made here.
    for (const data_view node : fields(*graph, kGraphNode)) {
      for (const data_view name : fields(node, kNodeOutput)) reads.erase(name.to_string());
    }
    for (const data_view input : fields(*graph, kGraphInput)) reads.erase(text(input, kValueName));
  }
}

Parts parts_of(const std::string& model, const CutPlace& place) {
  const std::vector<data_view> graphs = graphs_at(model, place.path);
  if (graphs.empty()) throw Failure("the nodes cannot be cut out: the model has no such body");
  const data_view graph = graphs.back();
  const std::set<std::string>& made = place.made;
  Parts all;
  std::set<std::string> reads, own;
  const auto take = [&](data_view node) {
    all.nodes.push_back(node);
    for (const data_view name : fields(node, kNodeOutput)) own.insert(name.to_string());
  };
  const auto nodes = fields(graph, kGraphNode);
  for (const data_view node : nodes) {
    if (makes_one(node, made)) add_node_reads(node, reads);
  }
  for (const data_view node : nodes) {
    if (makes_one(node, made) || (text(node, kNodeOperator) == "Constant" && makes_one(node, reads))) take(node);
  }
  std::set<std::string> given;
  std::set_difference(reads.begin(), reads.end(), own.begin(), own.end(), std::inserter(given, given.end()));
  take_weights(graphs, given, all);
  for (const data_view weight : all.weights) own.insert(text(weight, kTensorName));
  std::set_difference(reads.begin(), reads.end(), own.begin(), own.end(), std::inserter(all.inputs, all.inputs.end()));
  return all;
}

/// A ValueInfoProto.
std::string port(const std::string& name, const HostValues& values) {
  const auto found = values.find(name);
  if (found == values.end() || found->second.kind != HostValue::Kind::tensor)
    throw Failure("the nodes cannot be cut out: '" + name + "' is not a tensor, or was not computed");
  const HostTensor& t = found->second.tensor;
  std::string shape, tensor, type, info;
  for (const int64_t extent : t.shape) {
    std::string dimension;
    protozero::pbf_writer(dimension).add_int64(1, extent);
    protozero::pbf_writer(shape).add_message(1, dimension);
  }
  protozero::pbf_writer p(tensor);
  p.add_int32(kTypeElement, pb_type_number(t.type));
  p.add_message(kTypeShape, shape);
  protozero::pbf_writer(type).add_message(kTypeTensor, tensor);
  protozero::pbf_writer v(info);
  v.add_string(kValueName, name);
  v.add_message(kValueType, type);
  return info;
}

}  // namespace

std::set<std::string> cut_inputs(const std::string& model, const CutPlace& place) {
  return parts_of(model, place).inputs;
}

CutModel cut(const std::string& model, const CutPlace& place, const HostValues& values) {
  const Parts all = parts_of(model, place);
  std::string graph;
  protozero::pbf_writer g(graph);
  for (const data_view node : all.nodes) g.add_message(kGraphNode, node);
  g.add_string(kGraphName, "cut");
  for (const data_view weight : all.weights) g.add_message(kGraphInitializer, weight);
  for (const std::string& name : all.inputs) g.add_message(kGraphInput, port(name, values));
  g.add_message(kGraphOutput, port(place.output, values));
  CutModel result{changed(data_view(model),
                          [&](Tag tag, data_view) -> std::optional<std::string> {
                            return tag == kModelGraph ? std::optional(graph) : std::nullopt;
                          }),
                  {all.inputs.begin(), all.inputs.end()},
                  all.nodes.size()};
  return result;
}

void write_cut_files(const std::string& folder, const CutModel& model, const HostValues& inputs) {
  NewFolder files(folder);
  files.write("model.onnx", model.bytes);
  for (size_t i = 0; i < model.inputs.size(); ++i)
    files.write("input_" + std::to_string(i) + ".pb", pb_bytes(inputs.at(model.inputs[i]), model.inputs[i]));
  files.finish();
}

}  // namespace retort::cli
