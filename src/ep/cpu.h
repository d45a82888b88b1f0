// Prepares a graph for the CPU: nodes that no other provider claimed are lifted to the core dialect and optimised.
#pragma once
#include <string>
#include <vector>

#include "base/log.h"
#include "base/parallel.h"
#include "ir/graph.h"
#include "ops/external.h"
#include "passes/optimize.h"

namespace retort {

struct LowerOptions {
  int level = 99;                     ///< as in GraphOptimizationLevel
  std::vector<std::string> disabled;  ///< names of disabled passes
  bool round_products = false;        ///< as in PassOptions
  bool bf16_products = false;         ///< as in PassOptions
  FoldLimits folding;
  bool strict_shapes = false;  ///< extents that the model declares must be those that its nodes compute
  Parallel parallel;           ///< for constant folding
  const Logger* logger = nullptr;
  const ExternalOps* external = nullptr;  ///< operators of the caller
};

/// Whether the CPU runs this operator in some version of its domain.
bool has_operator(const std::string& domain, const std::string& type);

/// Lowers `model.graph` to the core dialect, with every node resolved and typed. Throws Error naming a node that cannot
/// be lowered.
void lower_for_cpu(Model& model, const LowerOptions& options);

/// Returns a copy of `model`, which is not lowered yet, optimised as far as ONNX has operators for: it can be saved and
/// read again. Constants share their memory.
Model portable_copy(const Model& model, const LowerOptions& options);

/// The model that a compilation writes. Without optimisation (level 0): a copy of `model` in its own dialect, with
/// Constant nodes as constants, and only if the CPU could run every node. Otherwise portable_copy().
Model compiled_copy(const Model& model, const LowerOptions& options);

}  // namespace retort
