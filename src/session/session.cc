#include "session/session.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>

#include "base/advice.h"
#include "base/denormals.h"
#include "base/error.h"
#include "memory/host.h"
#include "session/value_layout.h"

namespace retort {
namespace {

std::string profile_path(const std::string& prefix) {
  char stamp[32];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", &local);
  return cat("{}_{}.json", prefix.empty() ? "onnxruntime_profile_" : prefix, static_cast<const char*>(stamp));
}

// Runs may begin in the same second, and in several sessions.
std::string run_profile_path(const std::string& prefix) {
  static std::atomic<uint64_t> runs{0};
  return profile_path(cat("{}_{}", prefix, runs.fetch_add(1)));
}

/// Of runs: where what the run copied is written as JSON. Of sessions with "session." before it: what all runs did.
constexpr const char* kCopiesFile = "copy_ledger_file";

/// The value of a run's key, empty when it is not set. Runs have few entries, and make no text to find one.
std::string_view entry(const RunOptions* options, std::string_view key) {
  if (!options) return {};
  const auto found = std::ranges::find_if(options->config, [&](const auto& e) { return e.first == key; });
  return found == options->config.end() ? std::string_view() : std::string_view(found->second);
}

// Whether the workspace goes back to the system after the run, and that of idle frames.
bool shrinks_memory(const RunOptions* options) {
  const std::string_view arenas = entry(options, "memory.enable_memory_arena_shrinkage");
  if (arenas.empty()) return false;
  require(arenas == "cpu:0", ErrorCode::invalid_argument,
          "memory.enable_memory_arena_shrinkage is '{}'; the memory of runs is that of 'cpu:0'", arenas);
  return true;
}

// Runs of sessions without devices look nothing up.
StreamUse stream_use(const RunOptions* options, bool has_devices) {
  StreamUse use;
  if (!options || !has_devices) return use;
  use.options = options;
  use.callers = options->stream;
  use.waits = entry(options, "disable_synchronize_execution_providers") != "1";
  return use;
}

}  // namespace

Session::Session(std::shared_ptr<Environment> environment, const std::shared_ptr<Model>& model,
                 const SessionOptions& options)
    : environment_(std::move(environment)), options_(options), logger_(options.logger(environment_->logger())) {
  load(*model);
}

Session::Session(std::shared_ptr<Environment> environment, ModelSource source, const SessionOptions& options)
    : environment_(std::move(environment)),
      options_(options),
      logger_(options.logger(environment_->logger())),
      source_(std::move(source)) {
  load(*source_.read(options_));
}

Session::Session(std::shared_ptr<Environment> environment, const std::string& path, const SessionOptions& options)
    : Session(std::move(environment), ModelSource(path), options) {}

Session::Session(std::shared_ptr<Environment> environment, std::span<const std::byte> bytes,
                 const SessionOptions& options)
    : Session(std::move(environment), ModelSource(bytes), options) {}

Session::~Session() {
  try {
    const std::string& path = options_.config_entry("session.copy_ledger_file");
    if (!path.empty()) ledger_.write(path);
  } catch (const Error& e) {
    logger_.warn("{}", e.message());
  }
}

void Session::load(Model& model) {
  try {
    make(model);
  } catch (Error& e) {
    if (!model.path.empty()) e.add_context(cat("model '{}'", model.path));
    throw;
  }
}

void Session::make(Model& model) {
  watch_.check(ConfigScope::session, options_.config, logger_);
  if (options_.choose_providers) devices_.providers = std::exchange(options_.choose_providers, {})(model);
  std::vector<SessionMemory> memory;
  for (const auto& provider : devices_.providers) {
    serial_ = serial_ || !provider->runs_at_once();
    memory.push_back(provider->memory());
  }
  devices_.devices = std::make_shared<Devices>(environment_->devices(), std::move(memory));
  devices_.uploads = std::make_shared<Uploads>(devices_.devices);
  if (options_.profiling) {
    profiler_ = std::make_unique<Profiler>();
    followed(*profiler_);
    profile_path_ = profile_path(options_.profile_prefix);
  }
  const Profiler::Span span = profiler_ ? profiler_->begin() : Profiler::Span();
  take_pools();
  log_ignored_options();
  const FlushDenormals flush(pool_->flushes_denormals());  // for folding constants
  disallow_copies_ = options_.config_on("session.disallow_implicit_copies");
  limit_memory();
  dims_ = std::make_shared<DimTable>(*model.dims);  // its own: later plans add to that of the model
  lay_out_values(model);
  apply_overrides(model);
  name_ports(model);
  input_spaces_.assign(input_count(), {MemorySpace()});
  output_spaces_.assign(outputs_.size(), {});
  if (!ties_.empty() && overridable_.empty()) source_.keep(*model.graph, options_);
  forget_contents(*model.graph);
  build(model);
  for (const auto& provider : devices_.providers) provider->session_made();
  if (profiler_) profiler_->end(span, "session_initialization", "Session");
}

Profiler& Session::followed(Profiler& profiler) const {
  for (const auto& provider : devices_.providers) profiler.listen(provider->make_listener());
  return profiler;
}

void Session::limit_memory() {
  const std::string& entry = options_.config_entry("session.memory_budget_bytes");
  if (entry.empty()) return;
  size_t bytes = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), bytes);
  require(error == std::errc() && end == entry.data() + entry.size() && bytes > 0, ErrorCode::invalid_argument,
          "session.memory_budget_bytes is '{}', not a number of bytes", entry);
  budget_.set_limit(bytes, [this] { clear_idle_frames(); });
}

