// From a model in its own dialect to a plan.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "ep/cpu.h"
#include "ep/fold.h"
#include "ir/defaults.h"
#include "onnx/functions.h"
#include "ort_format/write.h"
#include "passes/optimize.h"
#include "session/context_output.h"
#include "session/placement_report.h"
#include "session/session.h"

namespace retort {
namespace {

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  size_t from = 0;
  while (from < list.size()) {
    const size_t to = std::min(list.find_first_of(";,", from), list.size());
    if (to > from) names.push_back(list.substr(from, to - from));
    from = to + 1;
  }
  return names;
}

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

// Every extent that the model names becomes one of its own.
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

// As ONNX Runtime does, without Constant nodes: they are initializers.
void add_assigned(const Graph& graph, const AssignedNode::Places& around, std::vector<AssignedPart>& all) {
  const auto places = [&](NodeId id) {
    AssignedNode::Places all{{&graph, id}};
    all.insert(all.end(), around.begin(), around.end());
    return all;
  };
  for (const NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies) add_assigned(*b.graph, places(id), all);
  }
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (!n.is("Constant")) all.push_back({"CPUExecutionProvider", {{n.name, n.domain, n.type, places(id)}}});
  }
}

ValueType without_extents(ValueType type) {
  if (type.is_tensor()) return ValueType::tensor(type.dtype);
  if (type.element) type.element = std::make_shared<const ValueType>(without_extents(*type.element));
  return type;
}

}  // namespace

// What sequences and optionals hold may have any extents, as in ONNX Runtime: the plan must not rely on those declared.
void Session::forget_contents(Graph& graph) {
  for (const ValueId id : graph.inputs) {
    ValueType& type = graph.value(id).type;
    if (!type.is_tensor()) type = without_extents(type);
  }
}

void Session::apply_overrides(Model& model) const {
  Graph& graph = *model.graph;
  for (const auto& [denotation, symbol] : model.denotations) {
    const auto extent = options_.dims_by_denotation.find(denotation);
    if (extent != options_.dims_by_denotation.end() && is_extent_of_input(graph, symbol))
      set_symbol(graph, symbol, extent->second);
  }
  for (const auto& [name, extent] : options_.dims_by_name) set_symbol(graph, model.dims->symbol(name), extent);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    GraphValue& v = graph.value(ValueId(i));
    if (v.is_constant()) replace_initializer(v.name, v.constant);
  }
  for (auto& [id, tensor] : graph.defaults) replace_initializer(graph.value(id).name, tensor);
}

void Session::replace_initializer(const std::string& name, Tensor& tensor) const {
  for (const auto* given : {&options_.initializers, &options_.external_initializers}) {
    const auto found = given->find(name);
    if (found == given->end()) continue;
    const bool same = found->second.dtype() == tensor.dtype() && found->second.shape() == tensor.shape();
    require(same, ErrorCode::invalid_argument,
            "initializer '{}' is {}{} in the model, {}{} was given; give what it is there", name,
            dtype_name(tensor.dtype()), to_string(tensor.shape()), dtype_name(found->second.dtype()),
            to_string(found->second.shape()));
    // Without an owner: the options keep it, and no other session gets memory that the caller may write to.
    tensor = Tensor(tensor.dtype(), tensor.shape(), const_cast<void*>(found->second.data()), nullptr);
  }
}

void Session::save(const Model& optimized) const {
  const std::string& path = options_.optimized_model_path;
  const ModelFormat format = saved_format(options_.config_entry("session.save_model_format"), path);
  WriteOptions write{.external_file = options_.config_entry("session.optimized_model_external_initializers_file_name")};
  const std::string& least = options_.config_entry("session.optimized_model_external_initializers_min_size_in_bytes");
  const auto [end, error] = std::from_chars(least.data(), least.data() + least.size(), write.external_threshold);
  require(
      least.empty() || (error == std::errc() && end == least.data() + least.size()), ErrorCode::invalid_argument,
      "session.optimized_model_external_initializers_min_size_in_bytes is '{}', not a number of bytes; set it to one",
      least);
  save_model(optimized, path, format, write);
}

void Session::expand_functions(Model& model) const {
  InlineOptions bounds;
  bounds.nodes = options_.config_number("session.function_expansion_node_limit").value_or(bounds.nodes);
  bounds.bytes = options_.config_number("session.function_expansion_byte_limit").value_or(bounds.bytes);
  inline_functions(model, bounds);
}

LowerOptions Session::lower_options() const {
  LowerOptions lower;
  lower.level = int(options_.optimization);
  lower.logger = &logger_;
  lower.external = options_.external_ops.get();
  lower.folding.most_bytes = options_.config_number("optimization.constant_folding_max_output_size_in_bytes")
                                 .value_or(lower.folding.most_bytes);
  lower.strict_shapes = options_.config_on("session.strict_shape_type_inference");
  lower.folding.quantize = !options_.config_on("session.disable_qdq_constant_folding");
  lower.disabled = split_names(options_.config_entry("optimization.disable_specified_optimizers"));
  return lower;
}

