#include "session/captures.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.h"

namespace retort {
namespace {

constexpr const char* kGraphId = "gpu_graph_id";
// Until a provider has recorded a run: one run to settle its memory, one to record, and some to spare.
constexpr int kMostRuns = 8;

int graph_id(const RunOptions* options) {
  int id = 0;
  if (!options) return id;
  const std::string_view entry = options->config_entry(kGraphId);  // an integer, or empty
  std::from_chars(entry.data(), entry.data() + entry.size(), id);
  return id;
}

}  // namespace

/// A recorded run. Other runs must not use its frame, whose memory has the values between nodes.
struct Captures::Recorded {
  /// Where a value lay, and its shape. The record reads and writes that memory, whatever a call gives.
  struct Held {
    const void* data = nullptr;
    Shape shape;
    explicit Held(const Value* value) {
      const Tensor* t = value ? value->tensor() : nullptr;
      if (!t) return;
      data = t->data();
      shape = t->shape();
    }
    /// "is [2,3], and was [2,4]"; empty if nothing differs.
    std::string difference(const Tensor* now) const {
      if (!now) return "is not given, and was";
      if (!data && now->count()) return "is given, and was not";
      if (now->shape() != shape) return cat("is {}, and was {}", to_string(now->shape()), to_string(shape));
      return now->data() == data ? "" : "lies elsewhere than it did";
    }
  };
  /// Throws invalid_argument if `value` is not what was held in `space`. `what`, `name`: of the port.
  void check(const char* what, const std::string& name, const Value* value, const Held& held,
             const MemorySpace& space) const;

  int id;                     ///< its number
  ChosenRoute route;          ///< the route that it ran on
  std::vector<Held> inputs;   ///< by position of the plan
  std::vector<Held> outputs;  ///< by output index
  std::unique_ptr<Frame> frame;
};

void Captures::Recorded::check(const char* what, const std::string& name, const Value* value, const Held& held,
                               const MemorySpace& space) const {
  const Tensor* t = value ? value->tensor() : nullptr;
  const std::string now = held.difference(t);
  require(now.empty(), ErrorCode::invalid_argument,
          "{} '{}' {} in the run that was captured as graph {} and would be repeated; bind what that run had, or take "
          "another gpu_graph_id",
          what, name, now, id);
  require(t->space().readable_as(space), ErrorCode::invalid_argument,
          "{} '{}' lies in {}, and the run that was captured as graph {} has it in {}: a repeated run "
          "does not copy it; bind it there",
          what, name, to_string(t->space()), id, to_string(space));
}

void Captures::run(const RunCall& call, FunctionRef<void()> run) {
  const int id = graph_id(call.options);
  if (replay(id, call)) return;
  if (id < 0) {
    call.memory.clear_last_results();
    return run();
  }
  const std::lock_guard lock(recording_mutex_);
  if (replay(id, call)) return;  // another thread has recorded it meanwhile
  call.memory.clear_last_results();
  for (int runs = 1;; ++runs) {
    run();
    if (capture_.has(id)) return;
    require(runs < kMostRuns, ErrorCode::fail,
            "after {} runs the provider has not captured them as graph {}; turn its capturing off", runs, id);
  }
}

void Captures::keep(const RunCall& call, const ChosenRoute& route, std::unique_ptr<Frame>& frame) {
  const int id = graph_id(call.options);
  if (id < 0 || !capture_.has(id)) return;
  auto recorded = std::make_shared<Recorded>(Recorded{id, route, {}, {}, nullptr});
  for (size_t i = 0; i < route.route.inputs().size(); ++i) recorded->inputs.emplace_back(route.route.read(call, i));
  for (const Value* out : call.outputs) recorded->outputs.emplace_back(out);
  recorded->frame = std::move(frame);
  const std::lock_guard lock(recorded_mutex_);
  recorded_[id] = std::move(recorded);
}

bool Captures::replay(int id, const RunCall& call) {
  std::shared_ptr<const Recorded> run;
  if (id >= 0 && capture_.has(id)) {
    const std::lock_guard lock(recorded_mutex_);
    const auto found = recorded_.find(id);
    if (found != recorded_.end()) run = found->second;
  }
  if (!run) return false;
  check(*run, call);
  const auto turn = turns_.take();
  capture_.replay(id);
  return true;
}

// A replay uses the memory of the recorded run. If a call had its inputs or outputs elsewhere, the results would be
// wrong without an error. Inputs that the host reads are not checked: the record has only what was computed from them.
void Captures::check(const Recorded& run, const RunCall& call) const {
  const Route& route = run.route.route;
  for (size_t i = ports_.inputs().size(); i < call.inputs.size(); ++i) {
    require(!call.inputs[i] || std::ranges::count(route.inputs(), i), ErrorCode::invalid_argument,
            "input '{}' is given, and had the model's value in the run that was captured as graph {} and would be "
            "repeated; leave it out, or take another gpu_graph_id",
            ports_.input(i).name, run.id);
  }
  for (size_t i = 0; i < route.inputs().size(); ++i) {
    if (route.space(i).host_readable()) continue;
    const Value* const now = route.read(call, i);
    run.check("input", ports_.input(route.inputs()[i]).name, now, run.inputs[i], route.space(i));
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i] || run.outputs[i].data)
      run.check("output", ports_.outputs()[i].name, call.outputs[i], run.outputs[i], ports_.output_space(i));
  }
}

void Captures::release(int id) {
  capture_.release(id);
  const std::lock_guard lock(recorded_mutex_);
  recorded_.erase(id);
}

}  // namespace retort
