// Describes a model as JSON.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace retort {

struct DescribeOptions {
  /// Shapes of inputs by name. Free extents that remain count as 1 in numbers, and stay names in shapes.
  std::map<std::string, std::vector<int64_t>> shapes;
  int level = 99;                     ///< as in GraphOptimizationLevel
  std::vector<std::string> disabled;  ///< names of passes and rules to leave out
};

/// Returns JSON as include/retort/retort_tools.h describes it. Reads the file, then lifts and optimises a copy; weights
/// are not packed and nothing runs. Throws Error if the file cannot be read; a model that cannot run is described as
/// far as possible.
std::string describe_model(const std::string& path, const DescribeOptions& options);

}  // namespace retort
