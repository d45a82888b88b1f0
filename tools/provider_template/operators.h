// What the provider computes. A new operator is a row in operators.cc; can_do (graph.cc) checks its types and shapes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "host.h"

namespace sample_provider {

struct Operator {
  int since, until;  ///< first and last version of the operator that means what `compute` does
  size_t inputs;
  void (*compute)(const std::vector<Tensor>& in, const Tensor& out);
};

/// By type, of the domain of ONNX.
const std::map<std::string, Operator>& operators();

/// The shape of the result; throws where the inputs do not fit. Extents that a model leaves free are known only now.
std::vector<int64_t> result_shape(const std::string& type, const std::vector<Tensor>& in);

}  // namespace sample_provider
