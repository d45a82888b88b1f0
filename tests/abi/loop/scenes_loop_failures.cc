// The loopback provider: each of its entry points fails once, or every time. The error is reported, nothing crashes,
// and afterwards everything works.
#include "loop/loop.h"

using namespace scenes;

namespace {

Maker model() {
  return Maker()
      .floats_in("x", {2})
      .floats("w", {2}, {3, 4})
      .node("Mul", {"x", "w"}, {"a"})
      .node("Abs", {"a"}, {"b"})
      .node("Neg", {"b"}, {"y"})
      .floats_out("y", {2});
}

/// One step of a scene that may fail. The failing call and its code differ between libraries; that the error is
/// reported, and the state afterwards, is compared.
bool succeeds(Scene& s, const char* step, OrtStatus* status) {
  s.note("# code", status ? s.api.GetErrorCode(status) : ORT_OK);
  if (status) s.note("# message", s.api.GetErrorMessage(status));
  s.note(step, status ? "error" : "success");
  s.api.ReleaseStatus(status);
  return !status;
}

/// A bound run from the host to the host. Its result is not noted if a library may hit the error without reporting it,
/// since it then varies.
void bound_run(Scene& s, OrtSession* session, const char* step, bool looks) {
  OrtIoBinding* binding = nullptr;
  float x[2] = {1, -2};
  const float wanted[2] = {-3, -8};
  OrtMemoryInfo* cpu = nullptr;
  OrtValue** y = nullptr;
  size_t n = 0;
  OrtAllocator* allocator = nullptr;
  const OrtApi& api = s.api;
  OrtValue* in = floats(s, x, {2});
  api.ReleaseStatus(api.GetAllocatorWithDefaultOptions(&allocator));
  api.ReleaseStatus(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  OrtStatus* status = api.CreateIoBinding(session, &binding);
  if (!status) status = api.BindInput(binding, "x", in);
  if (!status) status = api.BindOutputToDevice(binding, "y", cpu);
  if (!status) status = api.RunWithBinding(session, nullptr, binding);
  if (succeeds(s, step, status)) {
    const void* data = nullptr;
    api.ReleaseStatus(api.GetBoundOutputValues(binding, allocator, &y, &n));
    if (n) api.ReleaseStatus(api.GetTensorData(y[0], &data));
    const bool right = data && std::memcmp(data, wanted, sizeof wanted) == 0;
    s.note("result", !looks ? "some" : right ? "right" : "wrong");
    for (size_t i = 0; i < n; ++i) api.ReleaseValue(y[i]);
  } else {
    s.note("result", "none");
  }
  api.ReleaseIoBinding(binding);
  api.ReleaseValue(in);
  api.ReleaseMemoryInfo(cpu);
}

/// What an application does, from the registration of the library to reading results. The number of lines is always the
/// same.
void all_of_it(Scene& s, Loop& loop, bool looks) {
  const bool here = loop.device() != nullptr;
  succeeds(s, "registering",
           here ? nullptr : s.api.RegisterExecutionProviderLibrary(s.env(), "loop", RETORT_LOOPBACK_PROVIDER));
  OrtSyncStream* stream = nullptr;
  OrtSession* session = nullptr;
  if (const OrtEpDevice* device = loop.device()) {
    succeeds(s, "a stream", s.api.CreateSyncStreamForEpDevice(device, nullptr, &stream));
    s.api.ReleaseSyncStream(stream);
    OrtSessionOptions* options = loop.options();
    const std::string made = model().bytes();
    succeeds(s, "a session", s.api.CreateSessionFromArray(s.env(), made.data(), made.size(), options, &session));
    s.api.ReleaseSessionOptions(options);
  } else {
    for (const char* line : {"a stream", "CreateSessionOptions", "AppendExecutionProvider", "a session"})
      s.note(line, "-");
  }
  for (const char* step : {"the first run", "the second run"}) {
    if (session) {
      bound_run(s, session, step, looks);
    } else {
      for (const char* line : {"CreateCpuMemoryInfo", "tensor", step, "result"}) s.note(line, "-");
    }
  }
  s.api.ReleaseSession(session);
}

void fails(Scene& s, const char* where) {
  Loop loop(s, {{"delay_us", "2000"}}, false);
  loop.set("fail", where);
  const std::string_view entry = where;
  all_of_it(s, loop, entry != "Activate" && entry != "WaitOnHost");
  loop.set("fail", "");
  s.note("then", "all succeeds");
  all_of_it(s, loop, true);
}

/// "Compute:2": the second run of a part fails, the others do not.
template <int I>
struct Entry;
#define ENTRY(I, NAME)                        \
  template <>                                 \
  struct Entry<I> {                           \
    static constexpr const char* name = NAME; \
  };
ENTRY(0, "CreateEpFactories")
ENTRY(1, "GetSupportedDevices")
ENTRY(2, "CreateAllocator")
ENTRY(3, "CreateDataTransfer")
ENTRY(4, "CreateEp")
ENTRY(5, "GetCapability")
ENTRY(6, "Compile")
ENTRY(7, "CreateState")
ENTRY(8, "GetDefaultMemoryDevice")
ENTRY(9, "CreateSyncStreamForDevice")
ENTRY(10, "Alloc")
ENTRY(11, "Copy")
ENTRY(12, "OnRunStart")
ENTRY(13, "OnRunEnd")
ENTRY(14, "Compute")
ENTRY(15, "Compute:2")
ENTRY(16, "Compute:3")
ENTRY(17, "Kernel")
ENTRY(18, "Kernel:3")
ENTRY(19, "CreateNotification")
ENTRY(20, "Activate")
ENTRY(21, "WaitOnHost")
ENTRY(22, "WaitOnDevice")
ENTRY(23, "Flush")
ENTRY(24, "OnSessionRunEnd")
ENTRY(25, "Sync")
ENTRY(26, "Copy:2")
ENTRY(27, "Alloc:2")
#undef ENTRY
constexpr int kEntries = 28;

template <int I>
void add() {
  if constexpr (I < kEntries) {
    std::string name = Entry<I>::name;
    if (const size_t colon = name.find(':'); colon != std::string::npos) name.replace(colon, 1, "_number_");
    registry().push_back({"loopback.fails_in_" + name, [](Scene& s) { fails(s, Entry<I>::name); }});
    add<I + 1>();
  }
}
const bool added = (add<0>(), true);

}  // namespace

SCENE(loopback, an_error_in_the_middle_and_recovery) {
  Loop loop(s);
  Binder b(s, model(), loop.options());
  b.in("x", loop.tensor(Where::device, {2}, {1, -2}));
  b.out("y", loop.empty(Where::device, {2}));
  for (const char* fail : {"", "Compute", "", "Kernel", "", "Copy", ""}) {
    loop.set("fail", fail);
    loop.forget();
    b.run();
    s.note("parts that ran", loop.counts().runs > 0);
  }
  loop.set("fail", "");
  b.run();
  loop.note(b);
}

SCENE(loopback, unregistered_and_registered_again) {
  Loop loop(s);
  OrtSession* session = model().open(s, loop.options());
  s.api.ReleaseSession(session);
  CALL(UnregisterExecutionProviderLibrary, s.env(), "loop");
  s.note("device", static_cast<const void*>(loop.device()));
  loop.registers();
  s.note("device", static_cast<const void*>(loop.device()));
  session = model().open(s, loop.options());
  s.note("session", static_cast<const void*>(session));
}

SCENE(loopback, options_while_the_session_runs) {
  Loop loop(s);
  OrtSession* session = model().open(s, loop.options());
  const char *key = "delay_us", *good = "10", *bad = "soon";
  CALL(SetEpDynamicOptions, session, &key, &good, 1);
  CALL(SetEpDynamicOptions, session, &key, &bad, 1);
}

// The environment's options apply to the library from its registration on.
SCENE(loopback, options_of_the_environment) {
  Loop loop(s, {}, false);
  for (const char* value : {"12", "soon"}) {
    OrtKeyValuePairs* entries = nullptr;
    s.api.CreateKeyValuePairs(&entries);
    s.api.AddKeyValuePair(entries, "ep_factory.loop.delay_us", value);
    const OrtEnvCreationOptions options{ORT_API_VERSION, ORT_LOGGING_LEVEL_FATAL, "scene", nullptr, nullptr, nullptr,
                                        entries};
    OrtEnv* env = nullptr;
    CALL(CreateEnvWithOptions, &options, &env);
    s.api.ReleaseKeyValuePairs(entries);
    CALL(RegisterExecutionProviderLibrary, env, "loop", RETORT_LOOPBACK_PROVIDER);
    CALL(UnregisterExecutionProviderLibrary, env, "loop");
    s.api.ReleaseEnv(env);
  }
}