std::shared_ptr<const Plan> Session::plan(Model& model, const LowerOptions& lower, PackedCache* cache,
                                          Placement& placement) {
  const bool has_devices = !devices_.providers.empty();
  std::optional<PlacementReport> report;
  const bool forbids_cpu = has_devices && options_.config_on("session.disable_cpu_ep_fallback");
  if (forbids_cpu || tells_placement()) report.emplace(model.graph);
  Placement parts;
  if (has_devices) {
    fold_before_claims(model, lower);
    give_parts(model, parts, report ? &*report : nullptr);
  }
  lower_for_cpu(model, lower);
  require(!lower.parallel.cancelled(), ErrorCode::model_load_canceled, "loading was cancelled");
  if (report) report->take_lowered(*model.graph);
  if (has_devices) take_capture(*model.graph);
  std::vector<MemorySpace> input_spaces;
  if (has_devices) {
    placement = place(*model.graph);
    placement.constants = std::move(parts.constants);
  }
  if (report) report->take_placement(*model.graph, placement);
  if (report && tells_placement()) tell_placement(*report);
  if (forbids_cpu) report->forbid_cpu();
  if (has_devices) {
    check_placement(placement);
    for (const Placement::Input& in : placement.inputs) input_spaces.push_back(in.space);
  }
  const PrepareOptions kernels{.strict = options_.config_on("session.strict"),
                               .weights_16bit = options_.config_on("session.weights_16bit", true)};
  return build_plan(*model.graph, {.kernels = kernels,
                                   .prepack = !options_.config_on("session.disable_prepacking"),
                                   .parallel = lower.parallel,
                                   .shared = &environment_->weights(),
                                   .cache = cache,
                                   .logger = &logger_,
                                   .input_spaces = std::move(input_spaces),
                                   .body_spaces = std::move(placement.bodies),
                                   .placed_outputs = placed_outputs(*model.graph)});
}

void Session::build(Model& model) {
  if (!options_.compile) check_context_keys(options_, source_.path());
  expand_functions(model);
  if (options_.config_on("session.record_ep_graph_assignment_info")) add_assigned(*model.graph, {}, assigned_);
  LowerOptions lower = lower_options();
  for (const std::string& name : lower.disabled) {
    const std::string unknown = unknown_pass(name);
    if (!unknown.empty()) logger_.warn("optimization.disable_specified_optimizers: {}", unknown);
  }
  lower.parallel = Parallel(pool_, options_.cancel_load.get());
  if (options_.compile) return compile(model, lower);
  if (!options_.optimized_model_path.empty()) save(portable_copy(model, lower));
  if (options_.config_on("session.compile_only")) return;
  const bool optimizes = options_.optimization != OptimizationLevel::none;
  // Of a model that was made in memory there is nothing to read again.
  const bool made = !ties_.empty() && !source_.exists();
  if (optimizes && (made || !overridable_.empty())) {
    kept_ = std::make_unique<Model>(model);
    kept_->graph = model.graph->clone();
  }
  const std::unique_ptr<PackedCache> cache = open_packed_cache();
  first_ = make_route(model, std::vector<bool>(overridable_.size(), !optimizes), lower, cache.get());
  if (cache) cache->save();
}

// What no provider compiles is written as it is, or optimised.
void Session::compile(const Model& given, const LowerOptions& lower) const {
  Model model = given;
  std::optional<Model> kept;
  if (!devices_.providers.empty()) {
    model.graph = model.graph->clone();
    fold_before_claims(model, lower);
    show_to_providers(model, options_.external_ops.get());
    std::vector<Assignment> parts;
    kept = partition_and_keep(model, devices_, parts);
  }
  options_.compile(compiled_copy(kept ? *kept : given, lower), source_.external_files(), kept.has_value());
}

std::unique_ptr<Session::Route> Session::make_route(Model& model, const std::vector<bool>& open,
                                                    const LowerOptions& lower, PackedCache* cache) {
  Graph& graph = *model.graph;
  auto route = std::make_unique<Route>();
  std::vector<ValueId> stay;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i];
    const uint32_t index = port_of_[i];
    const bool has_default = index >= inputs_.size();
    if (has_default && !open[index - inputs_.size()]) continue;
    if (has_default) stay.push_back(id);
    const ValueType& type = input_port(index).type;
    if (type.is_tensor() && type.ranked && type.rank() == 0) route->scalars.push_back(uint32_t(route->inputs.size()));
    route->inputs.push_back(index);
    route->defaults.push_back(has_default ? Value(aligned(graph.defaults.at(id))) : Value());
  }
  make_defaults_constant(graph, stay);
  Placement placement;
  route->frames.emplace(plan(model, lower, cache, placement), &budget_);
  // Inputs that are read in several memories come once for each.
  for (size_t i = route->inputs.size(); i < placement.inputs.size(); ++i) {
    const uint32_t origin = placement.inputs[i].origin;
    route->inputs.push_back(route->inputs[origin]);
    route->defaults.push_back(route->defaults[origin]);
    if (std::ranges::count(route->scalars, origin)) route->scalars.push_back(uint32_t(i));
  }
  place_defaults(*route, placement);
  devices_.uploads->settle();
  if (!first_) take_spaces(*route, placement);
  return route;
}

std::shared_ptr<Session::Route> Session::make_general_route(const std::vector<bool>& open) {
  std::shared_ptr<Model> model;
  if (kept_) {
    model = std::make_shared<Model>(*kept_);
    model->graph = kept_->graph->clone();
  } else {
    model = source_.read_again(options_);
    lay_out_values(*model);
    apply_overrides(*model);
    forget_contents(*model->graph);
    expand_functions(*model);
  }
  forget_names(*model->graph);
  LowerOptions lower = lower_options();
  lower.parallel = Parallel(pool_, nullptr);
  return make_route(*model, open, lower);
}

}  // namespace retort