void Session::clear_idle_frames() {
  if (first_) first_->frames->clear();
  const std::lock_guard lock(general_mutex_);
  if (general_) general_->frames->clear();
}

// Hints for an engine built otherwise: results are the same without them.
void Session::log_ignored_options() const {
  if (!options_.parallel_execution && options_.threads.inter_threads > 1) {
    logger_.info("{} inter-op threads have no effect with sequential execution; set ORT_PARALLEL",
                 options_.threads.inter_threads);
  }
  if (!options_.memory_pattern || !options_.cpu_arena) {
    logger_.info("a run's memory is always planned; switching the pattern or the arena off has no effect");
  }
  if (!own_pool_ && options_.config_on("session.set_denormal_as_zero")) {
    logger_.warn("session.set_denormal_as_zero has no effect on shared threads: set it on the environment's");
  }
}

size_t Session::workspace_bytes() {
  const std::lock_guard lock(general_mutex_);
  return (first_ ? first_->frames->workspace_bytes() : 0) + (general_ ? general_->frames->workspace_bytes() : 0);
}

/// What the run reads as an input; null: one that was left out, optional or read by nothing.
const Value* Session::given(const Route& route, std::span<const Value* const> inputs, size_t position) const {
  const size_t index = route.inputs[position];
  const Value* v = inputs[index];
  if (!v && index >= inputs_.size()) return &route.defaults[position];
  if (!v && is_read_[index] && input_port(index).type.kind != ValueType::Kind::optional) {
    const ValueType& type = input_port(index).type;
    fail(ErrorCode::fail, "input '{}' was not given; give {}", input_port(index).name,
         type.is_tensor() ? cat("a {}{}", dtype_name(type.dtype), type.ranked ? dims_->text(type.shape) : " tensor")
                          : "it a value");
  }
  return v;
}

std::optional<int64_t> Session::extent(std::span<const Value* const> inputs, Extent e) const {
  const Value* v = inputs[e.input];
  const Tensor* t = v ? v->tensor() : nullptr;
  return t ? std::optional(t->shape()[e.axis]) : std::nullopt;
}

// Passes take extents of one name for equal, as ONNX says. Where a call does not keep to that, their work would go wrong
// without a word.
const Session::Tie* Session::broken_tie(std::span<const Value* const> inputs) const {
  for (const Tie& tie : ties_) {
    const auto x = extent(inputs, tie.a), y = extent(inputs, tie.b);
    if (x && y && *x != *y) return &tie;
  }
  return nullptr;
}

