#include "explain/memory.h"

#include <cmath>
#include <map>
#include <set>

#include "ir/describe.h"
#include "ops/op.h"

namespace retort {
namespace {

size_t weight_bytes(const Graph& graph) {
  std::set<ValueId> used;
  size_t bytes = 0;
  for (const NodeId id : graph.order()) {
    for (const ValueId in : graph.node(id).inputs) {
      if (in != ValueId::none && graph.value(in).is_constant() && used.insert(in).second)
        bytes += graph.value(in).constant.bytes();
    }
    for (const Body& b : graph.node(id).bodies) bytes += weight_bytes(*b.graph);
  }
  return bytes;
}

/// The value that owns the memory of `id`.
ValueId root(const Graph& graph, ValueId id) {
  for (const Node* n = graph.producer(id); n && n->op && n->op->has(kView) && graph.value(id).producer_slot == 0;
       n = graph.producer(id))
    id = n->input(0);
  return id;
}

}  // namespace

std::optional<size_t> value_bytes(const Graph& graph, ValueId value, const Extent& extent) {
  const auto count = count_elements(graph, value, extent);
  const DType type = graph.value(value).type.dtype;
  if (!count || type == DType::string || type == DType::undefined) return std::nullopt;
  return size_t(std::ceil(*count * double(dtype_bits(type)) / 8));
}

MemoryNeed memory_need(const Graph& graph, const Extent& extent) {
  MemoryNeed need{.weights = weight_bytes(graph)};
  const auto order = graph.order();
  std::map<ValueId, size_t> last;  // index of the last node that uses a value
  for (size_t i = 0; i < order.size(); ++i) {
    for (const auto* ids : {&graph.node(order[i]).inputs, &graph.node(order[i]).outputs}) {
      for (const ValueId id : *ids) {
        if (id != ValueId::none) last[root(graph, id)] = i;
      }
    }
  }
  std::map<size_t, size_t> ends;  // bytes that become free after a node
  size_t alive = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const ValueId id : graph.node(order[i]).outputs) {
      if (id == ValueId::none || root(graph, id) != id || graph.is_output(id)) continue;
      const auto bytes = value_bytes(graph, id, extent);
      need.complete &= bytes.has_value();
      alive += bytes.value_or(0);
      ends[last[id]] += bytes.value_or(0);
    }
    if (alive > need.at_once) {
      need.at_once = alive;
      need.at = label(graph, graph.node(order[i]));
    }
    alive -= ends[i];
  }
  return need;
}

}  // namespace retort
