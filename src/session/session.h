// A loaded model that is ready to run. The session loads the model, owns the parts that runs use, and carries out runs;
// what each part does and may touch is in its header. After construction, a session changes only by idle frames,
// records, captured runs, and a second plan that is made when a call needs it.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/budget.h"
#include "session/assigned.h"
#include "session/captures.h"
#include "session/config.h"
#include "session/environment.h"
#include "session/model_source.h"
#include "session/options.h"
#include "session/ports.h"
#include "session/records.h"
#include "session/routes.h"
#include "session/run_call.h"
#include "session/threads.h"
#include "session/turns.h"

namespace retort {

/// Memory that a session keeps for its next runs.
struct IdleBytes {
  size_t workspaces = 0;  ///< of frames that are not in use
  size_t results = 0;     ///< of results that have been released
};

/// Thread-safe: any number of runs may be in progress at the same time.
class Session {
 public:
  /// Reads the model at `path`. Throws Error with the codes that the C API documents.
  Session(std::shared_ptr<Environment> environment, const std::string& path, const SessionOptions& options);
  /// Reads a model from bytes, which may be freed after the call.
  Session(std::shared_ptr<Environment> environment, std::span<const std::byte> bytes, const SessionOptions& options);
  /// Takes a model that was made in memory.
  Session(std::shared_ptr<Environment> environment, const std::shared_ptr<Model>& model, const SessionOptions& options);
  Session(const Session&) = delete;
  ~Session();

  const Ports& ports() const { return *ports_; }
  /// What ports() says about inputs and outputs, for the most frequent questions.
  const std::vector<Port>& inputs() const { return ports_->inputs(); }
  const std::vector<Port>& outputs() const { return ports_->outputs(); }
  int input_index(std::string_view name) const { return ports_->input_index(name); }
  void check_input(size_t index, const Value& value) const { ports_->check_input(index, value); }
  std::span<const MemorySpace> input_spaces(size_t index) const { return ports_->input_spaces(index); }

  /// All nodes: first the parts of providers, then the nodes of the CPU. Empty without
  /// session.record_ep_graph_assignment_info.
  const std::vector<AssignedPart>& assigned() const { return assigned_; }
  const SessionOptions& options() const { return options_; }
  const SessionDevices& devices() const { return devices_; }
  CopyLedger& ledger() { return records_->ledger(); }
  const Logger& logger() const { return logger_; }
  /// Null: the session is not profiled.
  Profiler* profiler() { return records_->profiler(); }
  /// Writes the profile and returns its path; "" if profiling was off or has ended.
  std::string end_profiling() { return records_->end_profiling(); }

  /// Carries out one run, or replays one that a provider has captured for this call. `inputs` by input index; null: not
  /// given, which is an error unless the model has a value for it. `outputs` and `spares` by output index, see
  /// RunRequest. `options` may be null. Bindings and runs by name come here. Throws what is wrong with the call, and
  /// what operators throw.
  void run(std::span<const Value* const> inputs, std::span<Value* const> outputs, std::span<Spare> spares,
           const RunOptions* options, const BindingMemory& memory = {});
  /// Copies input `index` to `space` now, for a binding; the ledger records it. Throws invalid_argument if options
  /// forbid copies.
  Value bring(size_t index, const Tensor& tensor, const MemorySpace& space);
  /// Waits for the devices of all providers.
  void synchronize() const;
  /// Frees the captured run with that number, if it exists.
  void release_capture(int id);
  /// Gives options to all providers. Warns of options that no provider knows.
  void set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values);
  /// The memory of workspaces, and of results if it counts them.
  const std::shared_ptr<CountedMemory>& memory() const { return memory_; }
  IdleBytes idle_bytes() { return {.workspaces = routes_->workspace_bytes(), .results = results_->bytes()}; }

 private:
  Session(std::shared_ptr<Environment> environment, ModelSource source, const SessionOptions& options);
  void load(Model& model, ModelSource source);
  void make(Model& model, ModelSource source);
  void build(Model& model, ModelSource source);
  void run_once(const RunCall& call);
  void run_frame(const RunCall& call, Frame& frame, RunRecord& record, ResultMemory& results);

  // In the order in which they are made. Each uses only those before it, and they are destroyed in the opposite order.
  std::shared_ptr<Environment> environment_;
  SessionOptions options_;
  Logger logger_;
  ConfigWatch watch_;
  SessionDevices devices_;
  std::optional<Turns> turns_;
  std::optional<SessionRecords> records_;
  std::optional<SessionThreads> threads_;
  std::shared_ptr<CountedMemory> memory_;
  MemoryBudget budget_;  ///< of all workspaces
  std::optional<KeptBlocks> results_;
  std::optional<Ports> ports_;
  std::vector<AssignedPart> assigned_;
  ModelNodes nodes_;                  ///< for messages and profiles
  std::optional<Routes> routes_;      ///< without a first route: the session cannot run
  std::optional<Captures> captures_;  ///< nothing: no provider captures runs
  bool disallow_copies_ = false;
  bool returns_memory_ = false;  ///< after each run, as with memory.enable_memory_arena_shrinkage
  std::shared_ptr<void> room_;   ///< lets other sessions free its idle workspaces; null: it shares no limited memory
};

}  // namespace retort
