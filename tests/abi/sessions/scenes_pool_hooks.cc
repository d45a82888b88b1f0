// Hooks around what a session's threads are given to do.
#include <atomic>

#include "models.h"

using namespace scenes;

namespace {

struct Counts {
  std::atomic<int> enqueued{0}, started{0}, stopped{0}, abandoned{0}, strangers{0};
};

void* enqueue(void* context) {
  auto& c = *static_cast<Counts*>(context);
  ++c.enqueued;
  return &c;
}
void look(void* context, void* data, std::atomic<int> Counts::*count) {
  auto& c = *static_cast<Counts*>(context);
  if (data != context) ++c.strangers;
  ++(c.*count);
}

OrtThreadPoolCallbacksConfig hooks(Counts& counts) {
  OrtThreadPoolCallbacksConfig config{};
  config.version = ORT_API_VERSION;
  config.on_enqueue = enqueue;
  config.on_start_work = [](void* context, void* data) { look(context, data, &Counts::started); };
  config.on_stop_work = [](void* context, void* data) { look(context, data, &Counts::stopped); };
  config.on_abandon = [](void* context, void* data) { look(context, data, &Counts::abandoned); };
  config.user_context = &counts;
  return config;
}

void run_wide(Scene& s) {
  OrtSessionOptions* options = s.options();
  CALL(SetIntraOpNumThreads, options, 2);
  OrtSession* session = open(s, "dense", options);
  std::vector<float> data(3 << 20, 1.0f);
  const OrtValue* x = floats(s, data.data(), {1 << 20, 3});
  const char *name = "x", *output = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, nullptr, &name, &x, 1, &output, 1, &y);
  s.api.ReleaseValue(y);
  s.api.ReleaseSession(session);
}

void note(Scene& s, const Counts& c) {
  s.note("something was enqueued", c.enqueued > 0);
  s.note("what started stopped", c.started == c.stopped);
  s.note("all was started or abandoned", c.enqueued == c.started + c.abandoned);
  s.note("strangers", c.strangers.load());
}

}  // namespace

SCENE(pool_hooks, around_work) {
  Counts counts;
  const OrtThreadPoolCallbacksConfig config = hooks(counts);
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &config);
  run_wide(s);
  note(s, counts);
}

SCENE(pool_hooks, taken_back) {
  Counts counts;
  const OrtThreadPoolCallbacksConfig config = hooks(counts);
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &config);
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), nullptr);
  OrtThreadPoolCallbacksConfig none{};
  none.version = ORT_API_VERSION;
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &none);
  run_wide(s);
  note(s, counts);
}

SCENE(pool_hooks, none) {
  OrtThreadPoolCallbacksConfig config{};
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &config);
  config.version = ORT_API_VERSION;
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &config);
  run_wide(s);
  config.version = ORT_API_VERSION + 1;
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &config);
}

SCENE(pool_hooks, some) {
  Counts counts;
  OrtThreadPoolCallbacksConfig config = hooks(counts);
  config.on_start_work = nullptr;
  config.on_abandon = nullptr;
  CALL(SetPerSessionThreadPoolCallbacks, s.env(), &config);
  run_wide(s);
  s.note("something was enqueued", counts.enqueued > 0);
  s.note("nothing started", counts.started == 0);
}
