#include "session/routes.h"

#include <algorithm>

#include "base/error.h"
#include "ir/defaults.h"
#include "memory/host.h"
#include "session/given_model.h"

namespace retort {

Routes::Routes(const Ports& ports, const SessionOptions& options, const Logger& logger, const PlanMaker& plans,
               MemoryBudget* budget)
    : ports_(ports),
      options_(options),
      logger_(logger),
      plans_(plans),
      budget_(budget),
      departures_(ports, options.optimization != OptimizationLevel::none),
      open_(ports.overridable().size()) {}

// `open`: by overridable input, whether it is an input of the plan; the others become constants.
Routes::Made Routes::make(Model& model, const std::vector<bool>& open, const LowerOptions& lower,
                          const FirstPlan* first) const {
  Graph& graph = *model.graph;
  RouteInputs inputs;
  std::vector<ValueId> stay;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i];
    const uint32_t index = ports_.index_in_model(i);
    const bool has_default = ports_.is_overridable(index);
    if (has_default && !open[index - ports_.inputs().size()]) continue;
    if (has_default) stay.push_back(id);
    const ValueType& type = graph.value(id).type;
    inputs.add(index, has_default ? Value(aligned(graph.defaults.at(id))) : Value(),
               type.is_tensor() && type.ranked && type.rank() == 0);
  }
  make_defaults_constant(graph, stay);
  PlanMaker::Made made = plans_.make(model, lower, first);
  const std::vector<GraphSpaces::Input>& planned = made.spaces.inputs;
  for (size_t i = inputs.index.size(); i < planned.size(); ++i) inputs.repeat(planned[i].origin);
  upload_defaults(inputs, made.spaces, plans_.uploads());
  plans_.uploads().settle();
  auto route = std::make_unique<Route>(ports_, std::move(inputs), made.plan, budget_);
  return {std::move(route), std::move(made)};
}

Routes::First Routes::make_first(Model& model, ModelSource source, const LowerOptions& lower, const FirstPlan& first) {
  const bool optimizes = options_.optimization != OptimizationLevel::none;
  const bool made_in_memory = departures_.may_depart() && !source.exists();  // such a model cannot be read again
  const bool may_override = !ports_.overridable().empty() && (optimizes || departures_.may_depart());
  if (made_in_memory || may_override) {
    auto kept = std::make_unique<Model>(model);
    kept->graph = model.graph->clone();
    kept_ = std::move(kept);
  }
  source_ = std::move(source);
  Made made = make(model, std::vector<bool>(ports_.overridable().size(), !optimizes), lower, &first);
  First told{port_spaces(made), made.plan.capture};
  first_ = std::move(made.route);
  return told;
}

PortSpaces Routes::port_spaces(const Made& first) const {
  const GraphSpaces& spaces = first.plan.spaces;
  PortSpaces all;
  all.inputs.resize(ports_.input_count());
  for (size_t i = 0; i < spaces.inputs.size(); ++i)
    all.inputs[first.route->inputs()[i]].push_back(spaces.inputs[i].space);
  for (const auto& [name, space] : first.plan.constants) {
    std::vector<MemorySpace>& known = all.inputs[size_t(ports_.input_index(name))];
    if (!std::ranges::count(known, space)) known.push_back(space);
  }
  for (std::vector<MemorySpace>& known : all.inputs) {
    if (known.empty()) known.emplace_back();
  }
  all.readers.resize(ports_.input_count());
  for (size_t i = 0; i < first.plan.owners.readers.size(); ++i)
    all.readers[first.route->inputs()[i]] = first.plan.owners.readers[i];
  all.makers = first.plan.owners.makers;
  all.outputs = spaces.outputs;
  all.outputs.resize(ports_.outputs().size());
  return all;
}

ChosenRoute Routes::choose(std::span<const Value* const> inputs) {
  if (!departures_.departs(inputs)) return {*first_, nullptr};
  std::shared_ptr<Route> route = general(inputs);
  return {*route, route};
}

// The general route assumes no name, and takes the overridable inputs that this call or an earlier one gives; the
// others are its constants. It is made under the lock, so that other runs that need it wait for it.
std::shared_ptr<Route> Routes::general(std::span<const Value* const> inputs) {
  const auto given = inputs.subspan(ports_.inputs().size(), ports_.overridable().size());
  const std::lock_guard lock(mutex_);
  const bool wide = wide_ || departures_.widens(inputs);
  bool suits = general_ && wide == wide_;
  for (size_t i = 0; suits && i < given.size(); ++i) suits = open_[i] || !given[i];
  if (suits) return general_;
  std::vector<bool> open = open_;
  for (size_t i = 0; i < given.size(); ++i) open[i] = open[i] || given[i];
  try {
    general_ = make_general(open, wide);
  } catch (Error& e) {
    e.add_context(
        cat("{}; such a call runs without optimisation (level 0), or on a second plan, for which the model is "
            "read again",
            departure(inputs)));
    throw;
  }
  open_ = std::move(open);
  wide_ = wide;
  if (wide_ || !departures_.has_scalars()) source_ = {};
  logger_.warn("{}: such calls run on a second plan, made now", departure(inputs));
  return general_;
}

// The model once more, in the state that make_first() got it in.
std::shared_ptr<Model> Routes::model_again() const {
  std::shared_ptr<Model> model;
  if (kept_) {
    model = std::make_shared<Model>(*kept_);
    model->graph = kept_->graph->clone();
    return model;
  }
  model = source_.read_again(options_);
  apply_options(*model, options_, logger_);
  forget_contents(*model->graph);
  expand_functions(*model, options_);
  seed_random(*model, options_);
  return model;
}

std::shared_ptr<Route> Routes::make_general(const std::vector<bool>& open, bool wide) const {
  const std::shared_ptr<Model> model = model_again();
  forget_names(*model->graph);
  if (wide) forget_scalars(*model->graph);
  return make(*model, open, plans_.lower_options(nullptr), nullptr).route;
}

void Routes::clear_idle_frames() {
  if (first_) first_->frames().clear();
  const std::lock_guard lock(mutex_);
  if (general_) general_->frames().clear();
}

size_t Routes::workspace_bytes() {
  const size_t bytes = first_ ? first_->frames().workspace_bytes() : 0;
  const std::lock_guard lock(mutex_);
  return bytes + (general_ ? general_->frames().workspace_bytes() : 0);
}

}  // namespace retort
