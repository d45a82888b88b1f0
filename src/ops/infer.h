// Shape inference. One function per operator is used twice: when the graph is built (extents may be symbols, inputs may
// have an unknown rank) and when a run is laid out (all extents are numbers).
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "ops/slot.h"
#include "tensor/dims.h"

namespace retort {

/// Thrown by InferContext if a rank or content is requested that is not known yet; the outputs keep what was set
/// before. While a run is laid out it means that the step's inputs must be computed first. Never leaves the engine.
struct NotYetKnown {};

/// The argument of an operator's infer(). Outputs start with an unknown type.
class InferContext {
 public:
  /// `inputs` and `outputs` point to slots; a null input is an omitted one. `node` is null while a run is laid out.
  InferContext(DimTable& dims, const Node* node, std::span<Slot* const> inputs, std::span<Slot* const> outputs)
      : dims_(dims), node_(node), inputs_(inputs), outputs_(outputs) {}

  DimTable& dims() const { return dims_; }
  const Node* node() const { return node_; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  bool wants(size_t i) const { return i < outputs_.size() && outputs_[i]; }

  /// Type of an input; throws invalid_graph if it is omitted.
  const ValueType& type(size_t i) const;
  DType dtype(size_t i) const { return type(i).dtype; }
  bool ranked(size_t i) const { return type(i).ranked; }
  /// Throws NotYetKnown if the rank is unknown.
  const Shape& shape(size_t i) const;
  size_t rank(size_t i) const { return shape(i).rank(); }
  /// Content of an integer input (row-major) if it is known, including symbols; nullopt otherwise, and for omitted
  /// inputs.
  std::optional<std::span<const Dim>> try_value(size_t i) const;
  /// Throws NotYetKnown if the content is unknown.
  std::span<const Dim> value(size_t i) const;
  /// First element of an input of any type whose content is available; otherwise null.
  const void* data(size_t i) const { return has(i) ? inputs_[i]->data : nullptr; }
  /// An extent that depends on data: a new symbol in the graph; throws NotYetKnown while a run is laid out.
  Dim unknown_extent() const;
  /// Content of a float32 input that lies in host memory; nullopt otherwise, and for omitted inputs.
  std::optional<std::span<const float>> try_floats(size_t i) const;

  void set(size_t output, DType dtype, Shape shape);
  /// Sets only the element type.
  void set(size_t output, DType dtype);
  void set(size_t output, ValueType type);
  /// Sets the output's content; call it after setting the type. Ignored for more than kMaxKnown elements and for types
  /// other than int64, int32 and bool: the content of others is never propagated.
  void set_value(size_t output, std::span<const Dim> content);
  /// Memory for the output's content as an alternative to set_value(), to be filled at once; nullopt if that would be
  /// ignored.
  std::optional<std::span<Dim>> new_value(size_t output, size_t count);
  /// Makes the content unknown again.
  void drop_value(size_t output);

  /// numpy broadcasting of any number of inputs; throws invalid_argument naming the shapes if they do not match.
  Shape broadcast(std::initializer_list<size_t> inputs) const;
  /// Maps an axis of input `i` from [-rank, rank) to [0, rank); throws invalid_argument if it is outside.
  size_t axis(int64_t axis, size_t rank) const;

 private:
  DimTable& dims_;
  const Node* node_;
  std::span<Slot*const> inputs_, outputs_;
};

/// False if both are numbers and differ.
inline bool may_equal(Dim a, Dim b) { return !is_known(a) || !is_known(b) || a == b; }
/// Throws invalid_argument if the shape of input i is known to differ from `wanted`; `name` is that of the input in the
/// message, "" for its number. Throws NotYetKnown if the rank is unknown.
void expect_shape(const InferContext& c, size_t i, std::string_view name, const Shape& wanted);
/// The same for an input that may be omitted, and does not have to be known.
void expect_shape_if_given(const InferContext& c, size_t i, std::string_view name, const Shape& wanted);
/// Broadcasts two shapes by the numpy rule.
Shape broadcast_shapes(DimTable& dims, const Shape& a, const Shape& b);
/// Maps `axis` to [0, rank); throws invalid_argument if it is outside [-rank, rank).
size_t normalize_axis(int64_t axis, size_t rank);

}  // namespace retort
