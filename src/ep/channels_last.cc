#include "ep/channels_last.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/describe.h"
#include "ops/op.h"
#include "passes/layout/image_op.h"

namespace retort {
namespace {

using Names = std::set<std::string_view>;

/// Operators that plug-ins which prefer channels last receive in that layout, unless they decline one. The list is part
/// of the plug-in interface: plug-ins expect these operators (even some that this engine does not have), and no others
/// whose channels are axis 1.
const Names kImageOps = {"AveragePool",
                         "BatchNormalization",
                         "Conv",
                         "ConvInteger",
                         "ConvTranspose",
                         "DepthToSpace",
                         "GlobalAveragePool",
                         "GlobalLpPool",
                         "GlobalMaxPool",
                         "GridSample",
                         "InstanceNormalization",
                         "LRN",
                         "LpPool",
                         "MaxPool",
                         "MaxRoiPool",
                         "QLinearConv",
                         "Resize",
                         "RoiAlign",
                         "SpaceToDepth"};
const Names kImageOpsOfMicrosoft = {"FusedConv", "QLinearAveragePool", "QLinearConvTranspose",
                                    "QLinearGlobalAveragePool"};

/// Whether each output element depends only on the input elements at its position; inputs broadcast. In the first
/// versions of the additions, `axis` aligns the second input.
bool works_in_place(const Node& node) {
  const OpDef* op = find_op("", node.type);
  return (op && op->has(kElementwise) && !node.attributes.has("axis")) || node.is("Identity") || node.is("Dropout");
}

/// The opset version of ai.onnx for inserted nodes: that of the model. A model whose image operators are all of another
/// domain may import none.
int version_for(const Model& model) {
  constexpr int kLastTranspose = 13;
  const auto found = model.opsets.find("");
  return found == model.opsets.end() ? kLastTranspose : found->second;
}

class Rewriter {
 public:
  Rewriter(const Model& model, Graph& graph, const Provider& provider, const std::vector<Claim>& claims)
      : graph_(graph), provider_(provider), version_(version_for(model)) {
    for (const Claim& claim : claims) claimed_.insert(claim.nodes.begin(), claim.nodes.end());
  }

  std::vector<NodeId> run() {
    const std::vector<NodeId> order(graph_.order().begin(), graph_.order().end());
    for (const NodeId id : order) {
      if (claimed_.contains(id) && wants(graph_.node(id)))
        change(id);
      else if (graph_.node(id).domain.empty())
        follow(id);
    }
    for (const NodeId id : transposes_) {
      if (graph_.use_count(graph_.node(id).outputs[0]) == 0) graph_.remove(id);
    }
    return std::move(changed_);
  }

 private:
  const Shape* shape_of(ValueId id) const {
    if (id == ValueId::none) return nullptr;
    const ValueType& type = graph_.value(id).type;
    return type.is_tensor() && type.ranked ? &type.shape : nullptr;
  }
  bool is_image(ValueId id, size_t rank) const {
    const Shape* shape = shape_of(id);
    return shape && shape->rank() == rank && rank >= 3;
  }

  bool wants(const Node& node) const {
    const Shape* shape = shape_of(node.input(0));
    // If a saved model has nodes of a provider in it, some are converted already.
    if (!shape || node.outputs.empty() || node.domain == kChannelsLastDomain) return false;
    if (!is_image(node.input(0), shape->rank()) || !is_image(node.outputs[0], shape->rank())) return false;
    if (node.is("Resize") && !resizes_by_constants(node, shape->rank())) return false;
    // The addend of a convolution would be an image as well, and the indices of a pool refer to its order of elements.
    if (node.type == "FusedConv" && node.input(3) != ValueId::none) return false;
    if (node.type == "MaxPool" && node.outputs.size() > 1 && node.outputs[1] != ValueId::none) return false;
    const bool usual = node.domain.empty() ? kImageOps.contains(node.type)
                                           : node.domain == "com.microsoft" && kImageOpsOfMicrosoft.contains(node.type);
    return provider_.wants_channels_last(node.domain, node.type).value_or(usual);
  }

  // Its other inputs have one entry per axis.
  bool resizes_by_constants(const Node& node, size_t rank) const {
    if (node.attributes.has("axes")) return false;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ValueId::none) continue;
      const Tensor* constant = graph_.constant(node.inputs[i]);
      if (!constant || (constant->count() && constant->count() % rank)) return false;
    }
    return true;
  }

  void change(NodeId id) {
    const size_t rank = shape_of(graph_.node(id).inputs[0])->rank();
    graph_.set_input(id, 0, last(graph_.node(id).inputs[0]));
    if (graph_.node(id).is("Resize")) {
      for (size_t i = 1; i < graph_.node(id).inputs.size(); ++i) order_entries(id, i, rank);
    }
    graph_.node(id).domain = kChannelsLastDomain;
    give_last(id);
    changed_.push_back(id);
  }

  // For roi, the entries are all starts, followed by all ends.
  void order_entries(NodeId id, size_t slot, size_t rank) {
    const ValueId in = graph_.node(id).inputs[slot];
    const Tensor* constant = graph_.constant(in);
    if (!constant || constant->count() == 0) return;
    const std::vector<int64_t> perm = perm_to_last(rank);
    Tensor made(constant->dtype(), constant->shape());
    const size_t size = constant->bytes() / constant->count();
    const auto* from = static_cast<const std::byte*>(constant->data());
    auto* to = static_cast<std::byte*>(made.mutable_data());
    for (size_t i = 0; i < constant->count(); ++i)
      std::copy_n(from + (i / rank * rank + size_t(perm[i % rank])) * size, size, to + i * size);
    graph_.set_input(id, slot, graph_.add_constant(graph_.unique_name(graph_.value(in).name), std::move(made)));
  }

