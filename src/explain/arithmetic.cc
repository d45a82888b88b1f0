#include "explain/arithmetic.h"

#include <cmath>

#include "ops/op.h"

namespace retort {
namespace {

/// The number of an extent. Free extents of inputs count as 1, which may be less than the windows and slices of the
/// model need: a negative result counts as unknown.
double number_of(Dim d, const Extent& extent) {
  const auto n = extent(d);
  return n && *n >= 0 ? double(*n) : kUnknown;
}

/// The types and shapes of a node's values.
class NodeShapes final : public CostContext {
 public:
  NodeShapes(const Graph& graph, const Node& node, const Extent& extent)
      : graph_(graph), node_(node), extent_(extent) {}

 private:
  const ValueType* type(std::span<const ValueId> values, size_t i) const {
    return i < values.size() && values[i] != ValueId::none ? &graph_.value(values[i]).type : nullptr;
  }
  const ValueType* input(size_t i) const override { return type(node_.inputs, i); }
  const ValueType* output(size_t i) const override { return type(node_.outputs, i); }
  double number(Dim extent) const override { return number_of(extent, extent_); }

  const Graph& graph_;
  const Node& node_;
  const Extent& extent_;
};

std::optional<double> known(double n) { return std::isnan(n) ? std::nullopt : std::optional(n); }

}  // namespace

std::optional<double> count_elements(const Graph& graph, ValueId value, const Extent& extent) {
  if (value == ValueId::none) return std::nullopt;
  const ValueType& type = graph.value(value).type;
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  double n = 1;
  for (const Dim d : type.shape) n *= number_of(d, extent);
  return known(n);
}

std::optional<double> count_operations(const Graph& graph, const Node& node, const Extent& extent) {
  if (!node.op) return std::nullopt;
  return known(cost_of(*node.op, node.params.get(), NodeShapes(graph, node, extent)).arithmetic());
}

}  // namespace retort
