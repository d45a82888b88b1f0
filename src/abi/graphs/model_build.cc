// Converts graphs that a caller made to the engine's models.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "abi/graphs/graph.h"
#include "base/advice.h"
#include "base/log.h"
#include "ir/describe.h"
#include "onnx/opsets.h"

namespace retort::abi {
namespace {

constexpr int64_t kIrVersion = 14;  // as ONNX Runtime 1.32 makes them

/// The type that a caller described, with the model's named extents.
ValueType value_type(const OrtTypeInfo& info, DimTable& dims) {
  if (info.tensor) {
    const OrtTensorTypeAndShapeInfo& t = *info.tensor;
    ValueType type = ValueType::tensor(from_onnx(t.type));
    if (info.kind == ONNX_TYPE_SPARSETENSOR) type.kind = ValueType::Kind::sparse;
    if (!t.has_shape) return type;
    std::vector<Dim> extents;
    for (size_t i = 0; i < t.dims.size(); ++i) {
      const bool named = i < t.symbols.size() && !t.symbols[i].empty();
      extents.push_back(t.dims[i] >= 0 ? t.dims[i] : named ? dims.symbol(t.symbols[i]) : dims.fresh_extent());
    }
    type.ranked = true;
    type.shape = Shape(extents);
    return type;
  }
  if (info.sequence) return ValueType::sequence_of(value_type(info.sequence->element, dims));
  if (info.optional) return ValueType::optional_of(value_type(info.optional->contained, dims));
  ValueType type;
  if (!info.map) return type;
  type.kind = ValueType::Kind::map;
  type.key = from_onnx(info.map->key);
  type.element = std::make_shared<const ValueType>(value_type(info.map->value, dims));
  if (type.element->is_tensor()) type.dtype = type.element->dtype;
  return type;
}

/// The elements that a session keeps: a copy, unless the caller guarantees that they stay in place.
Tensor kept(const OrtGraph::Initializer& initializer) {
  const Tensor& given = *initializer.value->value.tensor();
  if (initializer.external) return given;
  Tensor copy(given.dtype(), given.shape());
  if (given.dtype() == DType::string) {
    std::copy_n(given.data<std::string>(), given.count(), copy.mutable_data<std::string>());
  } else if (given.bytes()) {
    std::memcpy(copy.mutable_data(), given.data(), given.bytes());
  }
  return copy;
}

std::string text_of(const OrtNode& node) { return cat("node '{}' ({})", node.name, node.type); }

/// Adds a caller's nodes and values to a graph, by name.
class Merger {
 public:
  Merger(Model& model, const OrtGraph& made, const Logger* logger)
      : model_(model), graph_(*model.graph), made_(made), logger_(logger) {
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      if (!graph_.value(ValueId(i)).name.empty()) names_.emplace(graph_.value(ValueId(i)).name, ValueId(i));
    }
    for (const NodeId id : graph_.order()) {
      if (!graph_.node(id).name.empty()) node_names_.insert(graph_.node(id).name);
    }
  }

  void run() {
    if (!made_.inputs.empty()) set_inputs();
    for (const auto& [name, initializer] : made_.initializers) add_initializer(name, initializer);
    for (const auto& n : made_.nodes) declare_outputs(*n);
    for (const auto& n : made_.nodes) add_node(*n);
    if (!made_.outputs.empty()) set_outputs();
    check_sources();
    try {
      graph_.order();
    } catch (const Error& e) {
      fail(ErrorCode::fail, "{}",
           e.message());  // a cycle: invalid in ONNX Runtime, too, but not INVALID_GRAPH
    }
  }

 private:
  ValueId find(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? ValueId::none : found->second;
  }

  std::string correction(const std::string& name) const {
    std::vector<std::string_view> known;
    for (const auto& [n, id] : names_) known.push_back(n);
    const std::string_view near = nearest(name, known);
    return near.empty() ? "add a node that makes it, or correct the name"
                        : cat("use '{}', or add a node that makes it", near);
  }

  /// A value that is no longer an input needs another source.
  void set_inputs() {
    std::map<ValueId, Tensor> defaults = std::move(graph_.defaults);
    graph_.defaults.clear();
    graph_.inputs.clear();
    for (const auto& info : made_.inputs) {
      ValueId id = find(info->name);
      if (id == ValueId::none) id = names_.emplace(info->name, graph_.add_value(info->name)).first->second;
      const GraphValue& v = graph_.value(id);
      const bool twice = graph_.is_input(id) || v.producer != NodeId::none;
      require(!twice, ErrorCode::fail, "there are two definitions of input '{}'; rename one", info->name);
      if (v.is_constant()) {
        graph_.defaults[id] = std::move(graph_.value(id).constant);
        graph_.value(id).constant = {};
      }
      graph_.value(id).type = value_type(info->type, graph_.dims());
      graph_.inputs.push_back(id);
    }
    for (auto& [id, tensor] : defaults) {
      if (graph_.is_input(id)) {
        graph_.defaults[id] = std::move(tensor);
      } else {
        graph_.value(id).type = ValueType::tensor(tensor.dtype(), tensor.shape());
        graph_.value(id).constant = std::move(tensor);
      }
    }
  }

