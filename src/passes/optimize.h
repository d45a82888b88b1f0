// Graph optimisation: from the lifted core dialect to the form that runs fast on the CPU.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "ir/graph.h"

namespace retort {

/// What one pass did to a graph and its bodies.
struct PassReport {
  std::string_view name;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;  ///< of the graph without its bodies
  std::map<std::string, size_t> counts;      ///< how often each rule, or kind of change, was applied
  size_t changes() const;                    ///< The sum of `counts`; 0 if the graph is unchanged.
  std::string text() const;                  ///< "cleanup (0.12 ms): noop_cast x2, other x1"
};

/// Limits which nodes with constant inputs are computed before the model runs.
struct FoldLimits {
  /// Limit for the results of a node; 0: no limit except the growth relative to its inputs.
  size_t most_bytes = size_t(1) << 30;
  bool quantize = true;  ///< whether to fold QuantizeLinear as well
};

struct PassOptions {
  /// ONNX Runtime's graph optimisation level: 0 nothing, 1 basic (folding, duplicates, dead code), 2 extended
  /// (fusions), 3 and above everything, including layout.
  int level = 99;
  /// Skips the stages that make operators of the domains `retort` and `com.microsoft`, so that the result can be saved.
  bool portable = false;
  std::vector<std::string> disabled;  ///< names of passes and rules to skip
  /// Whether floats that are multiplied by constant codes are rounded to 8 bits, as ONNX Runtime does.
  bool round_products = false;
  /// Whether the CPU multiplies by constant filters in bfloat16 arithmetic, which only channels-last convolutions have.
  bool bf16_products = false;
  FoldLimits folding;
  Parallel parallel;  ///< for constant folding; once it is cancelled, optimize() throws model_load_canceled
  /// Receives a report of each pass that ran, in order. May be empty.
  std::function<void(const PassReport&)> report;
};

/// Optimises `graph` and its bodies. Nodes must be resolved; those without an operator (claimed by another provider)
/// are unchanged. Not thread-safe with respect to the graph and its DimTable.
void optimize(Graph& graph, const PassOptions& options);

/// Moves captured constants of a node into its bodies, whether or not it has an operator. Returns their number.
size_t sink_constants(Graph& graph, Node& node);

/// "there is no pass or rule 'epilogue'; use 'epilogues'"; "" if `name` exists.
std::string unknown_pass(std::string_view name);

/// All stages in the order in which they run: the name of each, then the names of its rules.
std::vector<std::vector<std::string>> pass_stages();

}  // namespace retort
