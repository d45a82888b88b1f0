// Reads an engine's profile: Chrome trace events, as ONNX Runtime and Retort write them.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

/// A node that ran. Times in microseconds.
struct NodeEvent {
  std::string name, op;
  double start = 0, duration = 0;
  double self = 0;     ///< duration without that of nodes in its bodies
  std::string within;  ///< the node of the main graph that has this one in a body; "": it is in the main graph
  int64_t thread = 0;
};

/// One run: its start, its duration, and its nodes in the order in which they began.
struct TracedRun {
  double start = 0, duration = 0;
  std::vector<NodeEvent> nodes;
};

/// The median over the runs of what the nodes of a run leave of its time, in milliseconds; 0 if branches overlap. The
/// times are those of one run each: a node that something interrupted does not count here.
double outside_of_nodes(const std::vector<TracedRun>& runs);

/// The runs of a profile, first to last. Throws Failure if the file is not a profile.
std::vector<TracedRun> read_trace(const std::string& path);

}  // namespace retort::cli
