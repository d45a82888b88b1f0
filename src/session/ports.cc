// Inputs and outputs of a session: their names and types, and whether a value fits.
#include <unordered_map>

#include "base/advice.h"
#include "base/error.h"
#include "session/session.h"

namespace retort {

ModelInterface interface_of(const Model& model) {
  const Graph& g = *model.graph;
  ModelInterface shown{.info = {.producer_name = model.producer_name,
                                .graph_name = g.name,
                                .domain = model.domain,
                                .description = model.doc,
                                .graph_description = g.doc,
                                .version = model.model_version,
                                .metadata = model.metadata}};
  for (const ValueId id : g.inputs) {
    const GraphValue& v = g.value(id);
    (g.defaults.contains(id) ? shown.overridable : shown.inputs).push_back({v.name, v.type});
  }
  for (const ValueId out : g.outputs) shown.outputs.push_back({g.value(out).name, g.value(out).type});
  return shown;
}

void Session::name_ports(const Model& model) {
  ModelInterface shown = interface_of(model);
  info_ = std::move(shown.info);
  inputs_ = std::move(shown.inputs);
  outputs_ = std::move(shown.outputs);
  overridable_ = std::move(shown.overridable);
  const Graph& g = *model.graph;
  uint32_t required = 0, overridable = uint32_t(inputs_.size());
  for (const ValueId id : g.inputs) {
    const bool has_default = g.defaults.contains(id);
    port_of_.push_back(has_default ? overridable++ : required++);
    if (!has_default) is_read_.push_back(g.use_count(id) > 0);
  }
  open_.resize(overridable_.size());
  for (size_t i = 0; i < input_count(); ++i) input_by_name_.emplace(input_port(i).name, int(i));
  if (options_.optimization != OptimizationLevel::none) tie_extents();
  for (size_t i = 0; i < outputs_.size(); ++i) output_by_name_.emplace(outputs_[i].name, int(i));
}

void Session::tie_extents() {
  std::unordered_map<Dim, Extent> first;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {  // the others are constants of the first plan
    const ValueType& type = inputs_[i].type;
    if (!type.is_tensor() || !type.ranked) continue;
    for (uint32_t axis = 0; axis < type.shape.rank(); ++axis) {
      if (is_known(type.shape[axis])) continue;
      const auto [at, added] = first.emplace(type.shape[axis], Extent{i, axis});
      if (!added) ties_.push_back({at->second, {i, axis}});
    }
  }
}

int Session::input_index(std::string_view name) const {
  const auto found = input_by_name_.find(name);
  return found == input_by_name_.end() ? -1 : found->second;
}

int Session::output_index(std::string_view name) const {
  const auto found = output_by_name_.find(name);
  return found == output_by_name_.end() ? -1 : found->second;
}

std::string Session::no_input(std::string_view name) const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < input_count(); ++i) names.push_back(input_port(i).name);
  return cat("the model has no input '{}'; {}", name, names.empty() ? "give it none" : use_one_of(name, names));
}

std::string Session::no_output(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Port& port : outputs_) names.push_back(port.name);
  return cat("the model has no output '{}'; {}", name, names.empty() ? "ask for none" : use_one_of(name, names));
}

// What lies on a device is an address that only the device can follow.
void Session::check_memory(std::string_view what, std::string_view name, const Value& value) const {
  const Tensor* t = value.tensor();
  if (!t || t->space().host_readable() || devices_.devices->can_copy(t->space(), {})) return;
  fail(ErrorCode::fail,
       "{} '{}': no provider copies from or to {}; give a tensor in memory of the CPU, or add the provider whose "
       "memory it is",
       what, name, to_string(t->space()));
}

void Session::check_input(size_t index, const Value& value) const {
  const Port& port = input_port(index);
  check_memory("input", port.name, value);
  const Tensor* t = value.tensor();
  if (!port.type.is_tensor()) {
    if (!admits(port.type, value)) {
      fail(ErrorCode::invalid_argument, "input '{}' must be {}, {} was given; give a value of that type", port.name,
           kind_text(port.type), kind_text(value));
    }
    return;  // of any extents
  }
  const std::string_view type = dtype_name(port.type.dtype);
  require(t, ErrorCode::invalid_argument,
          "input '{}' must be a tensor({}), another kind of value was given; give a tensor", port.name, type);
  require(t->dtype() == port.type.dtype, ErrorCode::invalid_argument,
          "input '{}' must be a tensor({}), a tensor({}) was given; convert it to {}", port.name, type,
          dtype_name(t->dtype()), type);
  if (!port.type.ranked) return;
  const Shape& want = port.type.shape;
  // Programs give [1] for what is declared a scalar, and ONNX Runtime takes it.
  const bool one = want.rank() == 0 && t->count() == 1;
  if (one || extents_fit(port.type, value)) return;
  const bool same_rank = want.rank() == t->shape().rank();
  fail(ErrorCode::invalid_argument, "input '{}' must have shape {}, {} was given; {}", port.name, dims_->text(want),
       to_string(t->shape()), same_rank ? "give it these extents" : cat("reshape it to rank {}", want.rank()));
}

void Session::check_output(size_t index, const Value& value) const {
  const Port& port = outputs_[index];
  check_memory("output", port.name, value);
  if (port.type.is_tensor() ? value.tensor() != nullptr : admits(port.type, value)) return;
  fail(ErrorCode::invalid_argument, "output '{}' is {}, {} was given for it; give a value of that type or none",
       port.name, kind_text(port.type), kind_text(value));
}

}  // namespace retort
