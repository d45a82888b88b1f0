// OrtGraph, OrtNode and OrtModel: graphs that callers make, and views of the graph of a model. A view shows the model
// in its own dialect, before any change to it. It is complete when it is made and never changes, so any number of
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

/// A node that a caller made has `input_names` and `output_names`; a node of a view has the fields after them.
struct OrtNode : retort::abi::Handle<retort::abi::tag_of("node")> {
  std::string type, domain, name;
  size_t id = 0;
  std::vector<std::unique_ptr<OrtOpAttr>> attributes;
  std::vector<std::string> input_names, output_names;
  bool added = false;  ///< whether a graph owns it

  const OrtGraph* graph = nullptr;  ///< null for a node that a caller made
  int since = 0;
  std::vector<const OrtValueInfo*> inputs, outputs;  ///< null: omitted
  std::vector<const OrtValueInfo*> implicit;         ///< values of outer graphs that its bodies read
  struct Subgraph {
    std::string attribute;
    std::unique_ptr<OrtGraph> graph;
  };
  std::vector<Subgraph> subgraphs;
};

namespace retort::abi {

/// A model that views show; all its views share it.
struct ViewedModel {
  std::shared_ptr<Model> model;
  std::vector<ExternalFile> files;  ///< that hold external data
};

/// The state of a graph that is a view.
struct GraphView {
  std::shared_ptr<const ViewedModel> model;
  const Graph* graph = nullptr;  ///< the model's graph, or a body
  std::string name;
  const OrtNode* parent = nullptr;                    ///< the node whose body it is
  std::vector<std::unique_ptr<OrtValueInfo>> values;  ///< by ValueId; null for values that this graph does not show
  std::vector<const OrtValueInfo*> inputs, outputs, initializers;
};

}  // namespace retort::abi

struct OrtGraph : retort::abi::Handle<retort::abi::tag_of("grap")> {
  struct Initializer {
    std::unique_ptr<OrtValue> value;
    bool external = false;  ///< whether the session uses its elements in place instead of a copy
  };
  std::vector<std::unique_ptr<OrtNode>> nodes;  ///< of a view: each producer comes before its consumers
  std::vector<std::unique_ptr<OrtValueInfo>> inputs, outputs;
  std::map<std::string, Initializer> initializers;
  std::unordered_set<const OrtValue*> owned;     ///< the values of the initializers
  std::unique_ptr<retort::abi::GraphView> view;  ///< null for a graph that a caller made
};

struct OrtModel : retort::abi::Handle<retort::abi::tag_of("modl")> {
  std::map<std::string, int> opsets;
  std::unique_ptr<OrtGraph> graph;
};

namespace retort::abi {

/// Takes a model that was read and not lowered yet, and changes it to the form that providers see: functions are
/// expanded, Constant nodes become initializers, and values have the types that follow from those of the inputs, as far
/// as the operators are known. `files` as ReadOptions::files has them.
std::shared_ptr<const ViewedModel> view_model(std::shared_ptr<Model> model, std::vector<ExternalFile> files = {});
/// Makes a view of the model's graph.
std::unique_ptr<OrtGraph> view_graph(std::shared_ptr<const ViewedModel> model);
/// Makes a view of some nodes of a view's graph, as a graph with inputs and outputs of its own.
std::unique_ptr<OrtGraph> view_part(const OrtGraph& graph, std::span<const OrtNode* const> nodes);

/// Builds the engine's model of a model that a caller made. Throws fail if it imports operator sets that are newer than
/// the known ones, unless `newer_opsets`.
std::shared_ptr<Model> build_model(const OrtModel& made, bool newer_opsets);
/// Adds a caller's graph to `model`, and replaces the model's inputs and outputs by the graph's if it has any. `model`
/// is unchanged if this throws.
void extend_model(Model& model, const OrtModel& made, const Logger& logger);

}  // namespace retort::abi
