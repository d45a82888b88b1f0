// Shapes that operators give to the same elements.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/graph.h"

namespace providers::cuda {

// All throw Error that begins with `who` if a shape or an axis does not fit.

/// Reshape: -1 stands for what is left, and 0 for the extent of the input unless `allow_zero`.
Dims reshaped(const Dims& dims, const std::vector<int64_t>& wanted, bool allow_zero, const std::string& who);
/// Squeeze; null axes: all extents of 1.
Dims squeezed(const Dims& dims, const std::vector<int64_t>* axes, const std::string& who);
Dims unsqueezed(const Dims& dims, const std::vector<int64_t>& axes, const std::string& who);
Dims flattened(const Dims& dims, int64_t axis, const std::string& who);
/// Numbers of a Range.
size_t range_count(double start, double limit, double step);

}  // namespace providers::cuda
