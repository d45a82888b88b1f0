#include "ep/spaces.h"

#include <algorithm>
#include <map>

#include "ep/device_run.h"
#include "ir/describe.h"
#include "ops/external.h"

namespace retort {
namespace {

class CopyOp : public ExternalOp {
 public:
  CopyOp(std::string tensor, ValueType type, MemorySpace to)
      : tensor_(std::move(tensor)), value_type_(std::move(type)), to_(to) {}

  std::string domain() const override { return "retort"; }
  std::string type() const override { return "Copy"; }
  bool covers(int) const override { return true; }
  bool is_copy() const override { return true; }
  MemorySpace output_space(size_t) const override { return to_; }
  void infer(const ExternalNode&, InferContext& context) const override { context.set(0, value_type_); }
  std::unique_ptr<State> prepare(const ExternalNode&, PrepareContext&) const override { return nullptr; }

  void run(const ExternalNode&, RunContext& context) const override {
    const Slot& in = context.in_slot(0);
    const Tensor from = in.boxed.tensor() ? *in.boxed.tensor() : Tensor(in.type.dtype, in.type.shape, in.data, nullptr);
    DeviceRun& devices = device_run(context);
    if (from.dtype() == DType::string)
      context.allocate(0, DType::string,
                       from.shape());  // on the host, even if only the run reveals that it holds strings
    else
      context.allocate_in(to_, 0, from.dtype(), from.shape(), [&](size_t n) { return devices.allocate(to_, n); });
    // Host memory of a step's result may be reused by a later step; results of devices stay until the next run.
    const bool stays = !from.space().host_readable();
    devices.copy(CopyCause::border, tensor_, from, *context.out_slot(0).boxed.get<Tensor>(), stays);
  }

 private:
  const std::string tensor_;
  const ValueType value_type_;
  const MemorySpace to_;
};

bool is_capture(const Node& node, size_t slot) { return slot >= node.inputs.size() - node.captures; }

std::optional<size_t> fixed_bytes(const ValueType& type) {
  if (!type.is_tensor() || type.dtype == DType::string || type.dtype == DType::undefined || !type.is_static())
    return std::nullopt;
  return dtype_bytes(type.dtype, element_count(type.shape));
}

class SpaceAssigner {
 public:
  explicit SpaceAssigner(Graph& graph) : graph_(graph) {}

  /// `parent`: the node that has the graph as its body; null for the model's graph.
  GraphSpaces assign(const Node* parent) {
    const std::vector<NodeId> order(graph_.order().begin(), graph_.order().end());
    for (const NodeId id : order) {
      for (const Body& b : graph_.node(id).bodies) take_body(graph_.node(id), *b.graph);
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) spaces_.inputs.push_back({.origin = uint32_t(i), .space = {}});
    const size_t given = graph_.inputs.size();
    for (size_t i = 0; i < given; ++i) parent ? settle_input(i, *parent) : part_input(i);
    for (const NodeId id : order) {
      for (size_t slot = 0; slot < graph_.node(id).inputs.size(); ++slot) bring(id, slot);
    }
    for (const ValueId out : graph_.outputs) spaces_.outputs.push_back(made_in(out));
    return std::move(spaces_);
  }

 private:
  MemorySpace made_in(ValueId id) const {
    const auto place = std::ranges::find(graph_.inputs, id);
    if (place != graph_.inputs.end()) return spaces_.inputs[size_t(place - graph_.inputs.begin())].space;
    const Node* node = graph_.producer(id);
    const ExternalOp* op = node ? external_op(*node) : nullptr;
    return op ? op->output_space(graph_.value(id).producer_slot) : MemorySpace{};
  }

  void take_body(const Node& node, Graph& body) {
    GraphSpaces inner = SpaceAssigner(body).assign(&node);
    std::vector<MemorySpace>& spaces = spaces_.bodies[&body];
    for (const GraphSpaces::Input& in : inner.inputs) spaces.push_back(in.space);
    spaces_.bodies.merge(inner.bodies);
    spaces_.copies.insert(spaces_.copies.end(), inner.copies.begin(), inner.copies.end());
    if (external_op(node)) return;
    // The CPU's If, Loop and Scan read and write values of the host.
    const std::string name = describe(graph_, node);
    for (size_t i = 0; i + body.captures < spaces.size(); ++i) {
      if (body.inputs[i] != ValueId::none && !spaces[i].host_readable())
        spaces_.copies.push_back({body.value(body.inputs[i]).name, "the body of " + name, {}, spaces[i]});
    }
    for (size_t i = 0; i < inner.outputs.size(); ++i) {
      if (body.outputs[i] != ValueId::none && !inner.outputs[i].host_readable())
        spaces_.copies.push_back({body.value(body.outputs[i]).name, name, inner.outputs[i], {}});
    }
  }

  MemorySpace reads_in(const Node& node, size_t slot) const {
    if (is_capture(node, slot)) return captured_in(node, node.inputs.size() - slot);
    const ExternalOp* op = external_op(node);
    return op ? op->input_space(slot) : MemorySpace{};
  }

