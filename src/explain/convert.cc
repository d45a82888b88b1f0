#include "explain/convert.h"

#include "lift/lift.h"
#include "onnx/functions.h"

namespace retort {
namespace {

bool is_unknown(const GraphValue& v) { return v.type.kind == ValueType::Kind::unknown && !v.is_constant(); }

bool lacks_types(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    for (const ValueId out : n.outputs) {
      if (out != ValueId::none && is_unknown(graph.value(out))) return true;
    }
    for (const Body& b : n.bodies) {
      if (lacks_types(*b.graph)) return true;
    }
  }
  return false;
}

/// The type in `from`, a lifted copy of the graph: of the same value, or of what its reader reads there where the lift has
/// replaced what made it.
ValueType type_in(const Graph& from, const Graph& graph, ValueId id) {
  const ValueType& same = from.value(id).type;
  if (same.kind != ValueType::Kind::unknown) return same;
  for (const Use& use : graph.value(id).uses) {
    const Node& reader = from.node(use.node);
    if (reader.dead || reader.input(use.slot) == ValueId::none) continue;
    const ValueType& read = from.value(reader.input(use.slot)).type;
    if (reader.type == graph.node(use.node).type && read.kind != ValueType::Kind::unknown) return read;
  }
  return {};
}

/// Gives the values of `to` that have no type what the lift found out about its copy `from`.
void take_types(Graph& to, const Graph& from) {
  for (size_t i = 0; i < to.value_count(); ++i) {
    GraphValue& v = to.value(ValueId(i));
    if (is_unknown(v)) v.type = type_in(from, to, ValueId(i));
  }
  for (size_t i = 0; i < to.outputs.size(); ++i) {
    GraphValue& v = to.value(to.outputs[i]);
    if (is_unknown(v)) v.type = from.value(from.outputs[i]).type;
  }
  for (const NodeId id : to.order()) {
    Node& n = to.node(id);
    const std::vector<Body>& bodies = from.node(id).bodies;
    for (size_t i = 0; i < std::min(n.bodies.size(), bodies.size()); ++i)
      take_types(*n.bodies[i].graph, *bodies[i].graph);
  }
}

/// ORT format has neither functions nor Constant nodes, and wants the type of every value: it is inferred on a copy in the
/// core dialect, the model keeps its own.
void prepare_for_ort(Model& model) {
  inline_functions(model);
  lift_constants(*model.graph);
  if (!lacks_types(*model.graph)) return;
  const std::shared_ptr<Graph> copy = model.graph->clone();
  lift(*copy);
  take_types(*model.graph, *copy);
}

}  // namespace

void convert_model(const std::string& from, const std::string& to, ModelFormat format, const WriteOptions& options) {
  const bool ort = format == ModelFormat::ort;
  require(!ort || options.external_file.empty(), ErrorCode::invalid_argument,
          "weights of ORT format are always inside the file, not in '{}'; leave it out, or write ONNX",
          options.external_file);
  const auto model = load_model(from);
  if (ort) prepare_for_ort(*model);
  save_model(*model, to, format, options);
}

}  // namespace retort
