// What an engine's profile says: Chrome trace events, as ONNX Runtime and Retort write them.
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
  std::string within;  ///< the node of the main graph whose body this one is in; "": it is of the main graph
  int64_t thread = 0;
};

/// One run: when it began, how long it took, its nodes in the order in which they began.
struct TracedRun {
  double start = 0, duration = 0;
  std::vector<NodeEvent> nodes;
};

/// The runs of a profile, first to last. Throws Failure when the file is no profile.
std::vector<TracedRun> read_trace(const std::string& path);

}  // namespace retort::cli
