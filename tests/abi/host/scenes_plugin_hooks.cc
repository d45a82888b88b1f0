// Calls of plug-in providers besides runs of parts: each scene notes the calls that they received.
#include <algorithm>
#include <fstream>
#include <thread>

#include "binder.h"
#include "folder.h"
#include "host/telling.h"
#include "retort/onnxruntime_ep_c_api.h"

using namespace scenes;

namespace {

Maker negation() { return Maker().floats_in("x", {2}).floats_out("y", {2}).node("Neg", {"x"}, {"y"}); }

void run(Scene& s, OrtSession* session, const OrtRunOptions* options = nullptr) {
  float x[2] = {1, -2};
  const OrtValue* in = floats(s, x, {2});
  const char *name = "x", *out = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, options, &name, &in, 1, &out, 1, &y);
  if (y) note_tensor(s, "y", y);
  s.api.ReleaseValue(y);
}

}  // namespace

SCENE(plugin_hooks, incompatibility) {
  const OrtEpDevice* d = loaded(s);
  OrtDeviceEpIncompatibilityDetails* details = nullptr;
  CALL(GetHardwareDeviceEpIncompatibilityDetails, s.env(), "telling", s.api.EpDevice_Device(d), &details);
  note_story(s, {"GetHardware"});
  note_details(s, details);
  const OrtEpApi& ep = *s.api.GetEpApi();
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    s.call("SetDetails", ep.DeviceEpIncompatibilityDetails_SetDetails(details, 0x80000000u | 8u, -5, text));
    note_details(s, details);
  }
  s.api.ReleaseDeviceEpIncompatibilityDetails(details);
}

// The inputs of a part's graph are those of its node: they include constants, unless the plug-in drops them.
SCENE(plugin_hooks, inputs_of_parts) {
  loaded(s);
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .floats("v", {2}, {3, 4})
                          .floats("w", {2}, {5, 6})
                          .node("Mul", {"v", "x"}, {"a"})
                          .node("Neg", {"a"}, {"b"})
                          .node("Mul", {"b", "w"}, {"c"})
                          .node("Mul", {"c", "v"}, {"d"})
                          .node("Add", {"d", "w"}, {"y"})
                          .floats_out("y", {2});
  for (const std::vector<const char*>& choices :
       {std::vector<const char*>{"slow"}, {"products"}, {"products", "drop_constants"}}) {
    s.note("choice", choices.back());
    OrtSession* session = model.open(s, with_provider(s, choices));
    note_story(s, {"part"});
    s.api.ReleaseSession(session);
  }
}

// A provider's messages go to the log of its session, at that log's level.
SCENE(plugin_hooks, log_of_session) {
  loaded(s);
  for (const OrtLoggingLevel level : {ORT_LOGGING_LEVEL_INFO, ORT_LOGGING_LEVEL_WARNING}) {
    OrtSessionOptions* o = with_provider(s);
    std::vector<std::string> lines;
    CALL(SetSessionLogSeverityLevel, o, level);
    CALL(SetSessionLogId, o, "its own");
    const OrtLoggingFunction hear = [](void* to, OrtLoggingLevel severity, const char*, const char* id, const char*,
                                       const char* line) {
      if (std::string_view(line) == "a provider is made")
        static_cast<std::vector<std::string>*>(to)->push_back(std::to_string(severity) + " " + id);
    };
    CALL(SetUserLoggingFunction, o, hear, &lines);
    s.api.ReleaseSession(negation().open(s, o));
    s.note("lines", lines.size());
    for (const std::string& line : lines) s.note("line", line.c_str());
  }
}

SCENE(plugin_hooks, tensor_types) {
  s.env();
  const OrtEpApi& ep = *s.api.GetEpApi();
  std::vector<const OrtDataType*> seen;
  for (int type = -1; type < 30; ++type) {
    const OrtDataType *made = nullptr, *again = nullptr;
    OrtStatus* status = ep.GetTensorDataType(ONNXTensorElementDataType(type), &made);
    const int code = status ? s.api.GetErrorCode(status) : ORT_OK;
    s.api.ReleaseStatus(status);
    s.api.ReleaseStatus(ep.GetTensorDataType(ONNXTensorElementDataType(type), &again));
    const bool other = made && std::find(seen.begin(), seen.end(), made) == seen.end();
    s.note("type " + std::to_string(type), std::to_string(code) + (made ? " made" : "") +
                                               (made == again ? ", the same again" : "") +
                                               (other ? ", of no other" : ""));
    if (made) seen.push_back(made);
  }
}

