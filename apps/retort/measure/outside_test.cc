#include <gtest/gtest.h>

#include "measure/trace.h"

namespace retort::cli {
namespace {

/// A run of two nodes, times in microseconds; the second one contains a node of its body.
TracedRun run(double duration, double first, double second) {
  TracedRun r{.start = 0, .duration = duration, .nodes = {}};
  r.nodes.push_back({.name = "a", .op = "Add", .duration = first, .self = first});
  r.nodes.push_back({.name = "l", .op = "Loop", .duration = second, .self = second - 1});
  r.nodes.push_back({.name = "b", .op = "Abs", .duration = 1, .self = 1, .within = "l"});
  return r;
}

// In each run another node is interrupted: the medians of the nodes leave 1900 of 2000 microseconds, the runs leave 100.
TEST(OutsideOfNodes, InterruptedNodesDoNotCount) {
  EXPECT_DOUBLE_EQ(outside_of_nodes({run(2100, 1950, 50), run(2000, 50, 1850), run(200, 50, 50)}), 0.1);
}

TEST(OutsideOfNodes, IsNothingWhereBranchesOverlap) { EXPECT_EQ(outside_of_nodes({run(100, 90, 90)}), 0); }

TEST(OutsideOfNodes, IsNothingWithoutRuns) { EXPECT_EQ(outside_of_nodes({}), 0); }

}  // namespace
}  // namespace retort::cli
