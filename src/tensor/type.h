// Types of values in a graph. An extent is an int64_t: >= 0 is a known number, < 0 the handle of a symbolic expression
// (see dims.h).
#pragma once
#include <memory>
#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace retort {

using Dim = int64_t;
inline constexpr Dim kSymbolBase = -0x5a5a'0000'0000'0000;
inline constexpr Dim kMaxSymbols = Dim(1) << 32;
inline bool is_symbolic(Dim d) { return d <= kSymbolBase && d > kSymbolBase - kMaxSymbols; }
inline bool is_known(Dim d) { return !is_symbolic(d); }
inline bool all_known(std::span<const Dim> dims) { return std::all_of(dims.begin(), dims.end(), is_known); }

struct ValueType {
  enum class Kind : uint8_t { unknown, tensor, sequence, map, optional, sparse, opaque };
  Kind kind = Kind::unknown;
  DType dtype = DType::undefined;  ///< element type of tensor and sparse; value element type of maps of tensors
  DType key = DType::undefined;    ///< key type of maps
  bool ranked = false;             ///< false: the shape is unknown
  Shape shape;                     ///< of Dim, if ranked
  std::shared_ptr<const ValueType> element;  ///< of sequence, optional, map

  static ValueType tensor(DType dtype) { return {.kind = Kind::tensor, .dtype = dtype}; }
  static ValueType tensor(DType dtype, Shape shape) {
    return {.kind = Kind::tensor, .dtype = dtype, .ranked = true, .shape = std::move(shape)};
  }
  static ValueType sequence_of(ValueType element) {
    return {.kind = Kind::sequence, .element = std::make_shared<const ValueType>(std::move(element))};
  }
  static ValueType optional_of(ValueType element) {
    return {.kind = Kind::optional, .element = std::make_shared<const ValueType>(std::move(element))};
  }
  bool is_tensor() const { return kind == Kind::tensor; }
  size_t rank() const { return shape.rank(); }
  bool is_static() const { return ranked && all_known(shape); }
  bool operator==(const ValueType& o) const {
    return kind == o.kind && dtype == o.dtype && key == o.key && ranked == o.ranked && shape == o.shape &&
           (element == o.element || (element && o.element && *element == *o.element));
  }
};

class Value;

/// "tensor(float32)", "seq(tensor(int8))", "map(int64,tensor(float32))", "optional(…)", for a type or for the content
/// of a value.
std::string kind_text(const ValueType& type);
std::string kind_text(const Value& value);

/// Whether the value has that type, including element types, whatever its extents. Unknown types admit everything; an
/// optional admits its element type and no value.
bool admits(const ValueType& type, const Value& value);
/// Whether a value can have both types, ignoring extents; an optional agrees with its element type.
bool agree(const ValueType& a, const ValueType& b);
/// Whether all tensors of a value that the type admits have the ranks and the known extents of the type.
bool extents_fit(const ValueType& type, const Value& value);

}  // namespace retort
