// Graph optimisation: from the core dialect as lifted to the form that runs fast on the CPU.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// What one pass did to a graph and its bodies.
struct PassReport {
  std::string_view name;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;  ///< of the graph without its bodies
  std::map<std::string, size_t> counts;      ///< how often each rule, or kind of change, was applied
  size_t changes() const;                    ///< the sum of `counts`; 0: the graph is as it was
  std::string text() const;                  ///< "cleanup (0.12 ms): noop_cast x2, other x1"
};

/// Which nodes of constants are computed before the model runs.
struct FoldLimits {
  size_t most_bytes = size_t(1) << 30;  ///< of a node's results; 0: any number, as far as it grows from little
  bool quantize = true;                 ///< also QuantizeLinear
};

struct PassOptions {
  /// As ONNX Runtime's graph optimisation level: 0 nothing, 1 basic (folding, duplicates, dead code), 2 extended
  /// (fusions), 3 and above everything, layout included.
  int level = 99;
  /// Leaves out the stages that make operators of the domains `retort` and `com.microsoft`: the result can be saved.
  bool portable = false;
  std::vector<std::string> disabled;  ///< names of passes and rules to leave out
  FoldLimits folding;
  /// Gets a report of each pass that ran, in order. May be empty.
  std::function<void(const PassReport&)> report;
};

/// Optimises `graph` and the bodies within. Nodes must be resolved; those without an operator (claimed by another
/// provider) stay as they are. Not thread-safe with respect to the graph and its DimTable.
void optimize(Graph& graph, const PassOptions& options);

/// Captured constants of a node become constants of its bodies; whether it has an operator does not matter. How many there
/// were.
size_t sink_constants(Graph& graph, Node& node);

/// "there is no pass or rule 'epilogue'; use 'epilogues'"; "" where there is one.
std::string unknown_pass(std::string_view name);

/// All stages in the order in which they run: the name of each, then the names of its rules.
std::vector<std::vector<std::string>> pass_stages();

}  // namespace retort
