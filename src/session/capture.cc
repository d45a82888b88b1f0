// Runs that a provider records, and repeats without a plan.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "ep/run_capture.h"
#include "ir/describe.h"
#include "ops/external.h"
#include "session/session.h"

namespace retort {
namespace {

constexpr const char* kGraphId = "gpu_graph_id";
constexpr int kMostRuns = 8;  // until a provider has what it wants: one for its memory, one to record, and some more

int graph_id(const RunOptions* options) {
  int id = 0;
  if (!options) return id;
  const auto found = options->config.find(kGraphId);  // checked before: an integer or nothing
  if (found != options->config.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), id);
  return id;
}

bool computes_shapes(const Graph& graph, const Node& node) {
  return std::ranges::all_of(node.outputs, [&](ValueId out) {
    if (out == ValueId::none) return true;
    const DType type = graph.value(out).type.dtype;
    return type == DType::i64 || type == DType::i32 || type == DType::boolean;
  });
}

void check_captured(const Graph& graph, const Provider& provider, bool shapes) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const ExternalOp* op = external_op(node);
    const bool own = op && op->provider() == provider.name();
    require(node.bodies.empty() && (own || (shapes && computes_shapes(graph, node))), ErrorCode::fail,
            "provider '{}' is to capture runs, and {} {}: it could not be repeated; let the provider run all of the "
            "model, or turn its capturing off",
            provider.name(), describe(graph, node), own ? "may take another way in each run" : "is not its own");
  }
}

}  // namespace

void Session::take_capture(const Graph& graph) {
  for (const auto& provider : devices_.providers) {
    RunCapture* const capture = provider->capture();
    if (!capture) continue;
    check_captured(graph, *provider, capture->allows_shapes_on_cpu());
    capture_ = capture;
    logger_.info("runs are captured by provider '{}': what they read and write has to stay where it is",
                 provider->name());
    return;
  }
}

bool Session::replay(const RunOptions* options) {
  if (!capture_) return false;
  check_run(options);
  const int id = graph_id(options);
  if (id < 0 || !capture_->has(id)) return false;
  capture_->replay(id);
  return true;
}

bool Session::awaits_capture(const RunOptions* options, int runs) const {
  if (!capture_) return false;
  const int id = graph_id(options);
  if (id < 0 || capture_->has(id)) return false;
  require(runs < kMostRuns, ErrorCode::fail,
          "after {} runs the provider has not captured them as graph {}; turn its capturing off", runs, id);
  return true;
}

void Session::release_capture(int id) const {
  if (capture_) capture_->release(id);
}

}  // namespace retort
