// The parts of build_plan, in the order in which it calls them.
#pragma once
#include <span>
#include <vector>

#include "plan/plan.h"

namespace retort {

/// Decides which values of a plan share memory, where the memory of each value comes from, how long it is needed, and
/// which inputs only bodies read. Values, steps, inputs and outputs must be final; the order of steps too.
void settle_lifetimes(Plan& plan);

/// The graph of a plan, and the value of the graph for each value of the plan.
struct PlannedGraph {
  Graph& graph;
  std::span<const ValueId> ids;
};

/// Chooses the kernels of steps, and lets them pack their weights on the threads of `options.parallel`. Drops constants
/// that no step reads any more, from the graph too. `number` is the number of the plan in `options.cache`. Returns, per
/// root, the number of steps and outputs that still read its memory, including views. Throws not_implemented naming the
/// node if it has no kernel, model_load_canceled if loading was cancelled, and what the preparation of a step throws.
std::vector<uint32_t> prepare_steps(Plan& plan, PlannedGraph graph, const PlanOptions& options, uint32_t number);

/// Moves the constants that runs still read to where runs may read them: aligned, unless only operators read them that
/// take any address, and in the memory that other sessions use too if `shared` is not null. `readers` is the result of
/// prepare_steps().
void keep_constants(Plan& plan, std::span<const uint32_t> readers, SharedBlocks* shared);

}  // namespace retort
