#include "session/session.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/denormals.h"
#include "base/error.h"
#include "base/loading.h"
#include "onnx/opsets.h"
#include "passes/optimize.h"
#include "session/context_output.h"
#include "session/given_model.h"
#include "session/packed_weights.h"
#include "session/preset.h"
#include "session/written_model.h"

namespace retort {
namespace {

// These options are hints for engines that are built otherwise. Results are the same without them.
void tell_precision(const SessionOptions& options, const Logger& logger) {
  if (options.config_on("session.disable_prepacking")) {
    logger.warn("session.precision is bf16, but session.disable_prepacking is 1: everything is computed in float32");
  } else if (multiplies_bf16()) {
    logger.info(
        "session.precision is bf16: products with constant matrices and filters, and attention, are computed in "
        "bfloat16");
  } else {
    logger.warn(
        "session.precision is bf16, but this processor has no bfloat16 arithmetic (AVX-512 BF16), or RETORT_ISA "
        "excludes "
        "it: everything is computed in float32");
  }
}

void tell_sums(const SessionOptions& options, const Logger& logger) {
  if (!options.saturates_quantized_sums())
    logger.warn("session.quantized_sums is saturating, but session.x64quantprecision is 1: sums are exact");
  else if (options.config_on("session.disable_prepacking"))
    logger.warn("session.quantized_sums is saturating, but session.disable_prepacking is 1: sums are exact");
  else
    logger.info("session.quantized_sums is saturating: results are those of ONNX Runtime on processors without VNNI");
}

void log_ignored_options(const SessionOptions& options, bool shares_threads, const Logger& logger) {
  if (!options.parallel_execution && options.threads.inter_threads > 1) {
    logger.info("{} inter-op threads have no effect with sequential execution; set ORT_PARALLEL",
                options.threads.inter_threads);
  }
  if (!options.hints.memory_pattern) {
    logger.info("a run's memory is always planned; switching the pattern off has no effect");
  }
  if (shares_threads && options.config_on("session.set_denormal_as_zero")) {
    logger.warn("session.set_denormal_as_zero has no effect on shared threads: set it on the environment's");
  }
  if (options.config_entry("session.precision") == "bf16") tell_precision(options, logger);
  if (options.config_entry("session.quantized_sums") == "saturating") tell_sums(options, logger);
}

// The providers of the session, with their memory.
SessionDevices devices_of(SessionOptions& options, const Environment& environment, const Model& model) {
  SessionDevices all;
  if (options.choose_providers) all.providers = std::exchange(options.choose_providers, {})(model);
  std::vector<SessionMemory> memory;
  for (const auto& provider : all.providers) memory.push_back(provider->memory());
  all.devices = std::make_shared<Devices>(environment.devices(), std::move(memory));
  all.uploads = std::make_shared<Uploads>(all.devices);
  return all;
}

// The environment's if the options ask for that and there is one.
std::shared_ptr<CountedMemory> host_memory(const SessionOptions& options, const Environment& environment) {
  std::shared_ptr<CountedMemory> shared;
  if (options.config_on("session.use_env_allocators")) shared = environment.shared_memory();
  return shared ? shared : std::make_shared<CountedMemory>();
}

// How many bytes the workspaces of the session may have together; nothing: any number.
std::optional<size_t> memory_limit(const SessionOptions& options) {
  const std::string& entry = options.config_entry("session.memory_budget_bytes");
  if (entry.empty()) return std::nullopt;
  size_t bytes = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), bytes);
  require(error == std::errc() && end == entry.data() + entry.size() && bytes > 0, ErrorCode::invalid_argument,
          "session.memory_budget_bytes is '{}', not a number of bytes", entry);
  return bytes;
}

// Whether the workspaces of the run and of idle frames go back to the system after the run.
bool shrinks_memory(const RunOptions* options) {
  if (!options) return false;
  const std::string_view arenas = options->config_entry("memory.enable_memory_arena_shrinkage");
  if (arenas.empty()) return false;
  require(arenas == "cpu:0", ErrorCode::invalid_argument,
          "memory.enable_memory_arena_shrinkage is '{}'; the memory of runs is that of 'cpu:0'", arenas);
  return true;
}

// Without devices, a run searches no entries for its options.
StreamUse stream_use(const RunOptions* options, bool has_devices, ThreadPool& threads) {
  StreamUse use;
  use.copies = Parallel(&threads, nullptr);
  use.outward = options ? options->outward : nullptr;
  if (!options || !has_devices) return use;
  use.callers = options->stream;
  use.waits = options->config_entry("disable_synchronize_execution_providers") != "1";
  return use;
}