  // The memory where the bodies read a capture, counted from the last one; the host if they differ.
  MemorySpace captured_in(const Node& node, size_t from_end) const {
    MemorySpace all;
    for (const Body& b : node.bodies) {
      const size_t position = b.graph->inputs.size() - from_end;
      if (b.graph->use_count(b.graph->inputs[position]) == 0) continue;
      const MemorySpace& space = spaces_.bodies.at(b.graph.get())[position];
      if (space.host_readable()) return space;
      all = space;
    }
    return all;
  }

  // An input of a body lies where its readers are. If some are on the host and some on a device, or nothing reads it,
  // it stays where it comes from.
  void settle_input(size_t position, const Node& parent) {
    if (graph_.inputs[position] == ValueId::none) return;
    const ExternalOp* const from_device = external_op(parent);
    MemorySpace& settled = spaces_.inputs[position].space;
    const bool formal = position < std::min(graph_.inputs.size(), parent.inputs.size()) - graph_.captures;
    if (from_device && formal && graph_.value(graph_.inputs[position]).uses.empty())
      settled = from_device->input_space(position);
    for (const Use& use : graph_.value(graph_.inputs[position]).uses) {
      const MemorySpace space = reads_in(graph_.node(use.node), use.slot);
      if (space.host_readable() && !from_device) {
        settled = space;
        return;
      }
      if (!space.host_readable()) settled = space;
    }
  }

  // Makes one input for each memory that nodes read it in. Bodies use an existing one; if there is none, theirs is
  // made.
  void part_input(size_t position) {
    const ValueId original = graph_.inputs[position];
    if (original == ValueId::none) return;
    const std::vector<Use> uses = graph_.value(original).uses;
    const auto captured = [&](const Use& u) { return is_capture(graph_.node(u.node), u.slot); };
    const bool by_nodes = graph_.is_output(original) || !std::ranges::all_of(uses, captured);
    const auto on_host = [&](const Use& u) {
      return !(by_nodes && captured(u)) && reads_in(graph_.node(u.node), u.slot).host_readable();
    };
    bool taken = std::ranges::any_of(uses, on_host);  // an output stays where it lies
    std::vector<std::pair<MemorySpace, ValueId>> made;
    for (const bool captures : {false, true}) {
      for (const Use& use : uses) {
        const MemorySpace space = reads_in(graph_.node(use.node), use.slot);
        if (space.host_readable() || captured(use) != captures) continue;
        auto found = std::ranges::find_if(made, [&](const auto& m) { return m.first.serves(space); });
        if (found == made.end()) {
          if (captures && taken) continue;
          made.emplace_back(space, taken ? add_input(position, space) : original);
          if (!taken) spaces_.inputs[position].space = space;
          taken = true;
          found = made.end() - 1;
        }
        if (found->second != original) graph_.set_input(use.node, use.slot, found->second);
      }
    }
  }

  ValueId add_input(size_t position, const MemorySpace& space) {
    const ValueId original = graph_.inputs[position];
    const ValueId added = graph_.add_value(graph_.value(original).name, graph_.value(original).type);
    graph_.inputs.push_back(added);
    spaces_.inputs.push_back({.origin = uint32_t(position), .space = space});
    graph_.touch();
    return added;
  }

  void bring(NodeId id, size_t slot) {
    const ValueId value = graph_.node(id).inputs[slot];
    if (value == ValueId::none || graph_.value(value).is_constant() || is_capture(graph_.node(id), slot)) return;
    const MemorySpace from = made_in(value), to = reads_in(graph_.node(id), slot);
    if (from.serves(to)) return;
    auto& copies = copies_[value];
    auto found = std::ranges::find_if(copies, [&](const auto& c) { return c.first.serves(to); });
    if (found == copies.end()) {
      copies.emplace_back(to, add_copy(value, graph_.node(id), to));
      found = copies.end() - 1;
      spaces_.copies.push_back({graph_.value(value).name, describe(graph_, graph_.node(id)), from, to,
                                fixed_bytes(graph_.value(value).type)});
    }
    graph_.set_input(id, slot, found->second);
  }

  ValueId add_copy(ValueId value, const Node& reader, const MemorySpace& to) {
    const std::string name = graph_.value(value).name;
    const ValueType type = graph_.value(value).type;
    const NodeId copy = graph_.add({.type = "Copy",
                                    .inputs = {value},
                                    .domain = "retort",
                                    .name = cat("copy of {}", name),
                                    .position = reader.position});
    graph_.value(graph_.node(copy).outputs[0]).type = type;
    resolve_external(graph_, graph_.node(copy), std::make_shared<CopyOp>(name, type, to));
    return graph_.node(copy).outputs[0];
  }

  Graph& graph_;
  GraphSpaces spaces_;
  std::map<ValueId, std::vector<std::pair<MemorySpace, ValueId>>> copies_;
};

}  // namespace

GraphSpaces assign_spaces(Graph& graph) { return SpaceAssigner(graph).assign(nullptr); }

}  // namespace retort