  void add_initializer(const std::string& name, const OrtGraph::Initializer& initializer) {
    const ValueId id = find(name);
    if (id == ValueId::none) {
      names_.emplace(name, graph_.add_constant(name, kept(initializer)));
      return;
    }
    const GraphValue& v = graph_.value(id);
    if (v.is_constant() || graph_.defaults.contains(id)) {
      if (logger_) logger_->warn("the model already has an initializer '{}', which stays unchanged", name);
      return;
    }
    if (v.producer != NodeId::none) {
      fail(ErrorCode::fail, "there are two definitions of '{}', an initializer and an output of {}; rename one", name,
           describe(graph_, graph_.node(v.producer)));
    }
    if (!graph_.is_input(id)) return make_constant(id, kept(initializer));
    const Tensor& given = *initializer.value->value.tensor();
    const ValueType is = ValueType::tensor(given.dtype(), given.shape());
    require(admits(v.type, Value(given)) && extents_fit(v.type, Value(given)), ErrorCode::fail,
            "initializer '{}' is {}, but the input of that name is {}; make the types equal", name,
            type_text(graph_, is), type_text(graph_, v.type));
    graph_.defaults[id] = kept(initializer);
  }

  void make_constant(ValueId id, Tensor tensor) {
    graph_.value(id).type = ValueType::tensor(tensor.dtype(), tensor.shape());
    graph_.value(id).constant = std::move(tensor);
  }

  void declare_outputs(const OrtNode& node) {
    require(node.name.empty() || node_names_.insert(node.name).second, ErrorCode::fail,
            "{}: there are two nodes of that name; rename one", text_of(node));
    for (const std::string& name : node.output_names) {
      if (name.empty()) continue;
      const auto [at, added] = names_.try_emplace(name, ValueId::none);
      if (added) at->second = graph_.add_value(name);
      const GraphValue& v = graph_.value(at->second);
      const bool taken = v.producer != NodeId::none || v.is_constant() || graph_.is_input(at->second) ||
                         !declared_.insert(at->second).second;
      require(!taken, ErrorCode::fail, "{}: there are two definitions of its output '{}'; rename one", text_of(node),
              name);
      graph_.value(at->second).type = {};
    }
  }

  void add_node(const OrtNode& made) {
    Node node;
    node.type = made.type;
    node.domain = made.domain;
    node.name = made.name;
    require(!node.type.empty(), ErrorCode::invalid_graph, "{}: it has no operator type", text_of(made));
    const auto opset = model_.opsets.find(made.domain);
    node.version = opset == model_.opsets.end() ? 0 : opset->second;
    require(node.version > 0 || opset == model_.opsets.end(), ErrorCode::invalid_graph,
            "{}: the model imports version {} of domain '{}', which does not exist", text_of(made), node.version,
            made.domain);
    for (const std::string& name : made.input_names) {
      const ValueId id = name.empty() ? ValueId::none : find(name);
      if (!name.empty() && id == ValueId::none) {
        fail(ErrorCode::invalid_argument,
             "{}: its input '{}' is not a graph input, an initializer or the output of a node; {}", text_of(made), name,
             correction(name));
      }
      node.inputs.push_back(id);
    }
    for (const std::string& name : made.output_names) node.outputs.push_back(name.empty() ? ValueId::none : find(name));
    for (const auto& a : made.attributes) {
      require(!node.attributes.has(a->name), ErrorCode::invalid_argument, "{}: attribute '{}' was given twice",
              text_of(made), a->name);
      node.attributes.set(a->name, a->value);
    }
    graph_.add_node(std::move(node));
  }

  void set_outputs() {
    graph_.outputs.clear();
    for (const auto& info : made_.outputs) {
      const ValueId id = find(info->name);
      if (id == ValueId::none) {
        fail(ErrorCode::invalid_graph,
             "graph output '{}' is neither the output of a node nor an input or initializer; {}", info->name,
             correction(info->name));
      }
      GraphValue& v = graph_.value(id);
      if (v.producer != NodeId::none) v.type = value_type(info->type, graph_.dims());
      graph_.outputs.push_back(id);
    }
    graph_.touch();
  }

  /// Every value that is read must have a source: inputs may have been replaced.
  void check_sources() {
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const GraphValue& v = graph_.value(ValueId(i));
      const bool has = v.producer != NodeId::none || v.is_constant() || graph_.is_input(ValueId(i));
      if (has || graph_.use_count(ValueId(i)) == 0) continue;
      const std::string reader = v.uses.empty() ? "the graph's output" : describe(graph_, graph_.node(v.uses[0].node));
      fail(ErrorCode::invalid_argument,
           "'{}', which {} reads, is not a graph input, an initializer or the output of a node; add a node that makes "
           "it",
           v.name, reader);
    }
  }

  Model& model_;
  Graph& graph_;
  const OrtGraph& made_;
  const Logger* logger_;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_set<std::string> node_names_;
  std::unordered_set<ValueId> declared_;
};

const OrtGraph& graph_of(const OrtModel& made) {
  require(made.graph != nullptr, ErrorCode::invalid_argument, "the model has no graph; call AddGraphToModel first");
  return *made.graph;
}

}  // namespace

std::shared_ptr<Model> build_model(const OrtModel& made, bool newer_opsets) {
  require(made.opsets.contains(""), ErrorCode::invalid_argument,
          "the model imports no version of the domain ai.onnx; give it to CreateModel");
  if (!newer_opsets) require_known_opsets(made.opsets);
  auto model = std::make_shared<Model>();
  model->ir_version = kIrVersion;
  model->opsets = made.opsets;
  model->graph->name = "ModelEditorGraph";
  Merger(*model, graph_of(made), nullptr).run();
  return model;
}

void extend_model(Model& model, const OrtModel& made, const Logger& logger) {
  Model extended = model;
  for (const auto& [domain, version] : made.opsets) {
    const int known = extended.opsets.try_emplace(domain, version).first->second;
    require(known == version, ErrorCode::invalid_argument,
            "the model imports version {} of domain '{}', the added graph version {}; make it for version {}", known,
            domain, version, known);
  }
  extended.graph = model.graph->clone();
  Merger(extended, graph_of(made), &logger).run();
  model = std::move(extended);
}

}  // namespace retort::abi