  // An elementwise node takes its images in the layout in which the nodes before it produce them.
  void follow(NodeId id) {
    const Node& node = graph_.node(id);
    const Shape* shape = node.outputs.empty() ? nullptr : shape_of(node.outputs[0]);
    if (!shape || node.outputs.size() > 1) return;
    const size_t rank = shape->rank();
    if (rank < 3 || std::ranges::none_of(node.inputs, [&](ValueId in) { return has_last(in, rank); })) return;
    if (node.is("Concat")) {
      if (!all_follow(node, rank, false)) return;
      const int64_t axis = node.attributes.get_or<int64_t>("axis", 1);
      graph_.node(id).attributes.set("axis", axis_when_last(axis < 0 ? axis + int64_t(rank) : axis, rank));
      bring(id, rank);
    } else if (works_in_place(node)) {
      if (!all_follow(node, rank, true)) return;
      bring(id, rank);
    } else {
      return;
    }
    give_last(id);
  }

  bool has_last(ValueId id, size_t rank) const { return is_image(id, rank) && last_.contains(id); }

  bool all_follow(const Node& node, size_t rank, bool broadcasts) const {
    return std::ranges::all_of(node.inputs, [&](ValueId in) {
      const Tensor* constant = graph_.constant(in);
      return has_last(in, rank) || (broadcasts && (is_single(in) || (constant && constant->shape().rank() <= rank)));
    });
  }
  // Whether the value is absent or has one element, which is the same in any order of the axes.
  bool is_single(ValueId id) const {
    const Shape* shape = shape_of(id);
    return id == ValueId::none || (shape && std::ranges::all_of(*shape, [](Dim d) { return d == 1; }));
  }

  void bring(NodeId id, size_t rank) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId in = graph_.node(id).inputs[i];
      if (is_single(in) && !has_last(in, rank)) continue;
      if (const Tensor* constant = graph_.constant(in)) {
        Tensor made = broadcast_to_last(*constant, rank);
        graph_.set_input(id, i, graph_.add_constant(graph_.unique_name(graph_.value(in).name), std::move(made)));
      } else {
        graph_.set_input(id, i, last_.at(in));
      }
    }
  }

  /// `value` in channels-last layout.
  ValueId last(ValueId value) {
    const auto [at, added] = last_.try_emplace(value, ValueId::none);
    if (added) at->second = transposed(value, perm_to_last(shape_of(value)->rank()), graph_.value(value).name);
    return at->second;
  }

  // From now on, the node produces channels last; readers that need channels first read a transpose of it.
  void give_last(NodeId id) {
    const ValueId made = graph_.node(id).outputs[0];
    const size_t rank = shape_of(made)->rank();
    permute(graph_.value(made).type, perm_to_last(rank));
    const ValueId first = transposed(made, perm_to_first(rank), graph_.value(made).name);
    graph_.replace_uses(made, first);
    graph_.set_input(graph_.value(first).producer, 0, made);
    last_[first] = made;
  }

  ValueId transposed(ValueId value, const std::vector<int64_t>& perm, const std::string& name) {
    const NodeId id = graph_.add({.type = "Transpose",
                                  .inputs = {value},
                                  .attributes = {},
                                  .name = graph_.unique_name(cat("{}_transposed", name)),
                                  .version = version_});
    graph_.node(id).attributes.set("perm", perm);
    transposes_.push_back(id);
    const ValueId out = graph_.node(id).outputs[0];
    graph_.value(out).type = graph_.value(value).type;
    permute(graph_.value(out).type, perm);
    return out;
  }

  static void permute(ValueType& type, const std::vector<int64_t>& perm) {
    const Shape before = type.shape;
    for (size_t i = 0; i < perm.size(); ++i) type.shape[i] = before[size_t(perm[i])];
  }

  Graph& graph_;
  const Provider& provider_;
  std::set<NodeId> claimed_;
  const int version_;                // of ai.onnx
  std::map<ValueId, ValueId> last_;  // images with channels first, and their versions with channels last
  std::vector<NodeId> transposes_, changed_;
};

}  // namespace

std::vector<NodeId> to_channels_last(Model& model, Graph& graph, const Provider& provider,
                                     const std::vector<Claim>& claims) {
  std::vector<NodeId> changed = Rewriter(model, graph, provider, claims).run();
  if (!changed.empty())
    model.opsets[kChannelsLastDomain] = model.opsets.try_emplace("", version_for(model)).first->second;
  return changed;
}

void check_claimed(const Graph& graph, const Provider& provider, const std::vector<NodeId>& changed,
                   const std::vector<Claim>& claims) {
  for (const NodeId id : changed) {
    const bool found = std::ranges::any_of(claims, [&](const Claim& c) { return std::ranges::count(c.nodes, id); });
    require(
        found, ErrorCode::ep_fail,
        "provider '{}' asked for {} with channels last, but did not claim it then; it must not claim it at first, or "
        "return 0 for it from ShouldConvertDataLayoutForOp",
        provider.name(), describe(graph, graph.node(id)));
  }
}

}  // namespace retort
