// A loaded model, ready to run. Everything after construction is immutable except idle frames, counters, and a second
// plan that is made when a call needs it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ep/cpu.h"
#include "ep/device_run.h"
#include "ep/place.h"
#include "ir/graph.h"
#include "session/config.h"
#include "session/environment.h"
#include "session/frame_pool.h"
#include "session/model_source.h"
#include "session/options.h"

namespace retort {

/// An input or output of the model as the file declares it.
struct Port {
  std::string name;
  ValueType type;
};

struct ModelInfo {
  std::string producer_name, graph_name, domain, description, graph_description;
  int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// What a model shows of itself, before anything was made of it.
struct ModelInterface {
  ModelInfo info;
  std::vector<Port> inputs, outputs;
  std::vector<Port> overridable;  ///< inputs that have a value in the model already
};
ModelInterface interface_of(const Model& model);

struct Assignment;
class PlacementReport;

/// A node of the model that a session runs, functions expanded.
struct AssignedNode {
  using Places = std::vector<std::pair<const Graph*, NodeId>>;
  std::string name, domain, type;
  Places places;  ///< where it is, then the nodes that it is in a body of, outwards; for the time when parts are given
};

/// Nodes that a provider runs as one; the CPU runs each alone.
struct AssignedPart {
  std::string provider;
  std::vector<AssignedNode> nodes;
};

/// An input in one more memory than the caller gave it in.
struct Resident {
  size_t input = 0;
  Value value;
};

/// Where a binding has its values.
struct Places {
  std::span<const Resident> inputs;
  std::span<const MemorySpace> outputs;  ///< by output index, of those that the run makes; empty: on the host
};

/// Thread-safe: any number of runs at the same time.
class Session {
 public:
  /// Reads the model at `path`; throws Error with the codes that the C API documents.
  Session(std::shared_ptr<Environment> environment, const std::string& path, const SessionOptions& options);
  /// Reads a model from bytes, which may be freed after the call.
  Session(std::shared_ptr<Environment> environment, std::span<const std::byte> bytes, const SessionOptions& options);
  Session(std::shared_ptr<Environment> environment, const std::shared_ptr<Model>& model, const SessionOptions& options);
  Session(const Session&) = delete;
  ~Session();

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  /// Inputs that have a value in the model already.
  const std::vector<Port>& overridable() const { return overridable_; }
  const ModelInfo& info() const { return info_; }
  /// All nodes, the parts of providers first, nodes of bodies before those outside; recorded only with
  /// session.record_ep_graph_assignment_info.
  const std::vector<AssignedPart>& assigned() const { return assigned_; }
  const SessionOptions& options() const { return options_; }
  const DimTable& dims() const { return *dims_; }
  CopyLedger& ledger() { return ledger_; }
  Profiler* profiler() { return profiler_.get(); }
  /// Writes the profile and returns its path; "" when profiling was off or has ended.
  std::string end_profiling();

  /// Plan position of an input (overridable ones after the required ones) or output; -1: no such name.
  int input_index(std::string_view name) const;
  int output_index(std::string_view name) const;
  /// What to say of a name that none of them has: "the model has no input 'imgae'; use 'image'".
  std::string no_input(std::string_view name) const;
  std::string no_output(std::string_view name) const;
  size_t input_count() const { return inputs_.size() + overridable_.size(); }
  const Port& input_port(size_t index) const {
    return index < inputs_.size() ? inputs_[index] : overridable_[index - inputs_.size()];
  }
  /// Throws invalid_argument when `value` cannot be input `index`: element type, rank, known extents.
  void check_input(size_t index, const Value& value) const;
  /// Throws invalid_argument when output `index` is another kind of value. Of a tensor the run says whether it fits.
  void check_output(size_t index, const Value& value) const;
  /// Throws fail when the tensor of an input or output lies in memory that nobody can copy from.
  void check_memory(std::string_view what, std::string_view name, const Value& value) const;

