// A model in words and numbers.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace retort {

struct DescribeOptions {
  /// Shapes of inputs by name; free extents that they do not settle count as 1 in numbers, and stay names in shapes.
  std::map<std::string, std::vector<int64_t>> shapes;
  int level = 99;                     ///< of optimisation, as GraphOptimizationLevel
  std::vector<std::string> disabled;  ///< passes and rules to leave out, by name
};

/// JSON as include/retort/retort_tools.h describes it. Reads the file, lifts and optimises a copy; weights are not
/// packed and nothing runs. Throws Error where the file cannot be read; what cannot run is described as far as it goes.
std::string describe_model(const std::string& path, const DescribeOptions& options);

}  // namespace retort