SCENE(plugin_hooks, ids_of_streams) {
  const OrtEpDevice* d = loaded(s);
  const OrtEpApi& ep = *s.api.GetEpApi();
  OrtSyncStream *a = nullptr, *b = nullptr;
  CALL(CreateSyncStreamForEpDevice, d, nullptr, &a);
  CALL(CreateSyncStreamForEpDevice, d, nullptr, &b);
  const auto note = [&] {
    s.note("a by b", ep.GetSyncIdForLastWaitOnSyncStream(a, b));
    s.note("b by a", ep.GetSyncIdForLastWaitOnSyncStream(b, a));
    s.note("a by a", ep.GetSyncIdForLastWaitOnSyncStream(a, a));
  };
  s.note("a", ep.SyncStream_GetSyncId(a));
  s.note("b", ep.SyncStream_GetSyncId(b));
  note();
  OrtSession* session = negation().open(s, with_provider(s));
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  for (OrtSyncStream* stream : {a, a, b}) {
    const uint64_t before = ep.SyncStream_GetSyncId(stream);
    s.api.RunOptionsSetSyncStream(options, stream);
    run(s, session, options);
    note();
    s.note("ids only grow", ep.SyncStream_GetSyncId(stream) >= before);
  }
  CALL(AddRunConfigEntry, options, "disable_synchronize_execution_providers", "1");
  for (OrtSyncStream* stream : {a, b}) {
    s.api.RunOptionsSetSyncStream(options, stream);
    run(s, session, options);
  }
  const uint64_t waited = ep.GetSyncIdForLastWaitOnSyncStream(a, b);
  s.note("b came after a", waited > 0 && waited <= ep.SyncStream_GetSyncId(a));
  s.note("b by a", ep.GetSyncIdForLastWaitOnSyncStream(b, a));
  s.api.ReleaseSession(session);
  s.api.ReleaseSyncStream(a);
  s.api.ReleaseSyncStream(b);
}

SCENE(plugin_hooks, runs) {
  loaded(s);
  OrtSession* session = negation().open(s, with_provider(s));
  note_story(s, {"On", "IsConcurrent", "Compile"});
  run(s, session);
  note_story(s, {"OnRun"});
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  CALL(RunOptionsSetRunTag, options, "third run");
  CALL(AddRunConfigEntry, options, "tests.key", "told");
  run(s, session, options);
  note_story(s, {"OnRun"});
  s.api.ReleaseSession(session);
  note_story(s, {"ReleaseEp"});
}

SCENE(plugin_hooks, session_refused_at_its_end) {
  loaded(s);
  s.note("session", static_cast<const void*>(negation().open(s, with_provider(s, {"refuse_session"}))));
  note_story(s, {"On", "Compile", "ReleaseEp"});
}

SCENE(plugin_hooks, dynamic_options) {
  loaded(s);
  OrtSession* session = negation().open(s, with_provider(s));
  const char *keys[] = {"ep.dynamic.workload_type", "any"}, *values[] = {"Efficient", "thing"};
  CALL(SetEpDynamicOptions, session, keys, values, 2);
  CALL(SetEpDynamicOptions, session, keys, values, 1);
  CALL(SetEpDynamicOptions, session, keys, values, 0);
  note_story(s, {"Set"});
  session = negation().open(s, with_provider(s, {"refuse_options"}));
  CALL(SetEpDynamicOptions, session, keys, values, 2);
  note_story(s, {"Set"});
}

SCENE(plugin_hooks, runs_at_once) {
  loaded(s);
  for (const char* how : {"serial", "slow"}) {
    OrtSession* session = negation().open(s, with_provider(s, {"slow", how}));
    float x[4][2] = {};
    OrtValue *in[4] = {}, *y[4] = {};
    for (int i = 0; i < 4; ++i) in[i] = floats(s, x[i], {2});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const char *name = "x", *out = "y";
        const OrtValue* one = in[i];
        s.api.ReleaseStatus(s.api.Run(session, nullptr, &name, &one, 1, &out, 1, &y[i]));
      });
    }
    for (std::thread& t : threads) t.join();
    for (OrtValue* one : y) s.note("ran", static_cast<const void*>(one));
    if (std::strcmp(how, "serial") == 0) s.note("at once", of_plugin<int (*)()>("plugin_most_at_once")());
  }
}

namespace {

/// Calls that concern profiles, and the events that are the same in both engines.
const std::vector<std::string_view> kProfile = {"CreateProfiler",
                                                "StartProfiling",
                                                "EndProfiling",
                                                "profiler",
                                                "event of category 1",
                                                "event of category 0 name session_initialization",
                                                "event of category 0 name model_run"};

/// The lines of a profile about a kernel of the plug-in, without the parts that change from run to run.
void note_profile(Scene& s, const std::string& path) {
  std::ifstream in(path);
  s.note("profile", in.good());
  for (std::string line; std::getline(in, line);) {
    if (line.find("kernel of a test") == std::string::npos) continue;
    // The official library writes spaces around colons, and no comma after the last event.
    std::string text;
    bool quoted = false;
    for (const char c : line.substr(0, line.rfind('}') + 1)) {
      if (c == '"') quoted = !quoted;
      if (quoted || c != ' ') text += c;
    }
    s.note("event", text);
  }
}

/// One part for the device, one node for the CPU.
Maker two_branches() { return negation().floats_in("a", {2}).floats_out("b", {2}).node("Abs", {"a"}, {"b"}); }

}  // namespace