  /// One run. `inputs` by input index, null: not given (an error unless it has a default); `outputs` and `spares` by
  /// output index, see RunRequest. The only path to a run: bindings and runs by name come here.
  void run(std::span<const Value* const> inputs, std::span<Value* const> outputs, std::span<Spare> spares,
           const RunOptions* options, const Places& places = {});
  /// The memories that input `index` is read in, and the one that output `index` is made in.
  std::span<const MemorySpace> input_spaces(size_t index) const { return input_spaces_[index]; }
  const MemorySpace& output_space(size_t index) const { return output_spaces_[index]; }
  const SessionDevices& devices() const { return devices_; }
  /// A copy of input `index` in `space`, made now; the ledger has it as bound.
  Value bring(size_t index, const Tensor& tensor, const MemorySpace& space);
  /// Waits for all devices.
  void synchronize() const;
  /// Repeats a run that a provider has captured, where there is one; arguments are as for run(). Throws invalid_argument
  /// where inputs or outputs are not those of that run.
  bool replay(std::span<const Value* const> inputs, std::span<Value* const> outputs, const RunOptions* options,
              const Places& places);
  /// Lets go of a captured run.
  void release_capture(int id);
  /// Warns of options that providers were given and that nobody knows.
  void set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values);
  /// Bytes that idle frames hold.
  size_t workspace_bytes();

 private:
  struct Lease;
  struct Rest;
  struct Captured;
  /// A plan and where its inputs come from.
  struct Route {
    std::vector<uint32_t> inputs;   ///< by position among the plan's inputs: index of the session's input
    std::vector<Value> defaults;    ///< by position: of overridable inputs, else empty
    std::vector<uint32_t> scalars;  ///< positions declared as scalars: a run may be given any shape of one element
    std::optional<FramePool> frames;
  };
  struct Extent {
    uint32_t input, axis;
  };
  struct Tie {
    Extent a, b;
  };
  Session(std::shared_ptr<Environment> environment, ModelSource source, const SessionOptions& options);
  void load(Model& model);
  void make(Model& model);
  void take_pools();
  void lay_out_values(Model& model) const;
  void apply_overrides(Model& model) const;
  void log_ignored_options() const;
  void name_ports(const Model& model);
  void tie_extents();
  void build(Model& model);
  void compile(const Model& given, const LowerOptions& lower) const;
  void replace_initializer(const std::string& name, Tensor& tensor) const;
  static void forget_contents(Graph& graph);
  std::unique_ptr<Route> make_route(Model& model, const std::vector<bool>& open, const LowerOptions& lower,
                                    PackedCache* cache = nullptr);
  std::shared_ptr<Route> make_general_route(const std::vector<bool>& open);
  void expand_functions(Model& model) const;
  LowerOptions lower_options() const;
  std::shared_ptr<const Plan> plan(Model& model, const LowerOptions& lower, PackedCache* cache, Placement& placement);
  void give_parts(Model& model, Placement& placement, PlacementReport* report);
  bool tells_placement() const;
  void tell_placement(const PlacementReport& report) const;
  void record_parts(std::span<const Assignment> parts);
  void check_placement(const Placement& placement) const;
  std::vector<PlacedOutput> placed_outputs(const Graph& graph) const;
  void take_spaces(const Route& route, const Placement& placement);
  void place_defaults(Route& route, const Placement& placement) const;
  const Value* where_read(const Route& route, size_t position, const Value* given, const Places& places) const;
  std::unique_ptr<PackedCache> open_packed_cache() const;
  void save(const Model& optimized) const;
  const Value* given(const Route& route, std::span<const Value* const> inputs, size_t position) const;
  std::optional<int64_t> extent(std::span<const Value* const> inputs, Extent e) const;
  const Tie* broken_tie(std::span<const Value* const> inputs) const;
  std::string describe(const Tie& tie, std::span<const Value* const> inputs) const;
  const Port* overridden(std::span<const Value* const> inputs) const;
  bool departs(std::span<const Value* const> inputs) const;
  std::string departure(std::span<const Value* const> inputs) const;
  std::shared_ptr<Route> general_route(std::span<const Value* const> inputs);
  void check_run(const RunOptions* options);
  /// The profile, which providers follow from now on.
  Profiler& followed(Profiler& profiler) const;
  static void view_scalars(const Route& route, std::span<const Value*> ordered, std::vector<Value>& views);
  void limit_memory();
  void clear_idle_frames();
  /// Takes the provider that captures runs, if there is one; throws fail where it could not run all of `graph`.
  void take_capture(const Graph& graph);
  /// Keeps the frame of a run that was captured, and where its inputs and outputs are; `general`: its plan, null for the
  /// first.
  void keep_captured(const RunOptions* options, const std::shared_ptr<const Route>& general,
                     std::span<const Value* const> inputs, std::span<Value* const> outputs, const Places& places,
                     std::unique_ptr<Frame>& frame);
  void check_replay(const Captured& run, int id, std::span<const Value* const> inputs, std::span<Value* const> outputs,
                    const Places& places) const;
  /// Held by runs that may become the captured one, so that what is known of it is that run's; not held where none may.
  std::unique_lock<std::mutex> alone_until_captured(const RunOptions* options);
  /// Whether a run is to follow `runs` others, until it is captured. Throws fail where there were enough.
  bool awaits_capture(const RunOptions* options, int runs) const;
  void run_once(std::span<const Value* const> inputs, std::span<Value* const> outputs, std::span<Spare> spares,
                const RunOptions* options, const Places& places);