std::string Session::describe(const Tie& tie, std::span<const Value* const> inputs) const {
  const Port &a = input_port(tie.a.input), &b = input_port(tie.b.input);
  return cat("extent '{}' is {} in input '{}' and {} in input '{}'", dims_->text(a.type.shape[tie.a.axis]),
             *extent(inputs, tie.a), a.name, *extent(inputs, tie.b), b.name);
}

/// The first overridable input that the call gives although the first plan has its value as a constant; null: none.
const Port* Session::overridden(std::span<const Value* const> inputs) const {
  if (options_.optimization == OptimizationLevel::none) return nullptr;  // that plan takes them all
  for (size_t i = 0; i < overridable_.size(); ++i) {
    if (inputs[inputs_.size() + i]) return &overridable_[i];
  }
  return nullptr;
}

/// Whether a call does what the first plan does not allow for. Asked in every run, so it makes no text.
bool Session::departs(std::span<const Value* const> inputs) const { return broken_tie(inputs) || overridden(inputs); }

/// What that is.
std::string Session::departure(std::span<const Value* const> inputs) const {
  if (const Tie* tie = broken_tie(inputs)) return describe(*tie, inputs);
  const Port* port = overridden(inputs);
  return port ? cat("input '{}' was given, which has a value in the model", port->name) : std::string();
}

/// A plan that relies on no name and takes the overridable inputs that this run or an earlier one gave; the others are its
/// constants. It is made under the lock, so that runs that need it too wait for it.
std::shared_ptr<Session::Route> Session::general_route(std::span<const Value* const> inputs) {
  const auto given = inputs.subspan(inputs_.size(), overridable_.size());
  const std::lock_guard lock(general_mutex_);
  bool suits = general_ != nullptr;
  for (size_t i = 0; suits && i < given.size(); ++i) suits = open_[i] || !given[i];
  if (suits) return general_;
  std::vector<bool> open = open_;
  for (size_t i = 0; i < given.size(); ++i) open[i] = open[i] || given[i];
  try {
    general_ = make_general_route(open);
  } catch (Error& e) {
    e.add_context(
        cat("{}; such a call runs without optimisation (level 0), or on a second plan, for which the model is "
            "read again",
            departure(inputs)));
    throw;
  }
  open_ = std::move(open);
  source_ = {};
  logger_.warn("{}: such calls run on a second plan, made now", departure(inputs));
  return general_;
}

struct Session::Lease {
  Lease(FramePool& p, const RunOptions* options) : pool(p), frame(p.take()), gives_back(shrinks_memory(options)) {}
  ~Lease() {
    if (gives_back) {
      if (frame) frame->give_back();
      pool.clear();
    }
    if (frame) pool.give(std::move(frame));  // else it is kept with a captured run
    if (gives_back) trim_heap();
  }
  FramePool& pool;
  std::unique_ptr<Frame> frame;
  const bool gives_back;
};

void Session::check_run(const RunOptions* options) {
  require(first_ != nullptr, ErrorCode::fail,
          "the session was made with session.compile_only and cannot run; make one without");
  if (!options || options->config.empty()) return;
  if (options->config_stamp != 0 && options->config_stamp == checked_stamp_.load(std::memory_order_relaxed)) return;
  watch_.check(ConfigScope::run, options->config, logger_);
  checked_stamp_.store(options->config_stamp, std::memory_order_relaxed);
}

/// What is declared a scalar and came in another shape of one element is read through a view.
void Session::view_scalars(const Route& route, std::span<const Value*> ordered, std::vector<Value>& views) {
  for (const uint32_t i : route.scalars) {
    const Tensor* t = ordered[i] ? ordered[i]->tensor() : nullptr;
    if (!t || t->shape().rank() == 0) continue;
    views.reserve(route.scalars.size());
    ordered[i] = &views.emplace_back(t->reshaped({}));
  }
}

/// Workers that wait for the next run sleep when the last one is over, where session.force_spinning_stop asks for it.
struct Session::Rest {
  explicit Rest(Session& s) : session(s) {
    if (s.rests_) s.running_.fetch_add(1);
  }
  Rest(const Rest&) = delete;
  ~Rest() {
    if (session.rests_ && session.running_.fetch_sub(1) == 1) session.pool_->rest();
  }
  Session& session;
};

