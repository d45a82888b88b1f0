// What a session has to do with devices: which providers run what, and in which memory inputs and outputs lie.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "ep/partition.h"
#include "session/context_output.h"
#include "session/placement_report.h"
#include "session/session.h"

namespace retort {

void Session::give_parts(Model& model, Placement& placement, PlacementReport* report) {
  show_to_providers(model, options_.external_ops.get());
  std::vector<Assignment> parts;
  if (!first_ && options_.config_on("ep.context_enable")) {
    if (const auto kept = partition_and_keep(model, devices_, parts)) save_contexts(options_, source_.path(), *kept);
  } else {
    parts = partition(model, devices_);
  }
  if (!first_ && !assigned_.empty()) record_parts(parts);
  if (report) report->take_parts(parts, devices_.providers, *model.graph);
  for (const Assignment& part : parts) {
    for (const std::string& name : part.constants) placement.constants.emplace_back(name, part.space);
  }
  for (size_t i = 0; !overridable_.empty() && i < model.graph->value_count(); ++i) {
    const GraphValue& v = model.graph->value(ValueId(i));
    if (v.is_constant() && !v.uses.empty()) placement.constants.emplace_back(v.name, MemorySpace());
  }
}

bool Session::tells_placement() const {
  return logger_.wants(LogLevel::info) || !options_.config_entry("session.placement").empty();
}

void Session::tell_placement(const PlacementReport& report) const {
  if (logger_.wants(LogLevel::info)) logger_.write(LogLevel::info, report.summary());
  const std::string& wanted = options_.config_entry("session.placement");
  if (first_ || wanted.empty() || wanted == "0") return;
  if (wanted != "1") return report.write(wanted);
  // Whoever asks for it by a key wants to see it at any level.
  const Logger all = logger_.derive(LogLevel::info, logger_.id());
  if (!logger_.wants(LogLevel::info)) all.write(LogLevel::info, report.summary());
  for (const std::string& line : report.lines()) all.write(LogLevel::info, line);
}

// Until now every node was the CPU's. A part has the bodies of its nodes with it, but not that of a single node.
void Session::record_parts(std::span<const Assignment> parts) {
  std::vector<AssignedPart> all;
  std::map<std::pair<const Graph*, NodeId>, size_t> part_of;
  for (const Assignment& part : parts) {
    for (const NodeId id : part.nodes) part_of[{part.graph, id}] = all.size();
    all.push_back({part.provider, {}});
  }
  for (AssignedPart& one : assigned_) {
    AssignedNode& node = one.nodes[0];
    const auto holds = [&](const auto& place) {
      const auto part = part_of.find(place);
      return part != part_of.end() && (place == node.places[0] || !parts[part->second].single);
    };
    const auto place = std::ranges::find_if(node.places, holds);
    if (place == node.places.end())
      all.push_back(std::move(one));
    else
      all[part_of.at(*place)].nodes.push_back(std::move(node));
  }
  // Transposes of a change of layout are no nodes of the model, and may be all of a part.
  std::erase_if(all, [](const AssignedPart& part) { return part.nodes.empty(); });
  assigned_ = std::move(all);
}

void Session::check_placement(const Placement& placement) const {
  for (const BorderCopy& copy : placement.copies) {
    require(devices_.devices->can_copy(copy.from, copy.to), ErrorCode::not_implemented,
            "'{}' is made in {} and read by {} in {}, and no provider copies between them", copy.tensor,
            to_string(copy.from), copy.reader, to_string(copy.to));
    require(!disallow_copies_, ErrorCode::invalid_argument,
            "'{}' is made in {} and read by {} in {}: it would be copied in every run, which "
            "session.disallow_implicit_copies forbids; let one provider run both sides",
            copy.tensor, to_string(copy.from), copy.reader, to_string(copy.to));
  }
}

void Session::take_spaces(const Route& route, const Placement& placement) {
  input_spaces_.assign(input_count(), {});
  for (size_t i = 0; i < placement.inputs.size(); ++i) {
    input_spaces_[route.inputs[i]].push_back(placement.inputs[i].space);
  }
  // Those that are constants of this plan: a call that gives one runs on another, which reads it where this one does.
  for (const auto& [name, space] : placement.constants) {
    const int index = input_index(name);
    if (index >= int(inputs_.size()) && !std::ranges::count(input_spaces_[size_t(index)], space))
      input_spaces_[size_t(index)].push_back(space);
  }
  for (std::vector<MemorySpace>& spaces : input_spaces_) {
    if (spaces.empty()) spaces.emplace_back();
  }
  output_spaces_ = placement.outputs;
  output_spaces_.resize(outputs_.size());
}

std::vector<PlacedOutput> Session::placed_outputs(const Graph& graph) const {
  std::vector<PlacedOutput> all;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor* constant = graph.constant(graph.outputs[i]);
    for (const auto& provider : devices_.providers) {
      Tensor there = constant ? devices_.uploads->find(*constant, provider->space()) : Tensor();
      if (there) all.push_back({uint32_t(i), std::move(there)});
    }
  }
  return all;
}

// The model's own values of inputs that calls may leave out, once where the plan reads them, as constants are.
void Session::place_defaults(Route& route, const Placement& placement) const {
  for (size_t i = 0; i < placement.inputs.size(); ++i) {
    const Tensor* host = route.defaults[i].tensor();
    if (host) route.defaults[i] = Value(devices_.uploads->get(*host, placement.inputs[i].space));
  }
}

const Value* Session::where_read(const Route& route, size_t position, const Value* given, const Places& places) const {
  const Tensor* tensor = given ? given->tensor() : nullptr;
  const std::vector<MemorySpace>& spaces = route.frames->plan().input_spaces;
  const MemorySpace wanted = spaces.empty() ? MemorySpace() : spaces[position];
  if (!tensor || tensor->space().readable_as(wanted)) return given;
  for (const Resident& resident : places.inputs) {
    if (resident.input == route.inputs[position] && resident.value.tensor()->space().serves(wanted))
      return &resident.value;
  }
  return given;
}

Value Session::bring(size_t index, const Tensor& tensor, const MemorySpace& space) {
  const std::string& name = input_port(index).name;
  require(!disallow_copies_, ErrorCode::invalid_argument,
          "input '{}' lies in {} and is read in {}: it would have to be copied, which session.disallow_implicit_copies "
          "forbids; bind it there",
          name, to_string(tensor.space()), to_string(space));
  try {
    const std::shared_ptr<void> memory = devices_.devices->allocate(space, tensor.bytes());
    Tensor copy(tensor.dtype(), tensor.shape(), memory.get(), memory, space);
    devices_.devices->copy(tensor, copy, nullptr);
    ledger_.add(CopyCause::bind_input, name, tensor.space(), space, tensor.bytes());
    return copy;
  } catch (Error& e) {
    e.add_context(cat("input '{}' lies in {} and is read in {}", name, to_string(tensor.space()), to_string(space)));
    throw;
  }
}

void Session::synchronize() const {
  for (const auto& provider : devices_.providers) provider->synchronize();
}

}  // namespace retort
