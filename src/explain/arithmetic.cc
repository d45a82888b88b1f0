#include "explain/arithmetic.h"

#include <map>

#include "ops/op.h"

namespace retort {
namespace {

using Count = std::optional<double>;

Count times(Count a, Count b) { return a && b ? Count(*a * *b) : std::nullopt; }
Count plus(Count a, Count b) { return a && b ? Count(*a + *b) : std::nullopt; }

/// The number of an extent. Free extents of inputs count as 1, which may be fewer than the model's windows and slices
/// take away: what comes out below zero is no extent.
Count number(const Extent& extent, Dim d) {
  const auto n = extent(d);
  return n && *n >= 0 ? Count(double(*n)) : std::nullopt;
}

/// A node with its shapes as numbers.
struct Shapes {
  const Graph& graph;
  const Node& node;
  const Extent& extent;

  Count elements(ValueId id) const { return count_elements(graph, id, extent); }
  Count in(size_t i) const { return elements(node.input(i)); }
  Count out(size_t i = 0) const { return i < node.outputs.size() ? elements(node.outputs[i]) : std::nullopt; }
  /// Extent `axis` of input i, from the end where it is negative.
  Count dim(size_t i, int axis) const {
    const ValueId id = node.input(i);
    if (id == ValueId::none || !graph.value(id).type.ranked) return std::nullopt;
    const Shape& s = graph.value(id).type.shape;
    const int at = axis < 0 ? int(s.rank()) + axis : axis;
    if (at < 0 || at >= int(s.rank())) return std::nullopt;
    return number(extent, s[size_t(at)]);
  }
  double integer(std::string_view name) const { return double(node.attributes.get_or<int64_t>(name, 0)); }
  /// Multiply-adds of a product of matrices whose inner extent is `k`, and one operation per element of a bias.
  Count product(Count k, size_t bias) const {
    const Count sum = times(2, times(out(), k));
    return node.input(bias) != ValueId::none ? plus(sum, out()) : sum;
  }
};

Count divided(Count a, Count b) { return a && b && *b != 0 ? Count(*a / *b) : std::nullopt; }

Count convolution(const Shapes& s) { return s.product(divided(s.in(1), s.dim(1, 0)), 2); }
Count code_convolution(const Shapes& s) { return s.product(divided(s.in(3), s.dim(3, 0)), 8); }
Count transposed_convolution(const Shapes& s) { return times(2, times(s.in(0), divided(s.in(1), s.dim(1, 0)))); }
Count matrices(const Shapes& s) { return s.product(s.dim(0, s.integer("transA") != 0 ? -2 : -1), 2); }
Count plain_matrices(const Shapes& s) { return times(2, times(s.out(), s.dim(0, -1))); }
Count packed_matrices(const Shapes& s) { return times(2, times(s.out(), s.integer("K"))); }

/// Input 0 is the sequence, inputs 1 and 2 the weights: each weight takes part once a step and row of the batch.
Count recurrent(const Shapes& s) { return times(2, times(times(s.dim(0, 0), s.dim(0, 1)), plus(s.in(1), s.in(2)))); }

/// Scores and their sum over the values: two products of the same size, of all pairs of positions, masked or not.
Count attention(const Shapes& s) {
  const Count queries = s.in(0);
  const bool packed = s.node.input(0) != ValueId::none && s.graph.value(s.node.input(0)).type.rank() == 3;
  const Count past = s.node.input(4) != ValueId::none ? s.dim(4, 2) : Count(0);
  return times(4, times(queries, plus(s.dim(1, packed ? 1 : 2), past)));
}

/// The same with the cache in inputs 3 and 4.
Count grouped_attention(const Shapes& s) {
  if (s.node.input(1) == ValueId::none) return std::nullopt;  // keys are packed into the queries
  const Count past = s.node.input(3) != ValueId::none ? s.dim(3, 2) : Count(0);
  return times(4, times(s.in(0), plus(s.dim(0, 1), past)));
}

/// Elements of the window for each element of the output.
Count pooling(const Shapes& s) {
  const auto* kernel = s.node.attributes.get<std::vector<int64_t>>("kernel_shape");
  double window = kernel ? 1 : 0;
  for (size_t i = 0; kernel && i < kernel->size(); ++i) window *= double((*kernel)[i]);
  return kernel ? times(s.out(), window) : s.in(0);
}

Count inputs(const Shapes& s) { return s.in(0); }
Count not_counted(const Shapes&) { return std::nullopt; }
Count normalisation(const Shapes& s) { return times(5, s.in(0)); }  // mean, difference, square, scale, shift

using Formula = Count (*)(const Shapes&);
const std::map<std::string_view, Formula>& formulas() {
  static const std::map<std::string_view, Formula> all{
      {"Conv", convolution},
      {"ConvInteger", convolution},
      {"QLinearConv", code_convolution},
      {"ConvTranspose", transposed_convolution},
      {"MatMul", plain_matrices},
      {"MatMulInteger", plain_matrices},
      {"QLinearMatMul", plain_matrices},
      {"FusedMatMul", matrices},
      {"Gemm", matrices},
      {"Linear", matrices},
      {"MatMulNBits", packed_matrices},
      {"Einsum", not_counted},
      {"DFT", not_counted},
      {"STFT", not_counted},
      {"GridSample", not_counted},
      {"RoiAlign", not_counted},
      {"MaxRoiPool", not_counted},
      {"DeformConv", not_counted},
      {"RNN", recurrent},
      {"GRU", recurrent},
      {"LSTM", recurrent},
      {"Attention", attention},
      {"GroupQueryAttention", grouped_attention},
      {"AveragePool", pooling},
      {"MaxPool", pooling},
      {"LpPool", pooling},
      {"GlobalAveragePool", inputs},
      {"GlobalMaxPool", inputs},
      {"ReduceSum", inputs},
      {"ReduceMean", inputs},
      {"ReduceMax", inputs},
      {"ReduceMin", inputs},
      {"ReduceProd", inputs},
      {"ReduceL1", inputs},
      {"ReduceL2", inputs},
      {"ReduceSumSquare", inputs},
      {"ReduceLogSum", inputs},
      {"ReduceLogSumExp", inputs},
      {"CumSum", inputs},
      {"BatchNormalization", normalisation},
      {"LayerNormalization", normalisation},
      {"RMSNormalization", normalisation},
      {"InstanceNormalization", normalisation},
      {"GroupNormalization", normalisation},
      {"SkipLayerNormalization", normalisation},
      {"SimplifiedLayerNormalization", normalisation},
      {"SkipSimplifiedLayerNormalization", normalisation},
      {"Softmax", normalisation},
      {"LogSoftmax", normalisation},
  };
  return all;
}

}  // namespace

Count count_elements(const Graph& graph, ValueId value, const Extent& extent) {
  if (value == ValueId::none) return std::nullopt;
  const ValueType& type = graph.value(value).type;
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  Count n = 1;
  for (const Dim d : type.shape) n = times(n, number(extent, d));
  return n;
}

Count count_operations(const Graph& graph, const Node& node, const Extent& extent) {
  const Shapes s{graph, node, extent};
  if (!node.op) return std::nullopt;
  const auto found = formulas().find(node.type);
  if (found != formulas().end()) return found->second(s);
  const bool computes = node.op && node.op->has(kElementwise) && !node.op->has(kView);
  return computes ? s.out() : Count(0);
}

}  // namespace retort
