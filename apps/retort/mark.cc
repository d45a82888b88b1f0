#include "mark.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "engine.h"

namespace retort::cli {
namespace {

// Field numbers of onnx.proto.
constexpr protozero::pbf_tag_type kModelGraph = 7, kGraphNode = 1, kGraphOutput = 12, kNodeOutput = 2, kValueName = 1;

/// The graph's bytes, and where their field begins and ends in the model.
struct GraphField {
  protozero::data_view graph;
  size_t begin = 0, end = 0;
};

GraphField find_graph(const std::string& model) {
  GraphField field;
  protozero::pbf_reader p(model);
  for (size_t begin = 0; p.next(); begin = model.size() - p.length()) {
    if (p.tag() != kModelGraph) {
      p.skip();
      continue;
    }
    if (field.end) throw Failure("the model has two graphs");
    field.graph = p.get_view();
    field.begin = begin;
    field.end = model.size() - p.length();
  }
  if (!field.end) throw Failure("the model has no graph");
  return field;
}

}  // namespace

std::string read_model_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(path + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> made_values(const std::string& model) try {
  std::vector<std::string> names;
  for (protozero::pbf_reader graph(find_graph(model).graph); graph.next(kGraphNode);) {
    for (protozero::pbf_reader node(graph.get_message()); node.next(kNodeOutput);) {
      std::string name = node.get_string();
      if (!name.empty()) names.push_back(std::move(name));
    }
  }
  return names;
} catch (const protozero::exception& e) {
  throw Failure(std::string("the model is no protobuf: ") + e.what());
}

std::string with_outputs(const std::string& model, const std::vector<std::string>& values) {
  const GraphField field = find_graph(model);
  std::string graph = field.graph.to_string();
  for (const std::string& value : values) {
    std::string info;
    protozero::pbf_writer(info).add_string(kValueName, value);
    protozero::pbf_writer(graph).add_message(kGraphOutput, info);
  }
  std::string marked = model.substr(0, field.begin);
  protozero::pbf_writer(marked).add_message(kModelGraph, graph);
  return marked.append(model, field.end);
}

}  // namespace retort::cli
