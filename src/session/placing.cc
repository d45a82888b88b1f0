// What a session has to do with devices: which providers run what, and in which memory inputs and outputs lie.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "ep/partition.h"
#include "ir/describe.h"
#include "session/session.h"

namespace retort {
namespace {

size_t count_nodes(const Graph& graph) {
  size_t count = graph.order().size();
  for (const NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies) count += count_nodes(*b.graph);
  }
  return count;
}

void require_taken(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const Body& b : node.bodies) require_taken(*b.graph);
    require(node.op || node.is("Constant"), ErrorCode::fail,
            "no provider takes {}, and session.disable_cpu_ep_fallback forbids the CPU", retort::describe(graph, node));
  }
}

}  // namespace

void Session::give_parts(Model& model) {
  const size_t nodes = count_nodes(*model.graph);
  size_t taken = 0;
  const std::vector<Assignment> parts = partition(model, devices_, options_.external_ops.get());
  if (!first_ && !assigned_.empty()) record_parts(parts);
  for (const Assignment& part : parts) {
    logger_.info("part '{}' of {} nodes runs on {}", part.name, part.nodes.size(), part.provider);
    taken += part.nodes.size();
  }
  logger_.info("{} of {} nodes run on the CPU", nodes - taken, nodes);
  if (!options_.config_on("session.disable_cpu_ep_fallback")) return;
  require_taken(*model.graph);
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
    logger_.info("'{}' is copied from {} to {} for {} in every run", copy.tensor, to_string(copy.from),
                 to_string(copy.to), copy.reader);
  }
}

void Session::take_spaces(const Route& route, const Placement& placement) {
  input_spaces_.assign(input_count(), {});
  for (size_t i = 0; i < placement.inputs.size(); ++i) {
    input_spaces_[route.inputs[i]].push_back(placement.inputs[i].space);
  }
  for (std::vector<MemorySpace>& spaces : input_spaces_) {
    if (spaces.empty()) spaces.emplace_back();
  }
  output_spaces_ = placement.outputs;
  output_spaces_.resize(outputs_.size());
}

// The model's own values of inputs that calls may leave out, once where the plan reads them, as constants are.
void Session::place_defaults(Route& route, const Placement& placement) const {
  for (size_t i = 0; i < placement.inputs.size(); ++i) {
    const Tensor* host = route.defaults[i].tensor();
    const MemorySpace& space = placement.inputs[i].space;
    if (!host || host->dtype() == DType::string || host->space().serves(space)) continue;
    const std::shared_ptr<void> memory = devices_.devices->allocate(space, host->bytes());
    Tensor placed(host->dtype(), host->shape(), memory.get(), memory, space);
    devices_.devices->copy(*host, placed, nullptr);
    route.defaults[i] = std::move(placed);
  }
}

const Value* Session::where_read(const Route& route, size_t position, const Value* given, const Places& places) const {
  const Tensor* tensor = given ? given->tensor() : nullptr;
  const std::vector<MemorySpace>& spaces = route.frames->plan().input_spaces;
  const MemorySpace wanted = spaces.empty() ? MemorySpace() : spaces[position];
  if (!tensor || tensor->space().serves(wanted)) return given;
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