void warn_of_newer_opsets(const Model& model, const Logger& logger) {
  std::vector<std::string> newer = newer_opsets(model.opsets);
  for (const Function& f : model.functions)
    std::ranges::move(newer_opsets(f.opsets, cat("function '{}:{}'", f.domain, f.name)), std::back_inserter(newer));
  for (const std::string& one : newer)
    logger.warn("{}, which counts in its place; results may differ from those of the newer one", one);
}

// Whether a model that was read has neither operators nor tensors of the program or of a provider, whose code must not
// run on another thread after the call.
bool has_only_ours(const SessionDevices& devices, const SessionOptions& options) {
  return devices.providers.empty() && !options.external_ops && options.initializers.empty() &&
         options.external_initializers.empty();
}

}  // namespace

Session::Session(std::shared_ptr<Environment> environment, const std::shared_ptr<Model>& model,
                 const SessionOptions& options)
    : environment_(std::move(environment)),
      options_(with_preset(options)),
      logger_(options.logger(environment_->logger())) {
  const CancellableLoading loading(*options_.cancel_load);
  load(*model, {});
  loading.end();
}

Session::Session(std::shared_ptr<Environment> environment, ModelSource source, const SessionOptions& options)
    : environment_(std::move(environment)),
      options_(with_preset(options)),
      logger_(options.logger(environment_->logger())) {
  const CancellableLoading loading(*options_.cancel_load);
  const LoadingScratch model(source.read(options_, logger_));
  load(*model, std::move(source));
  loading.end();
}

Session::Session(std::shared_ptr<Environment> environment, const std::string& path, const SessionOptions& options)
    : Session(std::move(environment), ModelSource(path), options) {}

Session::Session(std::shared_ptr<Environment> environment, std::span<const std::byte> bytes,
                 const SessionOptions& options)
    : Session(std::move(environment), ModelSource(bytes), options) {}

Session::~Session() {
  try {
    records_->write_copies(options_);
  } catch (const Error& e) {
    logger_.warn("{}", e.message());
  }
}

void Session::load(Model& model, ModelSource source) {
  try {
    make(model, std::move(source));
  } catch (Error& e) {
    if (!model.path.empty()) e.add_context(cat("model '{}'", model.path));
    throw;
  }
}

void Session::make(Model& model, ModelSource source) {
  watch_.check(ConfigScope::session, options_.config, logger_);
  warn_of_newer_opsets(model, logger_);
  devices_ = devices_of(options_, *environment_, model);
  if (source.exists() && has_only_ours(devices_, options_)) let_loading_drop_later();
  turns_.emplace(!std::ranges::all_of(devices_.providers, &Provider::runs_at_once));
  records_.emplace(options_, devices_.providers, source.loading());
  Profiler* const profiler = records_->profiler();
  const Profiler::Span span = profiler ? profiler->begin() : Profiler::Span();
  threads_.emplace(options_, *environment_);
  const Preset preset = preset_of(options_);
  if (preset == Preset::low_power) threads_->set_efficient(true);
  returns_memory_ = preset == Preset::minimal_size;
  log_ignored_options(options_, threads_->are_shared(), logger_);
  const FlushDenormals flush(threads_->inside().flushes_denormals());  // for folding constants
  disallow_copies_ = options_.config_on("session.disallow_implicit_copies");
  memory_ = host_memory(options_, *environment_);
  const auto make_room = [this] { routes_->clear_idle_frames(); };
  budget_.set_memory(memory_);
  const auto limit = memory_limit(options_);
  if (limit) budget_.set_limit(*limit, make_room);
  results_.emplace(options_.hints.cpu_arena && !limit);
  apply_options(model, options_, logger_);
  auto dims = std::make_unique<DimTable>(*model.dims);  // its own, since later plans add to that of the model
  ports_.emplace(model, std::move(dims), devices_.devices);
  const PlanMaker plans({options_, logger_, devices_, environment_->weights(), threads_->inside(), &nodes_});
  routes_.emplace(*ports_, options_, logger_, plans, &budget_);
  if (routes_->may_read_again()) source.keep(*model.graph, options_);
  forget_contents(*model.graph);
  build(model, std::move(source));
  for (const auto& provider : devices_.providers) provider->session_made();
  if (profiler) profiler->end(span, "session_initialization", "Session");
  if (memory_->limit() > 0) room_ = memory_->offer_room(make_room);
}

