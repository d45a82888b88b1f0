// The operators, on 32-bit floats.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host.h"

namespace loopback {

/// A node without its names: what it computes.
struct Operation {
  std::string type;
  std::map<std::string, double> numbers;             ///< attributes
  std::map<size_t, std::vector<int64_t>> constants;  ///< inputs that are shapes or axes
  double number(const std::string& name, double otherwise) const {
    const auto at = numbers.find(name);
    return at == numbers.end() ? otherwise : at->second;
  }
};

/// What is known of an operator. Inputs are tensors whose data is behind the fence: kernels only.
struct Operator {
  int since, until;    ///< versions of the operator set whose meaning this is
  size_t least, most;  ///< inputs
  /// An input whose content is needed for the shape of the output: it must be a constant. 0: none.
  size_t constant_input;
  /// The shape and type of the output. Throws for inputs that do not go together.
  Tensor (*result)(const Operation&, const std::vector<Tensor>& in);
  /// Computes it. For `shape_from_data`, `result` reads the data, too, and may be called when all inputs are computed.
  void (*compute)(const Operation&, const std::vector<Tensor>& in, const Tensor& out);
  bool shape_from_data = false;
};

/// Operators of ai.onnx by their names; those that have images with channels last, with a word in front.
const std::map<std::string, Operator>& operators();
inline const std::string kChannelsLast = "channels-last-", kChannelsLastDomain = "com.ms.internal.nhwc";

/// Throws for what is none of them.
const Operator& operator_of(const std::string& type);

size_t bytes(const Tensor& t);

}  // namespace loopback
