#include "lift/infer_types.h"

#include <vector>

namespace retort {
namespace {

/// Pairs of graphs and their copies, including bodies. Values and nodes keep their ids when a copy is lifted.
using Copies = std::vector<std::pair<Graph*, std::shared_ptr<Graph>>>;

void pair_up(Graph& graph, const std::shared_ptr<Graph>& copy, Copies& all) {
  all.emplace_back(&graph, copy);
  for (const NodeId id : graph.order()) {
    const auto &bodies = graph.node(id).bodies, &copies = copy->node(id).bodies;
    for (size_t i = 0; i < bodies.size(); ++i) pair_up(*bodies[i].graph, copies[i].graph, all);
  }
}

/// The type in `lifted`: that of the same value or, if the lift has replaced its producer, of the value that its reader
/// reads there.
ValueType type_in(const Graph& lifted, const Graph& graph, ValueId id) {
  const ValueType& same = lifted.value(id).type;
  if (same.kind != ValueType::Kind::unknown) return same;
  for (const Use& use : graph.value(id).uses) {
    const Node& reader = lifted.node(use.node);
    if (reader.dead || reader.input(use.slot) == ValueId::none) continue;
    const ValueType& read = lifted.value(reader.input(use.slot)).type;
    if (reader.type == graph.node(use.node).type && read.kind != ValueType::Kind::unknown) return read;
  }
  return {};
}

void take_type(GraphValue& value, const ValueType& found) {
  const bool lacks = value.type.kind == ValueType::Kind::unknown || (value.type.is_tensor() && !value.type.ranked);
  if (lacks && !value.is_constant() && found.kind != ValueType::Kind::unknown) value.type = found;
}

void take_types(Graph& graph, const Graph& lifted) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    take_type(graph.value(ValueId(i)), type_in(lifted, graph, ValueId(i)));
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    take_type(graph.value(graph.outputs[i]), lifted.value(lifted.outputs[i]).type);
  }
}

}  // namespace

std::optional<Error> infer_types(Graph& graph, const ExternalOps* external) {
  Copies copies;
  const std::shared_ptr<Graph> copy = graph.clone();
  pair_up(graph, copy, copies);
  std::optional<Error> stopped;
  try {
    lift(*copy, external);
  } catch (const Error& e) {
    stopped = e;
  }
  for (auto& [original, lifted] : copies) take_types(*original, *lifted);
  return stopped;
}

}  // namespace retort
