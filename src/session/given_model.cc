#include "session/given_model.h"

#include <algorithm>
#include <array>

#include "base/advice.h"
#include "base/error.h"
#include "base/fingerprint.h"
#include "ep/cpu.h"
#include "lift/lift.h"
#include "onnx/functions.h"
#include "ops/op.h"
#include "session/value_layout.h"

namespace retort {
namespace {

// Gives a named extent of the model's inputs its number, in every type of the graph outside of bodies. A negative number
// makes it an extent that is not known and has no name, as if the file did not have it.
void set_symbol(Graph& graph, Dim symbol, int64_t extent) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    Shape& shape = graph.value(ValueId(i)).type.shape;
    for (Dim& d : shape) {
      if (d == symbol) d = extent < 0 ? graph.dims().fresh_extent() : extent;
    }
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

using Initializers = std::map<std::string_view, Tensor*>;

Initializers initializers_of(Graph& graph) {
  Initializers all;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    GraphValue& v = graph.value(ValueId(i));
    if (v.is_constant()) all.emplace(v.name, &v.constant);
  }
  for (auto& [id, tensor] : graph.defaults) all.emplace(graph.value(id).name, &tensor);
  return all;
}

// Adds the initializers of that name in bodies.
void find_in_bodies(const Graph& graph, const std::string& name, std::vector<Tensor*>& found) {
  for (const NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies) {
      const Initializers all = initializers_of(*b.graph);
      if (const auto it = all.find(name); it != all.end()) found.push_back(it->second);
      find_in_bodies(*b.graph, name, found);
    }
  }
}

std::string known_names(const std::string& name, const Initializers& all) {
  if (all.empty()) return "it has none";
  std::vector<std::string_view> names;
  for (const auto& [known, tensor] : all) names.push_back(known);
  return use_one_of(name, names);
}

void replace_initializer(const std::string& name, Tensor& tensor, const Tensor& given) {
  require(given.dtype() == tensor.dtype() && given.shape() == tensor.shape(), ErrorCode::invalid_argument,
          "initializer '{}' is {}{} in the model, {}{} was given; give the type and shape of the model", name,
          dtype_name(tensor.dtype()), to_string(tensor.shape()), dtype_name(given.dtype()), to_string(given.shape()));
  // The tensor has no owner: the options keep the memory, and no other session shares it, since the caller may write
  // to it.
  tensor = Tensor(tensor.dtype(), tensor.shape(), const_cast<void*>(given.data()), nullptr);
}

// Values for data in other files: reading the model has put them into place, except in a model without files, whose
// external data lies in memory of the caller.
void replace_external(const Graph& graph, const Initializers& all, const SessionOptions& options) {
  for (const auto& [name, given] : options.external_initializers) {
    std::vector<Tensor*> found;
    if (const auto it = all.find(name); it != all.end())
      found.push_back(it->second);
    else
      find_in_bodies(graph, name, found);
    require(!found.empty(), ErrorCode::fail,
            "a value was given for the external data of initializer '{}', which the model does not have; {}", name,
            known_names(name, all));
    if (std::ranges::any_of(found, [&](const Tensor* t) { return t->data() == given.data(); })) continue;
    const auto external = std::ranges::find_if(found, [](const Tensor* t) { return !t->owner(); });
    require(external != found.end(), ErrorCode::fail,
            "a value was given for the external data of initializer '{}', whose data is in the model itself; give it "
            "as an initializer instead",
            name);
    replace_initializer(name, **external, given);
  }
}

void replace_initializers(Graph& graph, const SessionOptions& options, const Logger& logger) {
  if (options.initializers.empty() && options.external_initializers.empty()) return;
  lift_constants(graph);  // in ONNX Runtime, results of Constant nodes are initializers
  const Initializers all = initializers_of(graph);
  replace_external(graph, all, options);
  for (const auto& [name, given] : options.initializers) {
    const auto found = all.find(name);
    if (found != all.end())
      replace_initializer(name, *found->second, given);
    else  // ONNX Runtime ignores it without a message
      logger.warn("a value was given for initializer '{}', which the model does not have, so it has no effect; {}",
                  name, known_names(name, all));
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
  replace_initializers(*model.graph, options, logger);
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
