// Functions with which rules inspect a graph.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace retort {

/// The producer of `value` if it has that type; otherwise null.
const Node* producer_of(const Graph& graph, ValueId value, std::string_view type, std::string_view domain = "");
/// The same, but only if nothing else uses the value, so that the node can be absorbed.
const Node* sole_producer_of(const Graph& graph, ValueId value, std::string_view type, std::string_view domain = "");
/// Whether the value has exactly one use and is not an output of the graph.
bool used_once(const Graph& graph, ValueId value);

/// The number in a constant of one element, of any float type.
std::optional<double> scalar_constant(const Graph& graph, ValueId value);
/// Whether `c` is a rounding of `number`: to binary16, as in fp16 models that were widened, or equal up to 1e-6.
bool is_rounded(double c, double number);
/// Whether `value` is a constant of one element that is a rounding of `number`.
bool is_scalar(const Graph& graph, ValueId value, double number);
/// Content of an integer value that is constant or known without symbols.
std::optional<std::vector<int64_t>> known_integers(const Graph& graph, ValueId value);

/// For a binary node: the other input if one of the two satisfies the test; none otherwise.
template <typename F>
ValueId other_input(const Node& n, F&& test) {
  if (n.inputs.size() == 2 && test(n.inputs[1])) return n.inputs[0];
  if (n.inputs.size() == 2 && test(n.inputs[0])) return n.inputs[1];
  return ValueId::none;
}
/// x in x·c or c·x (Mul), x + c (Add), …, where c is a scalar constant.
struct ScalarOperand {
  ValueId x = ValueId::none;
  double c = 0;
};
std::optional<ScalarOperand> with_scalar(const Graph& graph, const Node& n);

/// Shape of a value; null if its rank is not known.
const Shape* shape_of(const Graph& graph, ValueId value);
inline bool is_float32(const Graph& graph, ValueId value) {
  return value != ValueId::none && graph.value(value).type.dtype == DType::f32;
}
/// Whether the content of a value is constant or known, including symbols.
bool has_content(const Graph& graph, ValueId value);
/// Whether both shapes are known, including symbols, and equal.
bool same_shape(const Graph& graph, ValueId a, ValueId b);
/// Content of a float constant, converted; empty if the value is not a float constant.
std::vector<float> float_content(const Graph& graph, ValueId value);
Tensor float_tensor(Shape shape, std::span<const float> content);
Tensor int64_tensor(std::span<const int64_t> content);

/// The attributes of a resolved node by name, as its operator's struct reads them.
std::vector<int64_t> ints_attribute(const Node& n, std::string_view name);

}  // namespace retort
