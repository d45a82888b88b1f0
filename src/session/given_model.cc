#include "session/given_model.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/fingerprint.h"
#include "ep/cpu.h"
#include "onnx/functions.h"
#include "ops/op.h"
#include "session/value_layout.h"

namespace retort {
namespace {

// Gives a named extent of the model's inputs its number, in every type of the graph outside of bodies.
void set_symbol(Graph& graph, Dim symbol, int64_t extent) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    Shape& shape = graph.value(ValueId(i)).type.shape;
    std::replace(shape.begin(), shape.end(), symbol, extent);
  }
}

bool is_extent_of_input(const Graph& graph, Dim symbol) {
  return std::ranges::any_of(graph.inputs, [&](ValueId id) {
    const Shape& shape = graph.value(id).type.shape;
    return std::find(shape.begin(), shape.end(), symbol) != shape.end();
  });
}

ValueType without_extents(ValueType type) {
  if (type.is_tensor()) return ValueType::tensor(type.dtype);
  if (type.element) type.element = std::make_shared<const ValueType>(without_extents(*type.element));
  return type;
}

void lay_out_values(Model& model, const SessionOptions& options, const Logger& logger) {
  if (options.config_entry("session.gqa_value_layout") != "BNHS") return;
  if (const size_t caches = lay_out_values_bnhs(model)) {
    logger.warn("session.gqa_value_layout is BNHS: each run copies {} caches of values into the order BNSH or back",
                caches);
  }
}

void replace_initializer(const std::string& name, Tensor& tensor, const SessionOptions& options) {
  for (const auto* given : {&options.initializers, &options.external_initializers}) {
    const auto found = given->find(name);
    if (found == given->end()) continue;
    const bool same = found->second.dtype() == tensor.dtype() && found->second.shape() == tensor.shape();
    require(same, ErrorCode::invalid_argument,
            "initializer '{}' is {}{} in the model, {}{} was given; give the type and shape of the model", name,
            dtype_name(tensor.dtype()), to_string(tensor.shape()), dtype_name(found->second.dtype()),
            to_string(found->second.shape()));
    // The tensor has no owner: the options keep the memory, and no other session shares it, since the caller may write
    // to it.
    tensor = Tensor(tensor.dtype(), tensor.shape(), const_cast<void*>(found->second.data()), nullptr);
  }
}

void set_extents(Model& model, const SessionOptions& options) {
  Graph& graph = *model.graph;
  for (const auto& [denotation, symbol] : model.denotations) {
    const auto extent = options.dims_by_denotation.find(denotation);
    if (extent != options.dims_by_denotation.end() && is_extent_of_input(graph, symbol))
      set_symbol(graph, symbol, extent->second);
  }
  for (const auto& [name, extent] : options.dims_by_name) set_symbol(graph, model.dims->symbol(name), extent);
}

void forget_made(Graph& graph) {
  for (const NodeId id : graph.order()) {
    for (const ValueId out : graph.node(id).outputs) {
      if (out != ValueId::none) graph.value(out).type = without_extents(graph.value(out).type);
    }
    for (Body& b : graph.node(id).bodies) forget_made(*b.graph);
  }
}

bool is_random(const Node& node) {
  constexpr std::array kTypes{"Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
                              "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  const bool takes_seed = node.type != "Dropout" || node.version >= 12;
  return node.domain.empty() && takes_seed && std::ranges::find(kTypes, node.type) != kTypes.end();
}

void seed_random(Graph& graph, size_t seed, size_t& place) {
  for (const NodeId id : graph.order()) {
    Node& node = graph.node(id);
    for (Body& b : node.bodies) seed_random(*b.graph, seed, place);
    if (!is_random(node) || node.attributes.has("seed")) continue;
    Fingerprint key;
    key.add(uint64_t(seed));
    key.add(uint64_t(++place));
    const uint32_t number = uint32_t(key.high() >> 40);  // 24 bits, which a float holds exactly
    if (node.is("Dropout"))
      node.attributes.set("seed", int64_t(number));
    else
      node.attributes.set("seed", float(number));
  }
}

}  // namespace

void apply_options(Model& model, const SessionOptions& options, const Logger& logger) {
  lay_out_values(model, options, logger);
  set_extents(model, options);
  Graph& graph = *model.graph;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    GraphValue& v = graph.value(ValueId(i));
    if (v.is_constant()) replace_initializer(v.name, v.constant, options);
  }
  for (auto& [id, tensor] : graph.defaults) replace_initializer(graph.value(id).name, tensor, options);
}

void forget_contents(Graph& graph) {
  for (const ValueId id : graph.inputs) {
    ValueType& type = graph.value(id).type;
    if (!type.is_tensor()) type = without_extents(type);
  }
}

void forget_names(Graph& graph) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    for (Dim& d : graph.value(ValueId(i)).type.shape) {
      if (is_symbolic(d)) d = graph.dims().fresh_extent();
    }
  }
  for (NodeId id : graph.order()) {
    for (Body& b : graph.node(id).bodies) forget_names(*b.graph);
  }
}

void forget_scalars(Graph& graph) {
  for (const ValueId id : graph.inputs) {
    ValueType& type = graph.value(id).type;
    if (type.is_tensor() && type.ranked && type.rank() == 0) type = without_extents(type);
  }
  forget_made(graph);
}

void expand_functions(Model& model, const SessionOptions& options) {
  InlineOptions bounds;
  bounds.nodes = options.config_number("session.function_expansion_node_limit").value_or(bounds.nodes);
  bounds.bytes = options.config_number("session.function_expansion_byte_limit").value_or(bounds.bytes);
  // As in ONNX Runtime, an operator has precedence over a function of the same name.
  bounds.keep = [&](const Node& call) {
    if (options.external_ops && options.external_ops->find(call.domain, call.type, call.version)) return true;
    const OpDef* op = find_op(call.domain, call.type);
    return has_operator(call.domain, call.type) && (!op || op->info.since.front() <= call.version);
  };
  inline_functions(model, bounds);
}

void seed_random(Model& model, const SessionOptions& options) {
  const std::string& entry = options.config_entry("session.random_seed");
  if (entry.empty()) return;
  const std::optional<size_t> seed = options.config_number("session.random_seed");
  require(seed.has_value(), ErrorCode::invalid_argument, "session.random_seed is '{}', not a number from 0", entry);
  size_t place = 0;
  seed_random(*model.graph, *seed, place);
}

}  // namespace retort
