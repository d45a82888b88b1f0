#include "session/plan_maker.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/loading.h"
#include "ep/fold.h"
#include "ep/partition.h"
#include "ir/describe.h"
#include "ops/run_context.h"
#include "session/context_output.h"
#include "session/placement_report.h"

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

NodeOrder node_order(const SessionOptions& options) {
  const std::string& entry = options.config_entry("session.execution_order");
  return entry == "priority" ? NodeOrder::priority : entry == "memory" ? NodeOrder::memory : NodeOrder::model;
}

bool computes_shapes(const Graph& graph, const Node& node) {
  return std::ranges::all_of(node.outputs, [&](ValueId out) {
    if (out == ValueId::none) return true;
    const DType type = graph.value(out).type.dtype;
    return type == DType::i64 || type == DType::i32 || type == DType::boolean;
  });
}

// The replay of a captured run repeats only what the provider recorded, so all nodes must be its own. Nodes of the CPU
// that compute shapes may stay if it allows them: a captured run has fixed shapes.
void check_can_capture(const Graph& graph, const Provider& provider, bool allows_shapes) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const ExternalOp* op = external_op(node);
    const bool own = op && op->provider() == provider.name();
    require(node.bodies.empty() && (own || (allows_shapes && computes_shapes(graph, node))), ErrorCode::fail,
            "provider '{}' is to capture runs, and {} {}: it could not be repeated; let the provider run all of the "
            "model, or turn its capturing off",
            provider.name(), describe(graph, node), own ? "may take another way in each run" : "is not its own");
  }
}

// The memories in which overridable inputs are read that are constants of the plan. A call that gives one of them runs
// on another plan, which reads it in the same memories.
std::vector<std::pair<std::string, MemorySpace>> constants_of(const Graph& graph, const std::vector<Assignment>& parts,
                                                              std::span<const Port> overridable) {
  std::vector<std::pair<std::string, MemorySpace>> all;
  if (overridable.empty()) return all;
  const auto add = [&](const std::string& name, const MemorySpace& space) {
    if (std::ranges::count(overridable, name, &Port::name)) all.emplace_back(name, space);
  };
  for (const Assignment& part : parts) {
    for (const std::string& name : part.constants) add(name, part.space);
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const GraphValue& v = graph.value(ValueId(i));
    if (v.is_constant() && !v.uses.empty()) add(v.name, MemorySpace());
  }
  return all;
}

}  // namespace

LowerOptions PlanMaker::lower_options(const std::atomic<bool>* cancel) const {
  const SessionOptions& options = parts_.options;
  LowerOptions lower;
  lower.level = int(options.optimization);
  lower.logger = &parts_.logger;
  lower.external = options.external_ops.get();
  lower.folding.most_bytes = options.config_number("optimization.constant_folding_max_output_size_in_bytes")
                                 .value_or(lower.folding.most_bytes);
  lower.strict_shapes = options.config_on("session.strict_shape_type_inference");
  lower.folding.quantize = !options.config_on("session.disable_qdq_constant_folding");
  lower.disabled = split_names(options.config_entry("optimization.disable_specified_optimizers"));
  if (options.config_on("session.disable_quant_qdq")) lower.disabled.emplace_back("quantized");
  if (!lower.folding.quantize) lower.disabled.emplace_back("qdq_constant");
  if (options.saturates_quantized_sums()) {  // sums of unsigned filters are exact
    for (const char* rule : {"narrow_filters", "narrow_integer_filters", "qdq_narrow"})
      lower.disabled.emplace_back(rule);
  }
  constexpr size_t kRounded = 4;
  lower.round_products = options.config_number("session.qdq_matmulnbits_accuracy_level").value_or(kRounded) == kRounded;
  lower.bf16_products = options.config_entry("session.precision") == "bf16" && multiplies_bf16();
  lower.parallel = Parallel(&parts_.threads, cancel);
  return lower;
}

bool PlanMaker::is_reported() const {
  return parts_.logger.wants(LogLevel::info) || !parts_.options.config_entry("session.placement").empty();
}

bool PlanMaker::forbids_cpu() const {
  return !parts_.devices.providers.empty() && parts_.options.config_on("session.disable_cpu_ep_fallback");
}

PlanMaker::Made PlanMaker::make(Model& model, const LowerOptions& lower, const FirstPlan* first) const {
  const bool has_devices = !parts_.devices.providers.empty();
  Made made;
  std::optional<PlacementReport> report;
  std::vector<Assignment> parts;
  if (forbids_cpu() || is_reported()) report.emplace(model.graph);
  if (has_devices) {
    fold_before_claims(model, lower);
    parts = assign_parts(model, first);
    if (report) report->take_parts(parts, parts_.devices.providers, *model.graph);
    if (first) made.constants = constants_of(*model.graph, parts, first->overridable);
  }
  if (first) made.owners = owners_of_ports(*model.graph, parts);
  lower_for_cpu(model, lower);
  check_loading(lower.parallel);
  if (report) report->take_lowered(*model.graph);
  if (has_devices) {
    made.capture = find_capture(*model.graph, first != nullptr);
    made.spaces = assign_spaces(*model.graph);
  }
  if (report) report->take_spaces(*model.graph, made.spaces);
  if (report && is_reported()) tell(*report, first != nullptr);
  if (forbids_cpu()) report->forbid_cpu();
  if (has_devices) check_copies(made.spaces.copies);
  made.plan = build(*model.graph, lower, first, made.spaces);
  return made;
}