SCENE(plugin_hooks, profile) {
  loaded(s);
  OrtSessionOptions* o = with_provider(s);
  const Folder folder;
  CALL(EnableProfiling, o, (folder / "profile").c_str());
  OrtSession* session = two_branches().open(s, o);
  note_story(s, kProfile);
  float x[2] = {1, -2};
  const OrtValue* in[2] = {floats(s, x, {2}), floats(s, x, {2})};
  const char *names[2] = {"x", "a"}, *outs[2] = {"y", "b"};
  OrtValue* y[2] = {};
  for (int i = 0; i < 2; ++i) CALL(Run, session, nullptr, names, in, 2, outs, 2, y);
  note_story(s, kProfile);
  char* path = nullptr;
  CALL(SessionEndProfiling, session, s.allocator(), &path);
  note_story(s, kProfile);
  note_profile(s, path);
  s.api.ReleaseSession(session);
  note_story(s, kProfile);
}

SCENE(plugin_hooks, profile_of_a_run) {
  loaded(s);
  OrtSession* session = two_branches().open(s, with_provider(s));
  float x[2] = {1, -2};
  const OrtValue* in[2] = {floats(s, x, {2}), floats(s, x, {2})};
  const char *names[2] = {"x", "a"}, *outs[2] = {"y", "b"};
  OrtValue* y[2] = {};
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  const Folder folder;
  CALL(RunOptionsEnableProfiling, options, (folder / "profile").c_str());
  CALL(Run, session, options, names, in, 2, outs, 2, y);
  // The official library also makes one for the session, which has no events.
  note_story(s, {kProfile.begin() + 1, kProfile.end()});
}

SCENE(plugin_hooks, provider_without_a_profiler) {
  loaded(s);
  OrtSessionOptions* o = with_provider(s, {"no_profiler"});
  const Folder folder;
  CALL(EnableProfiling, o, (folder / "profile").c_str());
  OrtSession* session = negation().open(s, o);
  run(s, session);
  char* path = nullptr;
  CALL(SessionEndProfiling, session, s.allocator(), &path);
  note_story(s, kProfile);
  note_profile(s, path);
}

SCENE(plugin_hooks, compatibility) {
  const OrtEpDevice* d = loaded(s);
  for (const char* info : {"fits device 7", "other", "broken", ""}) {
    OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility(77);
    CALL(GetModelCompatibilityForEpDevices, &d, 1, info, &answer);
    s.note("answer", answer);
    note_story(s, {"Validate"});
  }
  const OrtEpDevice* twice[2] = {d, d};
  OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility(77);
  CALL(GetModelCompatibilityForEpDevices, twice, 2, "fits device 7", &answer);
  s.note("answer", answer);
  note_story(s, {"Validate"});
  negation().open(s, with_provider(s));
  note_story(s, {"GetCompiled", "Validate"});
}

SCENE(plugin_hooks, compiled_for_another) {
  loaded(s);
  for (const char* strict : {"0", "1"}) {
    for (const char* note : {"fits device 7", "recompile", "other", "broken", "", "unknown"}) {
      OrtSessionOptions* o = with_provider(s);
      CALL(AddSessionConfigEntry, o, "session.fail_on_suboptimal_compiled_model", strict);
      const Maker model = negation().metadata("ep_compatibility_info.telling", note);
      s.note(note, static_cast<const void*>(model.open(s, o)));
      note_story(s, {"Validate"});
    }
  }
  const Maker others = negation().metadata("ep_compatibility_info.nobody", "other");
  s.note("session", static_cast<const void*>(others.open(s, with_provider(s))));
  note_story(s, {"Validate"});
}

SCENE(plugin_hooks, operators_of_a_provider) {
  loaded(s);
  const Maker model = Maker()
                          .import("tests.telling", 1)
                          .floats_in("x", {2})
                          .floats_out("y", {2})
                          .node("Twice", {"x"}, {"y"}, {}, "tests.telling");
  s.note("without it", static_cast<const void*>(model.open(s)));
  OrtSessionOptions* o = with_provider(s);
  note_story(s, {"GetCustom"});
  run(s, model.open(s, o));
  note_story(s, {"GetCustom"});
  const OrtEpDevice* d = telling(s);
  OrtSessionOptions* twice = with_provider(s);
  CALL(SessionOptionsAppendExecutionProvider_V2, twice, s.env(), &d, 1, nullptr, nullptr, 0);
  note_story(s, {"GetCustom"});
}
