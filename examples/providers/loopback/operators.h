// The operators, for 32-bit floats.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host.h"

namespace loopback {

/// The computation of a node, without names.
struct Operation {
  std::string type;
  std::map<std::string, double> numbers;             ///< attributes
  std::map<size_t, std::vector<int64_t>> constants;  ///< inputs that are shapes or axes
  double number(const std::string& name, double otherwise) const {
    const auto at = numbers.find(name);
    return at == numbers.end() ? otherwise : at->second;
  }
};

/// The description of an operator. The data of tensors can only be accessed by kernels.
struct Operator {
  int since, until;    ///< versions of the operator set with this definition
  size_t least, most;  ///< minimum and maximum number of inputs
  /// An input whose content determines the shape of the output: it must be a constant. 0: none.
  size_t constant_input;
  /// The shape and type of the output. Throws if inputs do not fit.
  Tensor (*result)(const Operation&, const std::vector<Tensor>& in);
  /// Computes the output. For `shape_from_data`, `result` reads the data, too, so it is called after all inputs are
  /// computed.
  void (*compute)(const Operation&, const std::vector<Tensor>& in, const Tensor& out);
  bool shape_from_data = false;
};

/// Operators of ai.onnx by name; those that have images with channels last have a prefix.
const std::map<std::string, Operator>& operators();
inline const std::string kChannelsLast = "channels-last-", kChannelsLastDomain = "com.ms.internal.nhwc";

/// Throws for an unknown operator.
const Operator& operator_of(const std::string& type);

size_t bytes(const Tensor& t);

}  // namespace loopback
