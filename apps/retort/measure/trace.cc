#include "measure/trace.h"

#include <algorithm>
#include <fstream>

#include "engine/engine.h"

namespace retort::cli {
namespace {

using nlohmann::json;

/// Nodes in bodies run during the node of the body, on the same thread: their time is subtracted from its time.
void find_self_times(std::vector<NodeEvent>& nodes) {
  std::vector<NodeEvent*> open;
  for (NodeEvent& n : nodes) {
    n.self = n.duration;
    while (!open.empty() && open.back()->start + open.back()->duration <= n.start) open.pop_back();
    if (!open.empty() && open.back()->thread == n.thread) {
      open.back()->self -= n.duration;
      n.within = open.front()->name;
    }
    open.push_back(&n);
  }
}

std::string without(std::string name, const std::string& suffix) {
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

}  // namespace

std::vector<TracedRun> read_trace(const std::string& path) try {
  std::ifstream file(path);
  const json events = json::parse(file);
  std::vector<TracedRun> runs;
  std::vector<NodeEvent> nodes;
  for (const json& e : events) {
    if (e.value("ph", "") != "X") continue;
    const std::string name = e.value("name", ""), category = e.value("cat", "");
    const json args = e.value("args", json::object());
    const bool exact = args.contains("start_ns") && args.contains("duration_ns");
    const double start = exact ? double(args["start_ns"]) / 1e3 : double(e.at("ts"));
    const double duration = exact ? double(args["duration_ns"]) / 1e3 : double(e.at("dur"));
    if (category == "Session" && name == "model_run") runs.push_back({start, duration, {}});
    // ONNX Runtime also writes events before and after a kernel; its kernels have this suffix.
    if (category == "Node" && args.contains("op_name") && !name.ends_with("_fence_before") &&
        !name.ends_with("_fence_after"))
      nodes.push_back(
          {without(name, "_kernel_time"), args["op_name"], start, duration, 0, "", e.value("tid", int64_t(0))});
  }
  const auto earlier = [](const auto& a, const auto& b) { return a.start < b.start; };
  std::sort(runs.begin(), runs.end(), earlier);
  // If two begin in the same microsecond, the longer one contains the other.
  std::stable_sort(nodes.begin(), nodes.end(), [](const NodeEvent& a, const NodeEvent& b) {
    return a.start < b.start || (a.start == b.start && a.duration > b.duration);
  });
  for (TracedRun& run : runs) {
    const auto before = [](const NodeEvent& n, double time) { return n.start < time; };
    const auto begin = std::lower_bound(nodes.begin(), nodes.end(), run.start, before);
    run.nodes.assign(begin, std::lower_bound(begin, nodes.end(), run.start + run.duration, before));
    find_self_times(run.nodes);
  }
  return runs;
} catch (const json::exception&) {
  throw Failure(path + ", which the engine wrote, is not a whole profile; is there space in its folder?");
}

}  // namespace retort::cli
