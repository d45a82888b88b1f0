// Runs networks of convolutions channels-last: nodes chosen by assign_layouts take that form, and a Transpose is
// inserted wherever a value is needed in the other layout. Speeds up all CNNs; afterwards ResNet, MobileNet,
// EfficientNet, SqueezeNet, YOLO and ConvNeXt have (almost) no Transpose.
#include "passes/layout/assign.h"
#include "passes/passes.h"

namespace retort {
namespace {

class Converter {
 public:
  Converter(Graph& g, PassContext& context) : g_(g), context_(context) {}

  void run(const std::map<NodeId, ImageOp>& chosen) {
    const std::span<const NodeId> order = g_.order();
    const std::vector<NodeId> nodes(order.begin(), order.end());
    for (NodeId id : nodes) {
      if (const auto op = chosen.find(id); op != chosen.end()) convert(id, op->second);
    }
    for (NodeId id : nodes) {
      if (chosen.contains(id)) reconnect(id, chosen);
    }
    for (size_t i = nodes.size(); i-- > 0;) {
      if (chosen.contains(nodes[i])) g_.remove(nodes[i]);
    }
  }

 private:
  NodeId add(NodeSpec spec) {
    const NodeId id = g_.add(std::move(spec));
    resolve(g_.node(id));
    infer_node(g_, g_.node(id));
    return id;
  }

  ValueId transposed(ValueId v, std::vector<int64_t> perm) {
    NodeSpec spec{.type = "Transpose", .inputs = {v}};
    spec.attributes.set("perm", std::move(perm));
    context_.count("transpose");
    return g_.node(add(std::move(spec))).outputs[0];
  }

  // Returns the channels-last form of a value, and makes it if it does not exist yet.
  ValueId last(ValueId v) {
    const auto known = last_.find(v);
    if (known != last_.end()) return known->second;
    const size_t rank = shape_of(g_, v)->rank();
    ValueId made;
    if (const Tensor* t = g_.constant(v)) {
      made = g_.add_constant(g_.unique_name("const"), broadcast_to_last(*t, rank));
    } else {
      made = transposed(v, perm_to_last(rank));
    }
    return last_[v] = made;
  }

  void convert(NodeId id, const ImageOp& op) {
    LastForm form = last_form(g_, g_.node(id), op);
    for (auto& [slot, tensor] : form.constants)
      form.spec.inputs[slot] = g_.add_constant(g_.unique_name("const"), std::move(tensor));
    const bool direct = op.reads_first && !last_.contains(g_.node(id).inputs[0]) && !is_turned(g_.node(id).inputs[0]);
    if (direct) {
      form.spec.attributes.set("input_nchw", int64_t(1));
    } else {
      for (size_t slot : op.inputs) form.spec.inputs[slot] = last(g_.node(id).inputs[slot]);
    }
    const NodeId made = add(std::move(form.spec));
    Node& n = g_.node(made);
    n.origins = g_.node(id).origins;
    for (size_t i = 0; i < n.outputs.size(); ++i) last_[g_.node(id).outputs[i]] = n.outputs[i];
    context_.count("node");
  }

  // Whether a value is the model's own Transpose of a channels-last one, which will cancel.
  bool is_turned(ValueId v) const {
    const Node* n = producer_of(g_, v, "Transpose");
    return n && ints_attribute(*n, "perm") == perm_to_first(ints_attribute(*n, "perm").size());
  }

  // Connects consumers that stayed channels-first to the node's results through a Transpose.
  void reconnect(NodeId id, const std::map<NodeId, ImageOp>& chosen) {
    for (ValueId out : std::vector<ValueId>(g_.node(id).outputs)) {
      if (out == ValueId::none) continue;
      const auto& uses = g_.value(out).uses;
      const bool needed = g_.is_output(out) ||
                          std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return !chosen.contains(u.node); });
      if (!needed) continue;
      if (shape_of(g_, out)->rank() < 3) {  // no image: the scale or zero point of one
        g_.replace_uses(out, last_.at(out));
        continue;
      }
      const ValueId to = transposed(last_.at(out), perm_to_first(shape_of(g_, last_.at(out))->rank()));
      g_.replace_uses(out, to);
    }
  }

  Graph& g_;
  PassContext& context_;
  std::map<ValueId, ValueId> last_;
};

void choose_layouts(Graph& graph, PassContext& context) {
  const auto chosen = assign_layouts(graph, context.options().bf16_products);
  if (!chosen.empty()) Converter(graph, context).run(chosen);
}

}  // namespace

constinit const Pass pass_layout{"layout", 3, choose_layouts};

}  // namespace retort
