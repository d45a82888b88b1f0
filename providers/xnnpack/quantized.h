// Work on 8-bit integers: QLinear operators, and operators between DequantizeLinear and QuantizeLinear.
#pragma once
#include <functional>

#include "claims.h"
#include "common/quantization.h"

namespace xnn {

using providers::Scale;

/// A value of 8-bit integers and what they mean. In front of a part and behind it they may be uint8; inside all are int8.
struct Operand {
  const Value* value = nullptr;
  Scale scale;
  /// Zero as int8 has it.
  int32_t zero() const;
};

/// An operation from 8-bit integers to such.
struct Unit {
  const Node* node = nullptr;  ///< the operator, for its attributes
  Kind kind = Kind::clamp;
  Operand x, w, y;                         ///< `w`: weights or the second operand; no value for others
  const Value* bias = nullptr;             ///< int32 of the scale that sums of products have, or float32
  float low = -INFINITY, high = INFINITY;  ///< of real results
};

/// Whether a node is a QLinear operator, and its form; `node` is null where it cannot be claimed.
bool is_linear(const Node& node);
std::set<std::string> linear_names();
Unit linear(const Node& node);
/// What ends in a QuantizeLinear, between it and DequantizeLinear; `node` is null where the library has no such operation,
/// and the steps are done in float32. `absorbed` gets the nodes that it stands for besides the QuantizeLinear.
/// `single`: whether one node reads a value, and nobody else wants it.
Unit surrounded(const Node& quantize, const std::function<bool(const Value*)>& single, std::set<const Node*>& absorbed);

/// Scales of a unit's weights, one for each result. None where the library does not take the weights: as int8 their zero
/// must be 0.
std::optional<std::vector<float>> scales_of_weights(const Unit& unit);
/// Integers of the scale that the unit's sums of products have; zeros without a bias. None where they do not fit.
std::optional<std::vector<int32_t>> sums_of(const Unit& unit, const std::vector<float>& scales);
/// Elements of a constant as int8.
std::vector<int8_t> stored_bytes(const Value& v);

/// What 8-bit integers mean is said by each node that touches them. The first one counts; nodes that say another thing
/// cannot be claimed.
class Agreements {
 public:
  explicit Agreements(const providers::Graph& graph);
  bool hold(const Node& node) const;
  /// Of a value of 8-bit integers. Where nobody says it, any does.
  Operand of(const Value& v) const;

 private:
  std::map<const Value*, Scale> scales_;
};

/// Whether a MaxPool, Flatten or Reshape moves 8-bit integers, whatever they mean.
bool moves_bytes(const Node& node);
/// A scale that the library takes.
bool is_plain(const Scale& scale);

}  // namespace xnn
