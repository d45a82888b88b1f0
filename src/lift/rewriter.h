// The interface for the rules of the lift. A rule is one step from an older form of an operator to a newer one. In
// rules/ there is one file for each operator or family whose form changed; the table is generated from the file names.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// A node while it is lifted. Its inputs are already lifted and have types.
class Rewriter {
 public:
  Rewriter(Graph& graph, NodeId node) : graph_(graph), id_(node) {}

  Graph& graph() { return graph_; }
  Node& node() { return graph_.node(id_); }
  Attributes& attributes() { return node().attributes; }
  ValueId input(size_t i) { return node().input(i); }
  bool has(size_t i) { return input(i) != ValueId::none; }
  /// Throws invalid_graph if input i is missing.
  const ValueType& type(size_t i);
  /// The same for the id of an input, or of a value made of it.
  const ValueType& type_of(ValueId value);
  /// Throws invalid_graph if input i is missing or its rank is unknown; `why` completes "… is needed for ".
  size_t rank(size_t i, std::string_view why);
  const Tensor* constant_input(size_t i) { return graph_.constant(input(i)); }
  bool output_used(size_t i);

  void erase(std::initializer_list<std::string_view> names);
  /// Turns the attribute `name` (INTS or INT) into input `slot`, an int64 vector; does nothing without the attribute.
  void attribute_to_input(std::string_view name, size_t slot);
  void set_input(size_t slot, ValueId value);

  ValueId constant(Tensor value);
  ValueId constant(const std::vector<int64_t>& values) {
    return constant(Tensor::of<int64_t>({int64_t(values.size())}, values));
  }
  /// Adds a node in its newest form before this one, resolved and typed; returns its only output.
  ValueId add(NodeSpec spec) { return add_all(std::move(spec))[0]; }
  /// The same; returns all its outputs.
  std::vector<ValueId> add_all(NodeSpec spec);
  /// Makes uses of output i use `by`.
  void replace_output(size_t i, ValueId by);
  /// Omits output i, which must be unused.
  void drop_output(size_t i);
  /// Removes trailing inputs.
  void resize_inputs(size_t count) { graph_.resize_inputs(id_, count); }
  /// Adds a warning about what is wrong with the node but has no effect.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  std::span<const std::string> notes() const { return notes_; }
  /// Removes the node; all its outputs must have been replaced.
  void remove() { graph_.remove(id_); }

 private:
  Graph& graph_;
  NodeId id_;
  std::vector<std::string> notes_;
};

/// Lifts nodes of an older form to that of opset `to`. For a node of opset v, every rule with to > v applies, oldest
/// first.
struct LiftRule {
  std::string_view type;
  int to;  ///< the first opset that has the newer form; kAlways: applies to any opset
  void (*apply)(Rewriter& r);
  std::string_view domain = "";
};
inline constexpr int kAlways = 1 << 20;

/// Every file in rules/ exports one of these, named lift_<file name>.
using LiftRules = std::span<const LiftRule>;
std::span<const LiftRules* const> lift_rule_table();

/// Adds the Transpose of `x` with these axes, or the Cast of `x`; returns its output.
ValueId transpose(Rewriter& r, ValueId x, std::vector<int64_t> axes);
ValueId cast(Rewriter& r, ValueId x, DType type);

/// Extents `begin` to `end` - 1 of the shape of `x` as a vector; vectors one after the other.
ValueId shape_part(Rewriter& r, ValueId x, int64_t begin, int64_t end);
ValueId joined(Rewriter& r, std::vector<ValueId> vectors);

/// A scalar of a float type.
Tensor float_scalar(DType type, float value);

}  // namespace retort
