// What kernels of custom operators reach in the session: its log, and the outputs that a caller gave.
#include <algorithm>
#include <mutex>

#include "binder.h"
#include "custom.h"

using namespace scenes;

namespace {

std::mutex mutex;
std::vector<std::string> heard;

void ORT_API_CALL hear(void*, OrtLoggingLevel severity, const char*, const char* id, const char*, const char* message) {
  const std::string text = message;
  const size_t at = text.find("the kernel says");
  if (at == std::string::npos) return;
  const std::lock_guard lock(mutex);
  heard.push_back(std::to_string(severity) + " " + id + ": " + text.substr(at));
}

void say(const OrtLogger* logger, const char* when) {
  OrtLoggingLevel level = ORT_LOGGING_LEVEL_FATAL;
  NOTED(Logger_GetLoggingSeverityLevel, logger, &level);
  scene->note("level", level);
  for (const int severity : {0, 1, 2, 3, 4}) {
    const std::string text = std::string("the kernel says ") + when + " " + std::to_string(severity);
    NOTED(Logger_LogMessage, logger, OrtLoggingLevel(severity), text.c_str(), "kernel.cc", 7, "say");
  }
}

OrtStatus* copy(OrtKernelContext* context) {
  const auto [x, shape, y] = LikeInput(context);
  void* to = nullptr;
  NOTED(GetTensorMutableData, y, &to);
  std::copy_n(floats_of(x), count_of(shape), static_cast<float*>(to));
  return nullptr;
}

/// A session whose log calls hear(), and a run with a level and a tag of its own. `id`: of the session's log; null: none
/// is set.
void log_at(Scene& s, int level, int run_level = -1, const char* tag = nullptr, const char* id = "mine",
            bool of_session = true) {
  heard.clear();
  Op op("Fails", {{kFloat}}, {{kFloat}});
  op.create = [](const OrtKernelInfo* info) {
    const OrtLogger* logger = nullptr;
    NOTED(KernelInfo_GetLogger, info, &logger);
    say(logger, "when it is made");
  };
  op.compute = [](OrtKernelContext* context) {
    const OrtLogger* logger = nullptr;
    NOTED(KernelContext_GetLogger, context, &logger);
    say(logger, "when it runs");
    return copy(context);
  };
  scene = &s;
  api = &s.api;
  OrtCustomOpDomain* domain = nullptr;
  OrtSessionOptions* options = s.options();
  CALL(CreateCustomOpDomain, "test", &domain);
  CALL(CustomOpDomain_Add, domain, &op);
  CALL(AddCustomOpDomain, options, domain);
  if (of_session) CALL(SetUserLoggingFunction, options, hear, nullptr);
  if (id) CALL(SetSessionLogId, options, id);
  CALL(SetSessionLogSeverityLevel, options, level);
  OrtSession* session = open(s, "custom_fails", options);
  float data[6] = {1, 2, 3, 4, 5, 6};
  OrtRunOptions* of_run = nullptr;
  CALL(CreateRunOptions, &of_run);
  CALL(RunOptionsSetRunLogSeverityLevel, of_run, run_level);
  if (tag) CALL(RunOptionsSetRunTag, of_run, tag);
  const char *in = "x", *out = "y";
  const OrtValue* x = floats(s, data, {2, 3});
  OrtValue* y = nullptr;
  CALL(Run, session, of_run, &in, &x, 1, &out, 1, &y);
  s.api.ReleaseValue(y);
  s.api.ReleaseRunOptions(of_run);
  s.api.ReleaseSession(session);
  for (const std::string& line : heard) s.note("heard", line);
}

/// The address and the content of an output, before the kernel makes it.
OrtStatus* peek(OrtKernelContext* context) {
  for (const size_t index : {0, 1}) {
    OrtValue* given = nullptr;
    NOTED(KernelContext_GetPreallocatedOutput, context, index, &given);
    scene->note("preallocated", static_cast<const void*>(given));
    if (given) note_tensor(*scene, "preallocated", given);
  }
  return copy(context);
}

}  // namespace

SCENE(custom_calls, logs_everything) { log_at(s, ORT_LOGGING_LEVEL_VERBOSE); }
SCENE(custom_calls, logs_warnings) { log_at(s, ORT_LOGGING_LEVEL_WARNING); }
SCENE(custom_calls, logs_errors) { log_at(s, ORT_LOGGING_LEVEL_ERROR); }
SCENE(custom_calls, logs_less_in_a_run) { log_at(s, ORT_LOGGING_LEVEL_VERBOSE, ORT_LOGGING_LEVEL_ERROR, "first"); }
SCENE(custom_calls, logs_more_in_a_run) { log_at(s, ORT_LOGGING_LEVEL_ERROR, ORT_LOGGING_LEVEL_INFO); }
SCENE(custom_calls, logs_the_tag_of_a_run) { log_at(s, ORT_LOGGING_LEVEL_WARNING, -1, "second"); }
SCENE(custom_calls, logs_beyond_the_levels) { log_at(s, ORT_LOGGING_LEVEL_WARNING, 9, ""); }

// The ids that the log of an environment and that of a session have, with and without the tag of a run.
SCENE(custom_calls, logs_ids) {
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithCustomLogger, hear, nullptr, ORT_LOGGING_LEVEL_WARNING, "environment", &env);
  for (const bool of_session : {false, true}) {
    for (const char* id : {static_cast<const char*>(nullptr), "", "mine"}) {
      for (const char* tag : {static_cast<const char*>(nullptr), "", "tag"})
        log_at(s, ORT_LOGGING_LEVEL_FATAL, -1, tag, id, of_session);
    }
  }
  s.api.ReleaseEnv(env);
}
SCENE(custom_calls, logs_ids_of_the_session_alone) {
  OrtEnv* env = nullptr;
  CALL(CreateEnv, ORT_LOGGING_LEVEL_WARNING, "environment", &env);
  for (const char* id : {static_cast<const char*>(nullptr), "mine"}) {
    for (const char* tag : {static_cast<const char*>(nullptr), "tag"}) log_at(s, ORT_LOGGING_LEVEL_FATAL, -1, tag, id);
  }
  s.api.ReleaseEnv(env);
}

SCENE(custom_calls, preallocated_outputs) {
  Op op("Fails", {{kFloat}}, {{kFloat}});
  op.compute = peek;
  OrtSession* session = open_with(s, "custom_fails", {&op});
  float data[6] = {1, 2, 3, 4, 5, 6}, y[6] = {7, 7, 7, 7, 7, 7};
  const OrtValue* x = floats(s, data, {2, 3});
  const char *in = "x", *out = "y";
  for (OrtValue* given : {static_cast<OrtValue*>(nullptr), const_cast<OrtValue*>(floats(s, y, {2, 3}))}) {
    OrtValue* result = given;
    CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &result);
    s.note("the same", result == given);
    if (result) note_tensor(s, "y", result);
  }
  Binder b(s, session);
  b.in("x", x);
  b.out("y", floats(s, y, {2, 3}));
  b.run_and_note();
  b.out("y");
  b.run_and_note();
}
