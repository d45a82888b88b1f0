// What a caller may set before a session is created, and before a run. Plain data: the parts of a session read it.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/loading.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace retort {

struct Model;
struct ExternalFile;
class ExternalOps;
class Provider;
class Stream;

/// How a pool of threads is made, for an environment or for a session.
struct ThreadSettings {
  /// Runs `body` on a new thread and returns a function that joins it.
  using Create = std::function<std::function<void()>(std::function<void()> body)>;

  int intra_threads = 0;  ///< threads inside an operator, with the caller's; 0 or less: one per core
  int inter_threads = 0;  ///< threads for independent branches (parallel_execution); 0 or less: intra_threads
  bool spin = true;
  bool denormal_as_zero = false;  ///< also on the threads that call runs, during the run
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

/// How a session logs, where it differs from its environment.
struct LogSettings {
  std::string id;     ///< empty: the environment's
  int severity = -1;  ///< -1: the environment's
  int verbosity = 0;
  Logger::Sink sink;  ///< empty: the environment's
};

/// Hints of which most have no effect; they are kept for the getters and for messages.
struct Hints {
  bool deterministic = false;  ///< results always have the same bits, for any number of threads
  bool memory_pattern = true;  ///< memory is always planned from the shapes
  bool cpu_arena = true;       ///< whether memory of large results is kept for later ones (memory/kept_blocks.h)
};

/// Not thread-safe; a session copies it.
struct SessionOptions {
  LogSettings log;
  /// The logger of the session, derived from `base`, which is the environment's.
  Logger logger(const Logger& base) const;

  OptimizationLevel optimization = OptimizationLevel::all;
  bool parallel_execution = false;  ///< independent branches run at the same time if that is faster
  Hints hints;
  bool profiling = false;
  std::string profile_prefix;
  std::string optimized_model_path;  ///< empty: the optimised model is not saved

  bool own_threads = true;  ///< false: the session uses the pools of the environment
  ThreadSettings threads;

  std::map<std::string, int64_t> dims_by_name;
  std::map<std::string, int64_t> dims_by_denotation;
  std::map<std::string, std::string> config;
  /// The value of a configuration key; empty when it is not set.
  const std::string& config_entry(const std::string& key) const;
  /// The value of a key whose values are 0 and 1; `standard` when it is not set.
  bool config_on(const std::string& key, bool standard = false) const;
  /// Whether pairs of products of codes stop at the limits of 16 bits, as in ONNX Runtime on some processors.
  bool saturates_quantized_sums() const;
  /// The value of a key whose values are whole numbers from 0; nothing when it is not set, or is not such a number.
  std::optional<size_t> config_number(const std::string& key) const;
  std::vector<ProviderRequest> providers;

  /// Values in place of initializers of that name, in memory of the caller that outlives the session.
  std::map<std::string, Tensor> initializers;
  /// Values in place of initializers whose data the model keeps in another file.
  std::map<std::string, Tensor> external_initializers;
  /// Files of external data, by the names that the model gives them: bytes of the caller, or a copy that `owner` keeps.
  struct MemoryFile {
    std::span<const char> bytes;
    std::shared_ptr<const void> owner;
  };
  std::map<std::string, MemoryFile> external_files;

  /// Called instead of making a session that can run. Gets the model as it is compiled, in its own dialect or as far
  /// optimised as ONNX can express, the files of its external data, and whether providers have compiled parts of it.
  /// What it throws ends the creation. Empty: the session is made.
  std::function<void(const Model&, std::span<const ExternalFile>, bool)> compile;

  /// Operators of the caller; null: none.
  std::shared_ptr<const ExternalOps> external_ops;

  /// Called with the model as it was read. Returns the providers that are asked for nodes, in that order; the CPU takes
  /// the rest. What it throws ends the creation.
  std::function<std::vector<std::shared_ptr<Provider>>(const Model&)> choose_providers;

  /// Set from any thread to end the creation of a session.
  std::shared_ptr<LoadCancellation> cancel_load = std::make_shared<LoadCancellation>();
};

/// Settings of one run. While a run reads them, only `terminate` and `terminations` may change.
struct RunOptions {
  // For what kernels of custom operators and of plug-ins log in the run; the engine logs nothing in runs.
  int log_severity = -1;  ///< -1: the session's
  int log_verbosity = 0;  ///< has no effect: there is one level of details
  std::string tag;        ///< follows the name of the session
  std::atomic<bool> terminate{false};
  /// How often `terminate` was set; raised before it is set. A run during which that happened fails, even if the flag
  /// is cleared before the run ends.
  std::atomic<uint32_t> terminations{0};
  /// The object by which a caller's interface knows these options, for plug-ins that are told of the run; null: none.
  const void* outward = nullptr;
  bool profiling = false;  ///< this run goes to a profile of its own, not to the session's
  std::string profile_prefix;
  std::map<std::string, std::string> config;
  /// Differs for different entries, so that a session checks the same entries once; 0: no stamp, they are always
  /// checked.
  uint64_t config_stamp = 0;
  /// The stream for the work of its device, which the run uses instead of one of its own; outlives the run.
  Stream* stream = nullptr;
  /// The value of a configuration key; empty when it is not set. Allocates nothing.
  std::string_view config_entry(std::string_view key) const;
};

}  // namespace retort
