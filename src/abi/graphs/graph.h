// OrtGraph, OrtNode and OrtModel: graphs that callers make, and views of the graph of a model. A view shows the model in
// its own dialect, before anything was made of it; it is complete when it is made and never changes, so any number of
// threads may read it.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "abi/graphs/attributes.h"
#include "abi/graphs/value_info.h"
#include "abi/values/value.h"
#include "base/log.h"
#include "ir/graph.h"
#include "onnx/reader.h"

/// Made by a caller: `input_names` and `output_names`. Of a view: what follows them.
struct OrtNode : retort::abi::Handle<retort::abi::tag_of("node")> {
  std::string type, domain, name;
  size_t id = 0;
  std::vector<std::unique_ptr<OrtOpAttr>> attributes;
  std::vector<std::string> input_names, output_names;
  bool added = false;  ///< to a graph, whose it is

  const OrtGraph* graph = nullptr;  ///< null: a caller made it
  int since = 0;
  std::vector<const OrtValueInfo*> inputs, outputs;  ///< null: left out
  std::vector<const OrtValueInfo*> implicit;         ///< what its bodies read from outside
  struct Subgraph {
    std::string attribute;
    std::unique_ptr<OrtGraph> graph;
  };
  std::vector<Subgraph> subgraphs;
};

namespace retort::abi {

/// A model as views show it, shared by all of them.
struct ViewedModel {
  std::shared_ptr<Model> model;
  std::vector<ExternalFile> files;  ///< of external data
};

/// What a graph is when it is a view.
struct GraphView {
  std::shared_ptr<const ViewedModel> model;
  const Graph* graph = nullptr;  ///< the model's, or a body's
  std::string name;
  const OrtNode* parent = nullptr;                    ///< whose body it is
  std::vector<std::unique_ptr<OrtValueInfo>> values;  ///< by ValueId; null: none that this graph shows
  std::vector<const OrtValueInfo*> inputs, outputs, initializers;
};

}  // namespace retort::abi

struct OrtGraph : retort::abi::Handle<retort::abi::tag_of("grap")> {
  struct Initializer {
    std::unique_ptr<OrtValue> value;
    bool external = false;  ///< its elements stay where they are; else a session gets a copy
  };
  std::vector<std::unique_ptr<OrtNode>> nodes;  ///< of a view: every producer before its consumers
  std::vector<std::unique_ptr<OrtValueInfo>> inputs, outputs;
  std::map<std::string, Initializer> initializers;
  std::unordered_set<const OrtValue*> owned;     ///< those of the initializers
  std::unique_ptr<retort::abi::GraphView> view;  ///< null: a caller made it
};

struct OrtModel : retort::abi::Handle<retort::abi::tag_of("modl")> {
  std::map<std::string, int> opsets;
  std::unique_ptr<OrtGraph> graph;
};

namespace retort::abi {

/// Takes over a model that was read and not lowered yet. It is brought to the form that providers see: functions are
/// expanded, Constant nodes are initializers, values have the types that follow from those of the inputs, as far as its
/// operators are known. `files` as ReadOptions::files gave them.
std::shared_ptr<const ViewedModel> view_model(std::shared_ptr<Model> model, std::vector<ExternalFile> files = {});
/// A view of the model's graph.
std::unique_ptr<OrtGraph> view_graph(std::shared_ptr<const ViewedModel> model);
/// A view of some nodes of a view's graph, as a graph with inputs and outputs of its own.
std::unique_ptr<OrtGraph> view_part(const OrtGraph& graph, std::span<const OrtNode* const> nodes);

/// What a model has that a caller made.
std::shared_ptr<Model> build_model(const OrtModel& made);
/// Adds it to `model`, whose inputs and outputs it replaces where it has any. `model` stays as it was when this throws.
void extend_model(Model& model, const OrtModel& made, const Logger& logger);

}  // namespace retort::abi