void Session::build(Model& model, ModelSource source) {
  if (!options_.compile) check_context_keys(options_, source.path());
  nodes_.add(*model.graph);
  expand_functions(model, options_);
  seed_random(model, options_);
  nodes_.add(*model.graph);
  if (options_.config_on("session.record_ep_graph_assignment_info")) assigned_ = parts_of_cpu(*model.graph);
  const LowerOptions lower = routes_->plans().lower_options(&options_.cancel_load->on);
  for (const std::string& name : lower.disabled) {
    const std::string unknown = unknown_pass(name);
    if (!unknown.empty()) logger_.warn("optimization.disable_specified_optimizers: {}", unknown);
  }
  if (options_.compile) return compile_model(model, options_, lower, devices_, source);
  save_optimized(model, options_, lower);
  if (options_.config_on("session.compile_only")) return;
  PackedFile packed(options_, source, environment_->weights(), logger_);
  const FirstPlan first{source.path(), packed.cache(), assigned_, ports_->overridable(), source.external_files()};
  Routes::First made = routes_->make_first(model, std::move(source), lower, first);
  ports_->set_spaces(std::move(made.spaces));
  ports_->learn_outputs(*model.graph);
  if (made.capture) captures_.emplace(*made.capture, *ports_, *turns_);
  if (packed.cache()) packed.cache()->save();
}

void Session::run(std::span<const Value* const> inputs, std::span<Value* const> outputs, std::span<Spare> spares,
                  const RunOptions* options, const BindingMemory& memory) {
  const RunCall call{inputs, outputs, spares, options, memory};
  if (!captures_) {
    memory.clear_last_results();
    return run_once(call);
  }
  watch_.check_run(options, logger_);
  captures_->run(call, [&] { run_once(call); });
}

void Session::run_once(const RunCall& call) {
  require(routes_->has_first(), ErrorCode::fail,
          "the session was made with session.compile_only and cannot run; make one without");
  watch_.check_run(call.options, logger_);
  const FlushDenormals flush(threads_->inside().flushes_denormals());
  const SessionThreads::Use use(*threads_);
  const ChosenRoute route = routes_->choose(call.inputs);
  const bool shrinks = returns_memory_ || shrinks_memory(call.options);
  FrameLease lease(route.route.frames(), shrinks);
  ResultMemory results(*results_, shrinks,
                       memory_->serves_results() || memory_->counts_results() ? memory_.get() : nullptr);
  std::vector<Value> views;
  route.route.order(call, lease.frame()->input_buffer(), views);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i] && !call.outputs[i]->empty()) ports_->check_output(i, *call.outputs[i]);
  }
  RunRecord record(*records_, call.options);
  record.begin();
  const auto turn = turns_->take();
  try {
    run_frame(call, *lease.frame(), record, results);
  } catch (Error& e) {
    if (route.general) e.add_context(routes_->departure(call.inputs));
    throw;
  }
  if (captures_) captures_->keep(call, route, lease.frame());
  record.end();
}

void Session::run_frame(const RunCall& call, Frame& frame, RunRecord& record, ResultMemory& results) {
  const RunOptions* const options = call.options;
  const std::atomic<bool>* cancel = options ? &options->terminate : nullptr;
  frame.run({.inputs = frame.input_buffer(),
             .outputs = call.outputs,
             .spares = call.spares,
             .results = &results,
             .output_spaces = call.memory.output_spaces,
             .parallel = Parallel(&threads_->inside(), cancel),
             .forks = Parallel(threads_->branches(), cancel),
             .cancel = cancel,
             .cancellations = options ? &options->terminations : nullptr,
             .profiler = record.profiler(),
             .ledger = &record.ledger(),
             .devices = &devices_,
             .streams = stream_use(options, !devices_.providers.empty(), threads_->inside()),
             .disallow_copies = disallow_copies_,
             .caches_grow = !results.is_elsewhere()});
}

Value Session::bring(size_t index, const Tensor& tensor, const MemorySpace& space) {
  const std::string& name = ports_->input(index).name;
  require(!disallow_copies_, ErrorCode::invalid_argument,
          "input '{}' lies in {} and is read in {}: it would have to be copied, which session.disallow_implicit_copies "
          "forbids; bind it there",
          name, to_string(tensor.space()), to_string(space));
  try {
    const std::shared_ptr<void> memory = devices_.devices->allocate(space, tensor.bytes());
    Tensor copy(tensor.dtype(), tensor.shape(), memory.get(), memory, space);
    devices_.devices->copy(tensor, copy, nullptr);
    ledger().add(CopyCause::bind_input, name, tensor.space(), space, tensor.bytes());
    return copy;
  } catch (Error& e) {
    e.add_context(cat("input '{}' lies in {} and is read in {}", name, to_string(tensor.space()), to_string(space)));
    throw;
  }
}

void Session::synchronize() const {
  for (const auto& provider : devices_.providers) provider->synchronize();
}

void Session::release_capture(int id) {
  if (captures_) captures_->release(id);
}

void Session::set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values) {
  std::map<std::string, std::string> entries;
  for (size_t i = 0; i < keys.size(); ++i) entries[keys[i]] = values[i];
  watch_.check(ConfigScope::ep_dynamic, entries, logger_);
  const auto type = entries.find("ep.dynamic.workload_type");
  if (type != entries.end()) threads_->set_efficient(type->second == "Efficient");
  for (const auto& provider : devices_.providers) provider->set_options(keys, values);
}

}  // namespace retort
