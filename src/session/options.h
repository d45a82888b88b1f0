// What a caller may set before a session is created, and before a run. Plain data: stored here, read by whoever acts on
// it.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace retort {

struct Model;
struct ExternalFile;
class ExternalOps;
class Provider;
class Stream;

/// How a pool of threads is made: the environment's or a session's.
struct ThreadSettings {
  /// Runs `body` on a new thread and returns a function that joins it.
  using Create = std::function<std::function<void()>(std::function<void()> body)>;

  int intra_threads = 0;  ///< threads inside an operator, the caller's included; 0 or less: one per core
  int inter_threads = 0;  ///< on which independent branches run (parallel_execution); 0 or less: as many as inside
  bool spin = true;
  bool denormal_as_zero = false;  ///< also for the callers of runs, during the run
  std::string affinity;           ///< processors of each worker, from 1: "1,2;3-4"; empty: not pinned
  Create create_thread;
  WorkHooks hooks;
};

/// Numbers equal GraphOptimizationLevel.
enum class OptimizationLevel : int { none = 0, basic = 1, extended = 2, layout = 3, all = 99 };

/// One provider asked for by name, with its options, in the order of the calls.
struct ProviderRequest {
  std::string name;
  std::map<std::string, std::string> options;
};

/// Not thread-safe; a session copies it.
struct SessionOptions {
  std::string log_id;
  int log_severity = -1;  ///< -1: the environment's
  int log_verbosity = 0;
  Logger::Sink log_sink;  ///< empty: the environment's
  /// That of the session, made from the environment's.
  Logger logger(const Logger& base) const;

  OptimizationLevel optimization = OptimizationLevel::all;
  bool parallel_execution = false;  ///< independent branches run at the same time where that is sooner
  bool deterministic = false;       ///< no effect: results always have the same bits, for any number of threads
  bool memory_pattern = true;       ///< no effect: memory is always planned from the shapes
  bool cpu_arena = true;            ///< no effect, for the same reason
  bool profiling = false;
  std::string profile_prefix;
  std::string optimized_model_path;  ///< empty: the optimised model is not saved

  bool own_threads = true;  ///< false: the environment's pools
  ThreadSettings threads;

  std::map<std::string, int64_t> dims_by_name;
  std::map<std::string, int64_t> dims_by_denotation;
  std::map<std::string, std::string> config;
  /// The value of a configuration key; empty when it is not set.
  const std::string& config_entry(const std::string& key) const;
  /// Of a key with the values 0 and 1; `standard` when it is not set.
  bool config_on(const std::string& key, bool standard = false) const;
  /// Of a key whose values are whole numbers from 0; nothing when it is not set, or to something else.
  std::optional<size_t> config_number(const std::string& key) const;
  std::vector<ProviderRequest> providers;

  /// Values in place of initializers of that name, in memory of the caller that outlives the session.
  std::map<std::string, Tensor> initializers;
  /// Values in place of initializers whose data the model keeps in another file.
  std::map<std::string, Tensor> external_initializers;
  /// Files of external data, by the name the model calls them; bytes of the caller, or a copy kept by `owner`.
  struct MemoryFile {
    std::span<const char> bytes;
    std::shared_ptr<const void> owner;
  };
  std::map<std::string, MemoryFile> external_files;

  /// In place of making a session: gets the model as it would be compiled, in its own dialect or as far optimised as ONNX
  /// can say, the files of external data that the model was in, and whether providers have compiled a part of it. What it throws ends the creation; the session cannot
  /// run. Empty: nobody compiles.
  std::function<void(const Model&, std::span<const ExternalFile>, bool)> compile;

  /// Operators of the caller; null: none.
  std::shared_ptr<const ExternalOps> external_ops;

  /// Called with the model when it was read, before anything is made of it: the providers that are asked for nodes, in
  /// that order, before the CPU takes the rest. What it throws ends the creation.
  std::function<std::vector<std::shared_ptr<Provider>>(const Model&)> choose_providers;

  /// Set from any thread to end the creation of a session.
  std::shared_ptr<std::atomic<bool>> cancel_load = std::make_shared<std::atomic<bool>>(false);
};

/// Settings of one run. Only `terminate` and its count may be touched while a run reads them.
struct RunOptions {
  // Runs log nothing; what they are called, and how loud, is kept for the getters.
  int log_severity = -1;  ///< -1: the session's
  int log_verbosity = 0;
  std::string tag;
  std::atomic<bool> terminate{false};
  /// How often `terminate` was set, raised before it is: a run during which that happened fails, even when the flag is
  /// down again at its end.
  std::atomic<uint32_t> terminations{0};
  /// What a caller's interface knows them as, for plug-ins that are told of the run; null: it has no such thing.
  const void* outward = nullptr;
  bool profiling = false;  ///< this run goes to a profile of its own, not to the session's
  std::string profile_prefix;
  std::map<std::string, std::string> config;
  /// Another number for other entries, so that a session checks them once; 0: nobody keeps it.
  uint64_t config_stamp = 0;
  /// For the work of its device, in place of one of the run's own; outlives the run.
  Stream* stream = nullptr;
};

}  // namespace retort
