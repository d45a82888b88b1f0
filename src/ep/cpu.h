// The CPU's way with a graph: what no other provider took is lifted to the core dialect and optimised.
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
  int level = 99;                     ///< as GraphOptimizationLevel
  std::vector<std::string> disabled;  ///< passes switched off by name
  FoldLimits folding;
  bool strict_shapes = false;  ///< extents that the model declares must be those that its nodes give
  Parallel parallel;           ///< for folding constants
  const Logger* logger = nullptr;
  const ExternalOps* external = nullptr;  ///< operators of the caller
};

/// Whether the CPU runs that operator in some version of its domain.
bool has_operator(const std::string& domain, const std::string& type);

/// Leaves `model.graph` in the core dialect, every node resolved and typed. Throws Error naming the node that cannot be
/// lowered.
void lower_for_cpu(Model& model, const LowerOptions& options);

/// A copy of `model`, which was not lowered yet, optimised as far as that needs no operator that ONNX lacks: it can be
/// saved and read again. Constants share their memory.
Model portable_copy(const Model& model, const LowerOptions& options);

/// What a compilation writes: without optimisation (level 0) a copy of `model` in its own dialect whose Constant nodes are
/// constants, of which the CPU could run every node; else portable_copy().
Model compiled_copy(const Model& model, const LowerOptions& options);

}  // namespace retort