std::vector<Assignment> PlanMaker::assign_parts(Model& model, const FirstPlan* first) const {
  show_to_providers(model, parts_.options.external_ops.get());
  std::vector<Assignment> parts;
  if (first && parts_.options.config_on("ep.context_enable")) {
    if (const auto kept = partition_and_keep(model, parts_.devices, {parts_.options, first->files}, parts))
      save_contexts(parts_.options, first->model_path, *kept);
  } else {
    parts = partition(model, parts_.devices, parts_.options.external_ops.get());
  }
  if (first && !first->parts.empty()) first->parts = with_parts(std::move(first->parts), parts);
  return parts;
}

void PlanMaker::tell(const PlacementReport& report, bool is_first) const {
  const Logger& logger = parts_.logger;
  if (logger.wants(LogLevel::info)) logger.write(LogLevel::info, report.summary());
  const std::string& wanted = parts_.options.config_entry("session.placement");
  if (!is_first || wanted.empty() || wanted == "0") return;
  if (wanted != "1") return report.write(wanted);
  // A user who sets the key sees the report at any level of the log.
  const Logger all = logger.derive(LogLevel::info, logger.id());
  if (!logger.wants(LogLevel::info)) all.write(LogLevel::info, report.summary());
  for (const std::string& line : report.lines()) all.write(LogLevel::info, line);
}

RunCapture* PlanMaker::find_capture(const Graph& graph, bool is_first) const {
  for (const auto& provider : parts_.devices.providers) {
    RunCapture* const capture = provider->capture();
    if (!capture) continue;
    check_can_capture(graph, *provider, capture->allows_shapes_on_cpu());
    if (is_first) {
      parts_.logger.info("runs are captured by provider '{}': what they read and write has to stay where it is",
                         provider->name());
    }
    return capture;
  }
  return nullptr;
}

void PlanMaker::check_copies(const std::vector<BorderCopy>& copies) const {
  const bool forbidden = parts_.options.config_on("session.disallow_implicit_copies");
  for (const BorderCopy& copy : copies) {
    require(parts_.devices.devices->can_copy(copy.from, copy.to), ErrorCode::not_implemented,
            "'{}' is made in {} and read by {} in {}, and no provider copies between them", copy.tensor,
            to_string(copy.from), copy.reader, to_string(copy.to));
    require(!forbidden, ErrorCode::invalid_argument,
            "'{}' is made in {} and read by {} in {}: it would be copied in every run, which "
            "session.disallow_implicit_copies forbids; let one provider run both sides",
            copy.tensor, to_string(copy.from), copy.reader, to_string(copy.to));
  }
}

// Outputs that are constants, in each device memory that has an upload of them.
std::vector<UploadedOutput> PlanMaker::uploaded_outputs(const Graph& graph) const {
  std::vector<UploadedOutput> all;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor* constant = graph.constant(graph.outputs[i]);
    for (const auto& provider : parts_.devices.providers) {
      Tensor there = constant ? parts_.devices.uploads->find(*constant, provider->space()) : Tensor();
      if (there) all.push_back({uint32_t(i), std::move(there)});
    }
  }
  return all;
}

std::shared_ptr<const Plan> PlanMaker::build(Graph& graph, const LowerOptions& lower, const FirstPlan* first,
                                             GraphSpaces& spaces) const {
  const SessionOptions& options = parts_.options;
  std::vector<MemorySpace> input_spaces;
  for (const GraphSpaces::Input& in : spaces.inputs) input_spaces.push_back(in.space);
  const bool packs = !options.config_on("session.disable_prepacking");
  const PrepareOptions kernels{.strict = options.config_on("session.strict"),
                               .weights_16bit = options.config_on("session.weights_16bit", true),
                               .bf16_products = packs && options.config_entry("session.precision") == "bf16",
                               .saturating_sums = packs && options.saturates_quantized_sums()};
  return build_plan(graph, {.kernels = kernels,
                            .prepack = packs,
                            .reuses_memory = options.config_on("session.memory_reuse", true),
                            .order = node_order(options),
                            .parallel = lower.parallel,
                            .shared = &parts_.weights,
                            .cache = first ? first->cache : nullptr,
                            .logger = &parts_.logger,
                            .input_spaces = std::move(input_spaces),
                            .body_spaces = std::move(spaces.bodies),
                            .uploaded_outputs = uploaded_outputs(graph),
                            .nodes = parts_.nodes});
}

}  // namespace retort
