// Session options: each setter checks and stores.
#include "abi/key_values.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/option_entries.h"
#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/text.h"

namespace retort::abi {
namespace {

SessionOptions& of(OrtSessionOptions* options) { return handle(options, "options").options; }

}  // namespace

OrtStatusPtr ORT_API_CALL CreateSessionOptions(OrtSessionOptions** options) noexcept {
  return guard([&] { give(options, "options", std::make_unique<OrtSessionOptions>()); });
}

OrtStatusPtr ORT_API_CALL CloneSessionOptions(const OrtSessionOptions* in_options,
                                              OrtSessionOptions** out_options) noexcept {
  return guard([&] {
    auto copy = std::make_unique<OrtSessionOptions>(handle(in_options, "in_options"));
    give(out_options, "out_options", std::move(copy));
  });
}

void ORT_API_CALL ReleaseSessionOptions(OrtSessionOptions* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL SetOptimizedModelFilePath(OrtSessionOptions* options,
                                                    const char* optimized_model_filepath) noexcept {
  return guard(
      [&] { of(options).optimized_model_path = need_text(optimized_model_filepath, "optimized_model_filepath"); });
}

OrtStatusPtr ORT_API_CALL SetSessionExecutionMode(OrtSessionOptions* options, ExecutionMode execution_mode) noexcept {
  return guard([&] {
    require(execution_mode == ORT_SEQUENTIAL || execution_mode == ORT_PARALLEL, ErrorCode::invalid_argument,
            "execution mode {} does not exist; give ORT_SEQUENTIAL or ORT_PARALLEL", int(execution_mode));
    of(options).parallel_execution = execution_mode == ORT_PARALLEL;
  });
}

OrtStatusPtr ORT_API_CALL GetSessionExecutionMode(const OrtSessionOptions* options, ExecutionMode* out) noexcept {
  return guard([&] {
    need(out, "out") = handle(options, "options").options.parallel_execution ? ORT_PARALLEL : ORT_SEQUENTIAL;
  });
}

OrtStatusPtr ORT_API_CALL EnableProfiling(OrtSessionOptions* options, const char* profile_file_prefix) noexcept {
  return guard([&] {
    of(options).profile_prefix = need_text(profile_file_prefix, "profile_file_prefix");
    of(options).profiling = true;
  });
}

OrtStatusPtr ORT_API_CALL DisableProfiling(OrtSessionOptions* options) noexcept {
  return guard([&] { of(options).profiling = false; });
}

OrtStatusPtr ORT_API_CALL EnableMemPattern(OrtSessionOptions* options) noexcept {
  return guard([&] { of(options).hints.memory_pattern = true; });
}

OrtStatusPtr ORT_API_CALL DisableMemPattern(OrtSessionOptions* options) noexcept {
  return guard([&] { of(options).hints.memory_pattern = false; });
}

OrtStatusPtr ORT_API_CALL GetMemPatternEnabled(const OrtSessionOptions* options, int* out) noexcept {
  return guard([&] { need(out, "out") = handle(options, "options").options.hints.memory_pattern; });
}

OrtStatusPtr ORT_API_CALL EnableCpuMemArena(OrtSessionOptions* options) noexcept {
  return guard([&] { of(options).hints.cpu_arena = true; });
}

OrtStatusPtr ORT_API_CALL DisableCpuMemArena(OrtSessionOptions* options) noexcept {
  return guard([&] { of(options).hints.cpu_arena = false; });
}

OrtStatusPtr ORT_API_CALL SetSessionLogId(OrtSessionOptions* options, const char* logid) noexcept {
  return guard([&] { of(options).log.id = need_text(logid, "logid"); });
}

OrtStatusPtr ORT_API_CALL SetSessionLogVerbosityLevel(OrtSessionOptions* options,
                                                      int session_log_verbosity_level) noexcept {
  return guard([&] { of(options).log.verbosity = session_log_verbosity_level; });
}

OrtStatusPtr ORT_API_CALL SetSessionLogSeverityLevel(OrtSessionOptions* options,
                                                     int session_log_severity_level) noexcept {
  return guard([&] { of(options).log.severity = session_log_severity_level; });
}

OrtStatusPtr ORT_API_CALL SetUserLoggingFunction(OrtSessionOptions* options, OrtLoggingFunction user_logging_function,
                                                 void* user_logging_param) noexcept {
  return guard([&] { of(options).log.sink = sink_of(user_logging_function, user_logging_param); });
}

OrtStatusPtr ORT_API_CALL SetSessionGraphOptimizationLevel(OrtSessionOptions* options,
                                                           GraphOptimizationLevel graph_optimization_level) noexcept {
  return guard([&] {
    const int level = graph_optimization_level;
    require((level >= ORT_DISABLE_ALL && level <= ORT_ENABLE_LAYOUT) || level == ORT_ENABLE_ALL,
            ErrorCode::invalid_argument, "graph optimization level {} does not exist; give 0, 1, 2, 3 or 99", level);
    of(options).optimization = OptimizationLevel(level);
  });
}

OrtStatusPtr ORT_API_CALL SetDeterministicCompute(OrtSessionOptions* options, bool value) noexcept {
  return guard([&] { of(options).hints.deterministic = value; });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetLoadCancellationFlag(OrtSessionOptions* options, bool cancel) noexcept {
  return guard([&] {
    LoadCancellation& loading = *of(options).cancel_load;
    if (cancel) loading.times.fetch_add(1);
    loading.on.store(cancel);
  });
}

OrtStatusPtr ORT_API_CALL SetIntraOpNumThreads(OrtSessionOptions* options, int intra_op_num_threads) noexcept {
  return guard([&] { of(options).threads.intra_threads = intra_op_num_threads; });
}

OrtStatusPtr ORT_API_CALL SetInterOpNumThreads(OrtSessionOptions* options, int inter_op_num_threads) noexcept {
  return guard([&] { of(options).threads.inter_threads = inter_op_num_threads; });
}

OrtStatusPtr ORT_API_CALL DisablePerSessionThreads(OrtSessionOptions* options) noexcept {
  return guard([&] { of(options).own_threads = false; });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetCustomCreateThreadFn(
    OrtSessionOptions* options, OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return guard([&] { handle(options, "options").custom_threads.create = ort_custom_create_thread_fn; });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetCustomThreadCreationOptions(
    OrtSessionOptions* options, void* ort_custom_thread_creation_options) noexcept {
  return guard([&] { handle(options, "options").custom_threads.options = ort_custom_thread_creation_options; });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetCustomJoinThreadFn(
    OrtSessionOptions* options, OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return guard([&] { handle(options, "options").custom_threads.join = ort_custom_join_thread_fn; });
}

OrtStatusPtr ORT_API_CALL AddFreeDimensionOverride(OrtSessionOptions* options, const char* dim_denotation,
                                                   int64_t dim_value) noexcept {
  return guard([&] { of(options).dims_by_denotation[need_text(dim_denotation, "dim_denotation")] = dim_value; });
}

OrtStatusPtr ORT_API_CALL AddFreeDimensionOverrideByName(OrtSessionOptions* options, const char* dim_name,
                                                         int64_t dim_value) noexcept {
  return guard([&] { of(options).dims_by_name[need_text(dim_name, "dim_name")] = dim_value; });
}

OrtStatusPtr ORT_API_CALL AddSessionConfigEntry(OrtSessionOptions* options, const char* config_key,
                                                const char* config_value) noexcept {
  return guard([&] { add_session_entry(of(options), config_key, config_value); });
}

OrtStatusPtr ORT_API_CALL HasSessionConfigEntry(const OrtSessionOptions* options, const char* config_key,
                                                int* out) noexcept {
  return guard([&] {
    need(out, "out") = int(handle(options, "options").options.config.count(need_text(config_key, "config_key")));
  });
}

OrtStatusPtr ORT_API_CALL GetSessionConfigEntry(const OrtSessionOptions* options, const char* config_key,
                                                char* config_value, size_t* size) noexcept {
  return guard([&] {
    const auto& config = handle(options, "options").options.config;
    const auto entry = config.find(need_text(config_key, "config_key"));
    require(entry != config.end(), ErrorCode::invalid_argument,
            "session config entry '{}' was not set; set it, or ask first whether it is", config_key);
    copy_text(entry->second, config_value, size);
  });
}

OrtStatusPtr ORT_API_CALL GetSessionOptionsConfigEntries(const OrtSessionOptions* options,
                                                         OrtKeyValuePairs** out) noexcept {
  return guard(
      [&] { give(out, "out", std::make_unique<OrtKeyValuePairs>(handle(options, "options").options.config)); });
}

}  // namespace retort::abi
