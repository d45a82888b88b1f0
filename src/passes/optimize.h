// Graph optimisation: from the core dialect as lifted to the form that runs fast on the CPU.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace retort {

struct PassOptions {
  /// As ONNX Runtime's graph optimisation level: 0 nothing, 1 basic (folding, duplicates, dead code), 2 extended
  /// (fusions), 3 and above everything, layout included.
  int level = 99;
  /// Leaves out the stages that make operators of the domains `retort` and `com.microsoft`: the result can be saved.
  bool portable = false;
  std::vector<std::string> disabled;  ///< names of passes and rules to leave out
  /// Gets a line for each pass that changed something: name, time, what was done how often. May be empty.
  std::function<void(std::string_view line)> log;
};

/// Optimises `graph` and the bodies within. Nodes must be resolved; those without an operator (claimed by another
/// provider) stay as they are. Not thread-safe with respect to the graph and its DimTable.
void optimize(Graph& graph, const PassOptions& options);

/// All stages in the order in which they run: the name of each, then the names of its rules.
std::vector<std::vector<std::string>> pass_stages();

}  // namespace retort