  std::shared_ptr<Environment> environment_;
  SessionOptions options_;
  Logger logger_;
  ModelInfo info_;
  std::shared_ptr<DimTable> dims_;
  std::vector<Port> inputs_, outputs_, overridable_;
  std::vector<AssignedPart> assigned_;
  SessionDevices devices_;
  RunCapture* capture_ = nullptr;  ///< of one of the providers
  std::vector<std::vector<MemorySpace>> input_spaces_;
  std::vector<MemorySpace> output_spaces_;
  std::vector<uint32_t> port_of_;  ///< by position among the model's inputs: index of the session's input
  std::unordered_map<std::string_view, int> input_by_name_, output_by_name_;
  std::unique_ptr<ThreadPool> own_pool_, own_branch_pool_;
  ThreadPool* pool_ = nullptr;
  ThreadPool* branch_pool_ = nullptr;  ///< null: branches run one after another
  std::vector<bool> is_read_;          ///< of inputs_: by any node, or as an output
  bool disallow_copies_ = false;
  ConfigWatch watch_;
  std::atomic<uint64_t> checked_stamp_{0};  ///< of the entries of a run that were checked last
  bool rests_ = false;                      ///< workers, when no run is left
  std::atomic<int> running_{0};             ///< counted where rests_
  bool serial_ = false;                     ///< a provider's device serves one run at a time
  std::mutex serial_mutex_;                 ///< held by runs where serial_
  std::unique_ptr<Profiler> profiler_;
  std::string profile_path_;
  CopyLedger ledger_;
  MemoryBudget budget_;  ///< of all workspaces
  /// For inputs that keep to the names of their extents; overridable inputs are constants, but in sessions that do not
  /// optimise.
  std::unique_ptr<Route> first_;
  std::vector<Tie> ties_;     ///< extents of inputs that bear the same name, the first with each other
  std::mutex general_mutex_;  ///< guards what follows, up to general_
  ModelSource source_;        ///< to read the model again where none is kept
  /// Of models with overridable inputs, or made in memory: as it was read; weights stay in their file.
  std::unique_ptr<Model> kept_;
  std::vector<bool> open_;          ///< by overridable input: whether general_ takes it as an input
  std::shared_ptr<Route> general_;  ///< relies on no name; null until a run needs it
  std::mutex capturing_mutex_;
  std::mutex captured_mutex_;                                ///< guards the next
  std::map<int, std::shared_ptr<const Captured>> captured_;  ///< by number
};

}  // namespace retort
