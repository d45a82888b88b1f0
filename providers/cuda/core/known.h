// Operators on small tensors that the host evaluates while it makes a plan: shapes, and what is computed from them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/graph.h"
#include "plan.h"

namespace providers::cuda {

/// A tensor whose values the host knows. `values.integers` has one entry per element if the type is an integer or bool,
/// `values.reals` if it is a floating-point type.
struct KnownResult {
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Dims dims;
  Known values;
  size_t count() const;
};

/// A node as `evaluate` needs it, independent of the host's graph. Immutable.
struct KnownOp {
  std::string type, who;
  int since = 0;
  size_t outputs = 0;
  std::map<std::string, std::vector<int64_t>> integers;  ///< attributes; one entry for INT
  std::map<std::string, double> reals;
  KnownResult value;  ///< the attribute `value` of ConstantOfShape and Constant; `type` is UNDEFINED if there is none

  int64_t integer(const std::string& attribute, int64_t otherwise) const;
  bool has(const std::string& attribute) const { return integers.count(attribute) > 0; }
};

/// Whether the output follows from the shape of the input alone: Shape and Size.
bool follows_from_shape(const Node& node);
/// Whether the host can evaluate the node while it plans if it knows all inputs (or, if `follows_from_shape`, their
/// shapes).
bool plannable(const Node& node);
/// What `evaluate` needs of the node; null if it is not plannable. Made while the host's graph is there.
std::shared_ptr<const KnownOp> make_known(const Node& node);
/// The tensor in an attribute of the node; its `type` is UNDEFINED if there is none.
KnownResult known_tensor(const Node& node, const std::string& attribute);
/// Evaluates the operator. `in`: an entry per input of the node, null if omitted; `known` must be set, except for
/// operators that follow from the shape. Returns false if it cannot: an input is not known, types are not those that it
/// handles, or an output would have more than kMostKnown elements. Throws Error if inputs contradict each other.
bool evaluate(const KnownOp& op, const std::vector<const Operand*>& in, std::vector<KnownResult>& out);

}  // namespace providers::cuda
