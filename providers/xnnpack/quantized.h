// Operations on 8-bit integers: QLinear operators, and operators between DequantizeLinear and QuantizeLinear.
#pragma once
#include <functional>

#include "claims.h"
#include "common/quantization.h"

namespace xnn {

using providers::Scale;

/// A value of 8-bit integers with its scale. Outside of a part, it may be uint8; inside, all are int8.
struct Operand {
  const Value* value = nullptr;
  Scale scale;
  /// The zero point for int8.
  int32_t zero() const;
};

/// An operation from 8-bit integers to 8-bit integers.
struct Unit {
  const Node* node = nullptr;  ///< the operator, for its attributes
  Kind kind = Kind::clamp;
  Operand x, w, y;                         ///< `w`: weights or the second operand; without a value for others
  const Value* bias = nullptr;             ///< int32 with the scale of the sums of products, or float32
  float low = -INFINITY, high = INFINITY;  ///< of real results
};

/// Whether a node is a QLinear operator, and its unit; `node` is null if it cannot be claimed.
bool is_linear(const Node& node);
std::set<std::string> linear_names();
Unit linear(const Node& node);
/// The unit that ends in a QuantizeLinear and begins at DequantizeLinear; `node` is null if the library has no such
/// operation, and float32 is used. `absorbed` gets the nodes that the unit replaces besides the QuantizeLinear.
/// `single`: whether exactly one node reads a value, and it is not an output.
Unit surrounded(const Node& quantize, const std::function<bool(const Value*)>& single, std::set<const Node*>& absorbed);

/// Scales of a unit's weights, one per result. None if the library does not support the weights: as int8, their zero
/// point must be 0.
std::optional<std::vector<float>> scales_of_weights(const Unit& unit);
/// Integers with the scale of the unit's sums of products; zeros without a bias. None if they do not fit.
std::optional<std::vector<int32_t>> sums_of(const Unit& unit, const std::vector<float>& scales);
/// Elements of a constant as int8.
std::vector<int8_t> stored_bytes(const Value& v);

/// The scales of 8-bit integers, which each node that uses them gives. The first one counts; nodes that give another
/// one cannot be claimed.
class Agreements {
 public:
  explicit Agreements(const providers::Graph& graph);
  bool hold(const Node& node) const;
  /// The scale of a value of 8-bit integers; arbitrary if no node gives one.
  Operand of(const Value& v) const;

 private:
  std::map<const Value*, Scale> scales_;
};

/// Whether a MaxPool, Flatten or Reshape moves 8-bit integers, whose scale does not matter.
bool moves_bytes(const Node& node);
/// Whether the library supports the scale.
bool is_plain(const Scale& scale);

}  // namespace xnn
