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

/// A run that a provider has captured. Its frame is kept from other runs: what lies between nodes is the record's, too.
struct Session::Captured {
  /// Where a value was, and as what: a repetition reads and writes that, whatever it is given.
  struct Held {
    const void* data = nullptr;
    Shape shape;
    explicit Held(const Value* value) {
      const Tensor* t = value ? value->tensor() : nullptr;
      if (!t) return;
      data = t->data();
      shape = t->shape();
    }
    /// "is [2,3], and was [2,4]", empty where nothing differs.
    std::string difference(const Tensor* now) const {
      if (!now) return "is not given, and was";
      if (!data && now->count()) return "is given, and was not";
      if (now->shape() != shape) return cat("is {}, and was {}", to_string(now->shape()), to_string(shape));
      return now->data() == data ? "" : "lies elsewhere than it did";
    }
  };
  std::shared_ptr<const Route> general;  ///< the plan that it ran on; null: the first
  std::vector<Held> inputs;              ///< by position of the plan
  std::vector<Held> outputs;             ///< by output index
  std::unique_ptr<Frame> frame;
};

void Session::take_capture(const Graph& graph) {
  for (const auto& provider : devices_.providers) {
    RunCapture* const capture = provider->capture();
    if (!capture) continue;
    check_captured(graph, *provider, capture->allows_shapes_on_cpu());
    capture_ = capture;
    if (first_) return;
    logger_.info("runs are captured by provider '{}': what they read and write has to stay where it is",
                 provider->name());
    return;
  }
}

void Session::keep_captured(const RunOptions* options, const std::shared_ptr<const Route>& general,
                            std::span<const Value* const> inputs, std::span<Value* const> outputs, const Places& places,
                            std::unique_ptr<Frame>& frame) {
  const int id = graph_id(options);
  if (id < 0 || !capture_->has(id)) return;
  auto made = std::make_shared<Captured>();
  made->general = general;
  const Route& route = general ? *general : *first_;
  for (size_t i = 0; i < route.inputs.size(); ++i)
    made->inputs.emplace_back(where_read(route, i, given(route, inputs, i), places));
  for (const Value* out : outputs) made->outputs.emplace_back(out);
  made->frame = std::move(frame);
  const std::lock_guard lock(captured_mutex_);
  captured_[id] = std::move(made);
}

bool Session::replay(std::span<const Value* const> inputs, std::span<Value* const> outputs, const RunOptions* options,
                     const Places& places) {
  if (!capture_) return false;
  check_run(options);
  const int id = graph_id(options);
  std::shared_ptr<const Captured> run;
  if (id >= 0 && capture_->has(id)) {
    const std::lock_guard lock(captured_mutex_);
    const auto found = captured_.find(id);
    if (found != captured_.end()) run = found->second;
  }
  if (!run) return false;
  check_replay(*run, id, inputs, outputs, places);
  const auto alone = serial_ ? std::unique_lock(serial_mutex_) : std::unique_lock<std::mutex>();
  capture_->replay(id);
  return true;
}

// What the record does not read or write where it lies now would be as it was in the run that was recorded, without a word.
// Inputs that the host reads are none of the record's: it has what was made of them.
void Session::check_replay(const Captured& run, int id, std::span<const Value* const> inputs,
                           std::span<Value* const> outputs, const Places& places) const {
  const Route& route = run.general ? *run.general : *first_;
  const std::vector<MemorySpace>& spaces = route.frames->plan().input_spaces;
  const auto check = [&](const char* what, const std::string& name, const Value* value, const Captured::Held& held,
                         const MemorySpace& space) {
    const Tensor* t = value ? value->tensor() : nullptr;
    const std::string now = held.difference(t);
    require(
        now.empty(), ErrorCode::invalid_argument,
        "{} '{}' {} in the run that was captured as graph {} and would be repeated; bind what that run had, or take "
        "another gpu_graph_id",
        what, name, now, id);
    require(t->space().readable_as(space), ErrorCode::invalid_argument,
            "{} '{}' lies in {}, and the run that was captured as graph {} has it in {}: what was copied then is not "
            "copied again; bind it there",
            what, name, to_string(t->space()), id, to_string(space));
  };
  for (size_t i = inputs_.size(); i < inputs.size(); ++i) {
    require(!inputs[i] || std::ranges::count(route.inputs, i), ErrorCode::invalid_argument,
            "input '{}' is given, and had the model's value in the run that was captured as graph {} and would be "
            "repeated; leave it out, or take another gpu_graph_id",
            input_port(i).name, id);
  }
  for (size_t i = 0; i < route.inputs.size(); ++i) {
    if (i >= spaces.size() || spaces[i].host_readable()) continue;
    const Value* const now = where_read(route, i, given(route, inputs, i), places);
    check("input", input_port(route.inputs[i]).name, now, run.inputs[i], spaces[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] || run.outputs[i].data)
      check("output", outputs_[i].name, outputs[i], run.outputs[i], output_spaces_[i]);
  }
}

std::unique_lock<std::mutex> Session::alone_until_captured(const RunOptions* options) {
  return capture_ && graph_id(options) >= 0 ? std::unique_lock(capturing_mutex_) : std::unique_lock<std::mutex>();
}

bool Session::awaits_capture(const RunOptions* options, int runs) const {
  if (!capture_) return false;
  const int id = graph_id(options);
  if (id < 0 || capture_->has(id)) return false;
  require(runs < kMostRuns, ErrorCode::fail,
          "after {} runs the provider has not captured them as graph {}; turn its capturing off", runs, id);
  return true;
}

void Session::release_capture(int id) {
  if (!capture_) return;
  capture_->release(id);
  const std::lock_guard lock(captured_mutex_);
  captured_.erase(id);
}

}  // namespace retort
