#include "plan/order.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/loading.h"
#include "tensor/dtype.h"

namespace retort {
namespace {

// Extents that only a run determines are estimated, all of them equally: comparisons need no more.
constexpr double kUnknownExtent = 64;
constexpr size_t kLookedAt = 256;  // nodes that are compared, so that the time grows only linearly with the graph

double bytes_of(const GraphValue& value) {
  if (!value.type.is_tensor() || !value.type.ranked || value.type.dtype == DType::string) return 0;
  double bytes = double(dtype_bits(value.type.dtype)) / 8;
  for (const Dim extent : value.type.shape) bytes *= is_known(extent) ? double(extent) : kUnknownExtent;
  return bytes;
}

class Orderer {
 public:
  Orderer(const Graph& graph, NodeOrder order)
      : graph_(graph),
        order_(order),
        all_(graph.order()),
        waiting_(graph.node_count()),
        rank_(graph.node_count()),
        readers_(graph.value_count()) {}

  std::vector<NodeId> nodes() {
    for (size_t i = 0; i < all_.size(); ++i) {
      rank_[size_t(all_[i])] = i;
      for (const ValueId in : graph_.node(all_[i]).inputs) waiting_[size_t(all_[i])] += is_made(in);
      for (const ValueId in : made_inputs(all_[i])) ++readers_[size_t(in)];
    }
    for (const ValueId out : graph_.outputs) ++readers_[size_t(out)];
    for (const NodeId id : all_) {
      if (waiting_[size_t(id)] == 0) add_ready(id);
    }
    std::vector<NodeId> result;
    while (!ready_.empty()) {
      check_loading();
      result.push_back(take());
    }
    return result;
  }

 private:
  bool is_made(ValueId v) const { return v != ValueId::none && graph_.value(v).producer != NodeId::none; }

  std::vector<ValueId> made_inputs(NodeId id) const {
    std::vector<ValueId> inputs = graph_.node(id).inputs;
    std::erase_if(inputs, [&](ValueId v) { return !is_made(v); });
    std::ranges::sort(inputs);
    inputs.erase(std::ranges::unique(inputs).begin(), inputs.end());
    return inputs;
  }

  void add_ready(NodeId id) {
    const Node& node = graph_.node(id);
    const bool first = order_ == NodeOrder::priority && (node.is("Shape") || node.is("Size"));
    ready_.insert({first ? 0 : 1, rank_[size_t(id)]});
  }

  // By how many bytes the memory in use grows if the node runs next.
  double growth(NodeId id) const {
    double bytes = 0;
    for (const ValueId out : graph_.node(id).outputs) bytes += out == ValueId::none ? 0 : bytes_of(graph_.value(out));
    for (const ValueId in : made_inputs(id)) bytes -= readers_[size_t(in)] == 1 ? bytes_of(graph_.value(in)) : 0;
    return bytes;
  }

  std::set<std::pair<int, size_t>>::iterator next() const {
    if (order_ != NodeOrder::memory) return ready_.begin();
    auto best = ready_.begin();
    double least = growth(all_[best->second]);
    size_t seen = 1;
    for (auto it = std::next(best); it != ready_.end() && seen < kLookedAt; ++it, ++seen) {
      const double bytes = growth(all_[it->second]);
      if (bytes >= least) continue;
      least = bytes;
      best = it;
    }
    return best;
  }

  NodeId take() {
    const auto at = next();
    const NodeId id = all_[at->second];
    ready_.erase(at);
    for (const ValueId in : made_inputs(id)) --readers_[size_t(in)];
    for (const ValueId out : graph_.node(id).outputs) {
      if (out == ValueId::none) continue;
      for (const Use& use : graph_.value(out).uses) {
        if (--waiting_[size_t(use.node)] == 0) add_ready(use.node);
      }
    }
    return id;
  }

  const Graph& graph_;
  const NodeOrder order_;
  const std::span<const NodeId> all_;       // in the order of the model
  std::vector<uint32_t> waiting_;           // by node: inputs that are not made yet
  std::vector<size_t> rank_;                // by node: its place in all_
  std::vector<uint32_t> readers_;           // by value: nodes that have not run yet, and outputs of the graph
  std::set<std::pair<int, size_t>> ready_;  // 0 if it is preferred, and the place in all_
};

}  // namespace

std::vector<NodeId> ordered_nodes(const Graph& graph, NodeOrder order) {
  if (order != NodeOrder::model) return Orderer(graph, order).nodes();
  const std::span<const NodeId> all = graph.order();
  return {all.begin(), all.end()};
}

}  // namespace retort
