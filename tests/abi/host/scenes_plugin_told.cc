// The information that the host gives a plug-in about its kernels, their nodes and their runs, and how a program sees a
// device that a plug-in created.
#include <dlfcn.h>

#include "binder.h"

using scenes::Maker;
using scenes::Scene;

namespace {

/// The plug-in of plugins/describing.cc.
struct Describing {
  explicit Describing(Scene& scene, OrtEnv* in) : s(scene), env(in) {
    void* library = dlopen(RETORT_DESCRIBING_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    next = reinterpret_cast<const char* (*)()>(dlsym(library, "describing_story"));
    CALL(RegisterExecutionProviderLibrary, env, "describing", RETORT_DESCRIBING_PROVIDER);
  }

  const OrtEpDevice* device() {
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    CALL(GetEpDevices, env, &all, &count);
    for (size_t i = 0; i < count; ++i)
      if (std::string("describing") == s.api.EpDevice_EpName(all[i])) return all[i];
    return nullptr;
  }

  /// y = x · w, where `w` stays on the host.
  OrtSession* open() { return open(s.options()); }
  OrtSession* open(OrtSessionOptions* options) {
    const OrtEpDevice* d = device();
    CALL(AddSessionConfigEntry, options, "tests.of_the_session", "yes");
    CALL(SetSessionGraphOptimizationLevel, options, ORT_DISABLE_ALL);
    CALL(SessionOptionsAppendExecutionProvider_V2, options, env, &d, 1, nullptr, nullptr, 0);
    const std::string model = Maker()
                                  .floats_in("x", {2})
                                  .floats("w", {2}, {3, 4})
                                  .node("Mul", {"x", "w"}, {"y"})
                                  .floats_out("y", {2})
                                  .bytes();
    OrtSession* session = nullptr;
    CALL(CreateSessionFromArray, env, model.data(), model.size(), options, &session);
    note("session");
    return session;
  }

  void run(OrtSession* session, const OrtRunOptions* options = nullptr) {
    float data[2] = {1, 2};
    const OrtValue* x = scenes::floats(s, data, {2});
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    CALL(Run, session, options, &in, &x, 1, &out, 1, &y);
    scenes::note_value(s, "y", y);
    s.api.ReleaseValue(y);
    note("run");
  }

  void note(std::string_view when) {
    s.note("after", when);
    while (const char* line = next()) s.note("told", line);
  }

  Scene& s;
  OrtEnv* const env;
  const char* (*next)() = nullptr;
};

}  // namespace

SCENE(told, of_kernels_and_runs) {
  Describing d(s, s.env());
  OrtSession* session = d.open();
  if (session) d.run(session);
  s.api.ReleaseSession(session);
  CALL(UnregisterExecutionProviderLibrary, s.env(), "describing");
  d.note("unregistered");
}

SCENE(told, of_a_device_that_a_plugin_made_up) {
  Describing d(s, s.env());
  const OrtEpDevice* device = d.device();
  if (!device) return s.note("device", 0);
  const OrtHardwareDevice* hardware = s.api.EpDevice_Device(device);
  s.note("type", int(s.api.HardwareDevice_Type(hardware)));
  s.note("vendor", s.api.HardwareDevice_Vendor(hardware));
  s.note("ids", s.api.HardwareDevice_VendorId(hardware) * 1000 + s.api.HardwareDevice_DeviceId(hardware));
  const char* made = s.api.GetKeyValue(s.api.HardwareDevice_Metadata(hardware), "made");
  s.note("made", made ? made : "null");
  CALL(UnregisterExecutionProviderLibrary, s.env(), "describing");
}

// Log messages of kernels reach the program's function, at the levels that it set.
SCENE(told, what_kernels_log_is_heard) {
  std::vector<std::string> heard;
  OrtThreadingOptions* threads = nullptr;
  OrtEnv* env = nullptr;
  CALL(CreateThreadingOptions, &threads);
  CALL(SetGlobalIntraOpNumThreads, threads, 1);
  const auto listen = [](void* to, OrtLoggingLevel level, const char*, const char*, const char*, const char* text) {
    if (std::string(text).find("heard") == std::string::npos) return;
    static_cast<std::vector<std::string>*>(to)->push_back(std::to_string(level) + " " + text);
  };
  CALL(CreateEnvWithCustomLoggerAndGlobalThreadPools, listen, &heard, ORT_LOGGING_LEVEL_WARNING, "told", threads, &env);
  s.api.ReleaseThreadingOptions(threads);
  Describing d(s, env);
  OrtSession* session = d.open();
  if (session) d.run(session);
  s.api.ReleaseSession(session);
  CALL(UnregisterExecutionProviderLibrary, env, "describing");
  s.api.ReleaseEnv(env);
  for (const std::string& line : heard) s.note("heard", line);
}

// A kernel logs at the level of the session when it is made, and at that of the run, with the run's tag, when it runs.
SCENE(told, levels_and_tags_of_runs) {
  std::vector<std::string> heard;
  const auto listen = [](void* to, OrtLoggingLevel level, const char*, const char* id, const char*, const char* text) {
    if (std::string(text).find("heard") == std::string::npos) return;
    static_cast<std::vector<std::string>*>(to)->push_back(std::to_string(level) + " " + id + ": " + text);
  };
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithCustomLogger, listen, &heard, ORT_LOGGING_LEVEL_ERROR, "environment", &env);
  Describing d(s, env);
  for (const bool named : {false, true}) {
    OrtSessionOptions* options = s.options();
    if (named) CALL(SetSessionLogId, options, "mine");
    CALL(SetSessionLogSeverityLevel, options, named ? ORT_LOGGING_LEVEL_FATAL : ORT_LOGGING_LEVEL_WARNING);
    OrtSession* session = d.open(options);
    for (const int level : {-1, 0, 2, 4}) {
      for (const char* tag : {"", "tag"}) {
        OrtRunOptions* of_run = nullptr;
        CALL(CreateRunOptions, &of_run);
        CALL(RunOptionsSetRunLogSeverityLevel, of_run, level);
        CALL(RunOptionsSetRunTag, of_run, tag);
        if (session) d.run(session, of_run);
        s.api.ReleaseRunOptions(of_run);
      }
    }
    s.api.ReleaseSession(session);
  }
  CALL(UnregisterExecutionProviderLibrary, env, "describing");
  s.api.ReleaseEnv(env);
  for (const std::string& line : heard) s.note("heard", line);
}
