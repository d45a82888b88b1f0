#include <atomic>

#include "abi/devices/devices.h"
#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/text.h"

namespace retort::abi {
namespace {
RunOptions& of(OrtRunOptions* options) { return handle(options, "options").options; }
const RunOptions& of(const OrtRunOptions* options) { return handle(options, "options").options; }
}  // namespace

OrtStatusPtr ORT_API_CALL CreateRunOptions(OrtRunOptions** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtRunOptions>()); });
}

void ORT_API_CALL ReleaseRunOptions(OrtRunOptions* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL RunOptionsSetRunLogVerbosityLevel(OrtRunOptions* options, int log_verbosity_level) noexcept {
  return guard([&] { of(options).log_verbosity = log_verbosity_level; });
}

OrtStatusPtr ORT_API_CALL RunOptionsSetRunLogSeverityLevel(OrtRunOptions* options, int log_severity_level) noexcept {
  return guard([&] { of(options).log_severity = log_severity_level; });
}

// A null tag keeps the one that is set, as in the official library.
OrtStatusPtr ORT_API_CALL RunOptionsSetRunTag(OrtRunOptions* options, const char* run_tag) noexcept {
  return guard([&] {
    RunOptions& o = of(options);
    if (run_tag) o.tag = run_tag;
  });
}

OrtStatusPtr ORT_API_CALL RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions* options,
                                                            int* log_verbosity_level) noexcept {
  return guard([&] { need(log_verbosity_level, "log_verbosity_level") = of(options).log_verbosity; });
}

OrtStatusPtr ORT_API_CALL RunOptionsGetRunLogSeverityLevel(const OrtRunOptions* options,
                                                           int* log_severity_level) noexcept {
  return guard([&] { need(log_severity_level, "log_severity_level") = of(options).log_severity; });
}

OrtStatusPtr ORT_API_CALL RunOptionsGetRunTag(const OrtRunOptions* options, const char** run_tag) noexcept {
  return guard([&] { need(run_tag, "run_tag") = of(options).tag.c_str(); });
}

OrtStatusPtr ORT_API_CALL RunOptionsSetTerminate(OrtRunOptions* options) noexcept {
  return guard([&] {
    of(options).terminations.fetch_add(1);
    of(options).terminate.store(true);
  });
}

OrtStatusPtr ORT_API_CALL RunOptionsUnsetTerminate(OrtRunOptions* options) noexcept {
  return guard([&] { of(options).terminate.store(false, std::memory_order_relaxed); });
}

OrtStatusPtr ORT_API_CALL AddRunConfigEntry(OrtRunOptions* options, const char* config_key,
                                            const char* config_value) noexcept {
  return guard([&] {
    static std::atomic<uint64_t> last{0};
    add_config_entry(of(options).config, config_key, config_value);
    options->options.config_stamp = last.fetch_add(1) + 1;
  });
}

const char* ORT_API_CALL GetRunConfigEntry(const OrtRunOptions* options, const char* config_key) noexcept {
  const char* found = nullptr;
  ReleaseStatus(guard([&] {
    const auto& config = of(options).config;
    const auto entry = config.find(need_text(config_key, "config_key"));
    if (entry != config.end()) found = entry->second.c_str();
  }));
  return found;
}

OrtStatusPtr ORT_API_CALL RunOptionsEnableProfiling(OrtRunOptions* options, const char* profile_file_prefix) noexcept {
  return guard([&] {
    of(options).profile_prefix = need_text(profile_file_prefix, "profile_file_prefix");
    of(options).profiling = true;
  });
}

OrtStatusPtr ORT_API_CALL RunOptionsDisableProfiling(OrtRunOptions* options) noexcept {
  return guard([&] { of(options).profiling = false; });
}

void ORT_API_CALL RunOptionsSetSyncStream(OrtRunOptions* options, OrtSyncStream* sync_stream) noexcept {
  if (!options || options->tag != OrtRunOptions::kTag) return;
  const bool given = sync_stream && sync_stream->tag == OrtSyncStream::kTag;
  options->options.stream = given ? sync_stream->stream : nullptr;
}

}  // namespace retort::abi