void Session::run(std::span<const Value* const> inputs, std::span<Value* const> outputs, std::span<Spare> spares,
                  const RunOptions* options, const Places& places) {
  if (replay(inputs, outputs, options, places)) return;
  const std::unique_lock<std::mutex> alone = alone_until_captured(options);
  if (alone && replay(inputs, outputs, options, places)) return;
  int runs = 0;
  do run_once(inputs, outputs, spares, options, places);
  while (awaits_capture(options, ++runs));
}

void Session::run_once(std::span<const Value* const> inputs, std::span<Value* const> outputs, std::span<Spare> spares,
                       const RunOptions* options, const Places& places) {
  check_run(options);
  const FlushDenormals flush(pool_->flushes_denormals());
  const Rest rest(*this);
  const std::shared_ptr<Route> general = departs(inputs) ? general_route(inputs) : nullptr;
  Route& route = general ? *general : *first_;
  Lease lease(*route.frames, options);
  std::vector<const Value*>& ordered = lease.frame->input_buffer();
  for (size_t i = 0; i < route.inputs.size(); ++i) {
    ordered[i] = given(route, inputs, i);
    if (!places.inputs.empty()) ordered[i] = where_read(route, i, ordered[i], places);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] && !outputs[i]->empty()) check_output(i, *outputs[i]);
  }
  std::vector<Value> scalars;
  view_scalars(route, ordered, scalars);
  std::optional<CopyLedger> own_ledger;
  const std::string_view copies_file = entry(options, kCopiesFile);
  if (!copies_file.empty()) own_ledger.emplace(&ledger_);
  std::optional<Profiler> own_profiler;
  Profiler* const profiler = options && options->profiling ? &followed(own_profiler.emplace()) : profiler_.get();
  const std::atomic<bool>* cancel = options ? &options->terminate : nullptr;
  const RunRequest request{.inputs = ordered,
                           .outputs = outputs,
                           .spares = spares,
                           .output_spaces = places.outputs,
                           .parallel = Parallel(pool_, cancel),
                           .forks = Parallel(branch_pool_, cancel),
                           .cancel = cancel,
                           .cancellations = options ? &options->terminations : nullptr,
                           .profiler = profiler,
                           .ledger = own_ledger ? &*own_ledger : &ledger_,
                           .devices = &devices_,
                           .streams = stream_use(options, !devices_.providers.empty()),
                           .disallow_copies = disallow_copies_,
                           .caches_grow = true};
  const Profiler::Span span = profiler ? profiler->begin() : Profiler::Span();
  const auto alone = serial_ ? std::unique_lock(serial_mutex_) : std::unique_lock<std::mutex>();
  try {
    lease.frame->run(request);
  } catch (Error& e) {
    if (general) e.add_context(departure(inputs));
    throw;
  }
  if (capture_) keep_captured(options, general, inputs, outputs, places, lease.frame);
  if (own_ledger) own_ledger->write(std::string(copies_file));
  if (!profiler) return;
  profiler->end(span, "model_run", "Session");
  if (own_profiler) own_profiler->write(run_profile_path(options->profile_prefix));
}

void Session::lay_out_values(Model& model) const {
  if (options_.config_entry("session.gqa_value_layout") != "BNHS") return;
  if (const size_t caches = lay_out_values_bnhs(model)) {
    logger_.warn("session.gqa_value_layout is BNHS: each run copies {} caches of values into the order BNSH or back",
                 caches);
  }
}

void Session::set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values) {
  std::map<std::string, std::string> entries;
  for (size_t i = 0; i < keys.size(); ++i) entries[keys[i]] = values[i];
  watch_.check(ConfigScope::ep_dynamic, entries, logger_);
  for (const auto& provider : devices_.providers) provider->set_options(keys, values);
}

std::string Session::end_profiling() {
  if (!profiler_ || profile_path_.empty()) return {};
  profiler_->write(profile_path_);
  return std::exchange(profile_path_, {});
}

}  // namespace retort
