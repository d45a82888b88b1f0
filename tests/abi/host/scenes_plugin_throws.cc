// Release functions of a plug-in that throw: Retort continues. The official library ends the process.
#include <dlfcn.h>

#include <optional>

#include "binder.h"
#include "folder.h"

using scenes::Maker;
using scenes::Scene;

namespace {

/// A complete use of the plug-in of plugins/throwing.cc, whose function `name` throws. Ends the scene if that function
/// was not called, or nothing was logged.
struct Life {
  Life(Scene& scene, const char* name, bool logs = true) : s(scene) {
    void* library = dlopen(RETORT_THROWING_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    next = reinterpret_cast<const char* (*)()>(dlsym(library, "throwing_story"));
    reinterpret_cast<void (*)(const char*)>(dlsym(library, "throwing_set"))(name);
    const OrtLoggingFunction keep = [](void* life, OrtLoggingLevel, const char*, const char*, const char*,
                                       const char* message) { static_cast<Life*>(life)->logged = message; };
    CALL(CreateEnvWithCustomLogger, keep, this, ORT_LOGGING_LEVEL_WARNING, "scenes", &env);
    CALL(RegisterExecutionProviderLibrary, env, "throwing", RETORT_THROWING_PROVIDER);
    run(std::strcmp(name, "profiler") == 0);
    use_stream();
    CALL(UnregisterExecutionProviderLibrary, env, "throwing");
    int count = 0;
    while (const char* line = next())
      count += std::strncmp(line, "throws", 6) == 0 || std::strncmp(line, "fails", 5) == 0;
    s.note("# thrown", count);
    s.note("# last logged", logged);
    // After the official library has ended, notes are not compared.
    if (count == 0 || (logs && logged.empty())) exit(4);
  }

  const OrtEpDevice* device() {
    const OrtEpDevice* const* all = nullptr;
    size_t n = 0;
    CALL(GetEpDevices, env, &all, &n);
    for (size_t i = 0; i < n; ++i)
      if (std::strcmp(s.api.EpDevice_EpName(all[i]), "throwing") == 0) return all[i];
    return nullptr;
  }

  void run(bool profiles) {
    OrtSessionOptions* options = s.options();
    const OrtEpDevice* d = device();
    CALL(SessionOptionsAppendExecutionProvider_V2, options, env, &d, 1, nullptr, nullptr, 0);
    const std::string model =
        Maker().floats_in("x", {2}).node("Neg", {"x"}, {"a"}).node("Neg", {"a"}, {"y"}).floats_out("y", {2}).bytes();
    OrtSession* session = nullptr;
    CALL(CreateSessionFromArray, env, model.data(), model.size(), options, &session);
    OrtRunOptions* how = nullptr;
    CALL(CreateRunOptions, &how);
    std::optional<scenes::Folder> folder;  // the official library ends the process earlier, and the folder remains
    if (profiles) CALL(RunOptionsEnableProfiling, how, (folder.emplace() / "profile").c_str());
    float data[2] = {1, 2};
    const OrtValue* x = scenes::floats(s, data, {2});
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    CALL(Run, session, how, &in, &x, 1, &out, 1, &y);
    scenes::note_value(s, "y", y);
    s.api.ReleaseValue(y);
    s.api.ReleaseRunOptions(how);
    s.api.ReleaseSession(session);
  }

  void use_stream() {
    OrtSyncStream* stream = nullptr;
    CALL(CreateSyncStreamForEpDevice, device(), nullptr, &stream);
    s.note("handle", s.api.SyncStream_GetHandle(stream) != nullptr);
    s.api.ReleaseSyncStream(stream);
  }

  Scene& s;
  OrtEnv* env = nullptr;
  const char* (*next)() = nullptr;
  std::string logged;
};

}  // namespace

#define THROWS(NAME, FUNCTION) \
  SCENE(throws, NAME) { Life(s, FUNCTION); }

THROWS(release_state, "ReleaseState")
THROWS(release_node_compute_infos, "ReleaseNodeComputeInfos")
THROWS(release_kernel, "kernel")
THROWS(release_notification, "notification")
THROWS(release_stream, "stream")
THROWS(release_profiler, "profiler")
THROWS(release_ep, "ReleaseEp")
THROWS(release_allocator, "ReleaseAllocator")
THROWS(free_memory, "Free")
THROWS(release_transfer, "transfer")
THROWS(release_factory, "ReleaseEpFactory")
THROWS(release_factory_fails, "ReleaseEpFactory fails")
SCENE(throws, handle_of_a_stream) { Life(s, "GetHandle", false); }
