// I/O binding: several threads, runs that are ended from outside, and runs that call back.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "binder.h"

using namespace scenes;

namespace {

Maker scaled() {
  return Maker().floats_in("x", {"n"}).floats("w", {1}, {3}).node("Mul", {"x", "w"}, {"y"}).floats_out("y", {"n"});
}

/// Counts `times` times the body of a loop; the flag can end it at once or never.
Maker loop() {
  Maker body;
  body.input("i", tensor_type(7, {}))
      .input("go", tensor_type(9, {}))
      .floats_in("state", {256, 256})
      .node("MatMul", {"state", "state"}, {"product"})
      .node("Tanh", {"product"}, {"next"})
      .node("Identity", {"go"}, {"go_on"})
      .output("go_on", tensor_type(9, {}))
      .floats_out("next", {256, 256});
  return Maker()
      .input("times", tensor_type(7, {}))
      .floats_in("x", {256, 256})
      .node("Loop", {"times", "", "x"}, {"y"}, {scenes::body("body", body.graph())})
      .floats_out("y", {256, 256});
}

/// Runs of a binding, silently; answers how many failed or gave something else than 3 * value.
int runs(Scene& s, OrtSession* session, float value, int times, bool device) {
  const OrtApi& api = s.api;
  OrtMemoryInfo* cpu = nullptr;
  OrtIoBinding* binding = nullptr;
  OrtValue *in = nullptr, *out = nullptr;
  float x[64], y[64] = {};
  const int64_t shape[1] = {64};
  for (float& v : x) v = value;
  api.ReleaseStatus(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  api.ReleaseStatus(
      api.CreateTensorWithDataAsOrtValue(cpu, x, sizeof x, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &in));
  api.ReleaseStatus(
      api.CreateTensorWithDataAsOrtValue(cpu, y, sizeof y, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &out));
  api.ReleaseStatus(api.CreateIoBinding(session, &binding));
  api.ReleaseStatus(api.BindInput(binding, "x", in));
  api.ReleaseStatus(device ? api.BindOutputToDevice(binding, "y", cpu) : api.BindOutput(binding, "y", out));
  int bad = 0;
  for (int i = 0; i < times; ++i) {
    OrtStatus* status = api.RunWithBinding(session, nullptr, binding);
    bad += status != nullptr || (!device && y[63] != 3 * value);
    api.ReleaseStatus(status);
    y[63] = 0;
  }
  api.ReleaseIoBinding(binding);
  api.ReleaseValue(in);
  api.ReleaseValue(out);
  api.ReleaseMemoryInfo(cpu);
  return bad;
}

struct Reply {
  const OrtApi* api = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  int replies = 0, failures = 0;
};
void reply(void* data, OrtValue** outputs, size_t n, OrtStatusPtr status) {
  Reply& r = *static_cast<Reply*>(data);
  const std::lock_guard lock(r.mutex);
  r.failures += status != nullptr;
  r.api->ReleaseStatus(status);
  for (size_t i = 0; outputs && i < n; ++i) r.api->ReleaseValue(outputs[i]);
  ++r.replies;
  r.changed.notify_all();
}

}  // namespace

SCENE(binding_threads, one_binding_each) {
  for (const bool device : {false, true}) {
    OrtSession* session = scaled().open(s);
    std::atomic<int> bad{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&, t] { bad += runs(s, session, float(t + 1), 100, device); });
    for (std::thread& t : threads) t.join();
    s.note("bad", bad.load());
    s.api.ReleaseSession(session);
  }
}

SCENE(binding_threads, made_here_and_run_there) {
  Binder b(s, scaled());
  float x[2] = {1, 2};
  b.in("x", floats(s, x, {2}));
  b.out("y");
  std::thread([&] { b.run(); }).join();
  b.note();
  std::thread([&] { b.out("y"); }).join();
  b.run_and_note();
}

// What two threads get out of one binding is nobody's promise; that they come back is.
SCENE(binding_threads, one_binding_in_two_threads) {
  Binder b(s, scaled());
  float x[2] = {1, 2}, y[2] = {};
  b.in("x", floats(s, x, {2}));
  b.out("y", floats(s, y, {2}));
  std::atomic<int> strange{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        OrtStatus* status = s.api.RunWithBinding(b.session, nullptr, b.binding);
        strange += status && s.api.GetErrorCode(status) != ORT_INVALID_ARGUMENT;
        s.api.ReleaseStatus(status);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  s.note("strange", strange.load());
  b.run();
  note_all(s, "y", y);
}

SCENE(binding_threads, beside_runs_by_name) {
  OrtSession* session = scaled().open(s);
  float x[2] = {1, 2};
  OrtValue* in = floats(s, x, {2});
  std::atomic<int> bad{0};
  std::thread bound([&] { bad += runs(s, session, 5, 100, false); });
  for (int i = 0; i < 100; ++i) {
    const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
    OrtValue* out = nullptr;
    OrtStatus* status = s.api.Run(session, nullptr, inputs, &in, 1, outputs, 1, &out);
    float* y = nullptr;
    s.api.ReleaseStatus(s.api.GetTensorMutableData(out, reinterpret_cast<void**>(&y)));
    bad += status != nullptr || !y || y[1] != 6;
    s.api.ReleaseStatus(status);
    s.api.ReleaseValue(out);
  }
  bound.join();
  s.note("bad", bad.load());
}

SCENE(binding_threads, beside_runs_that_call_back) {
  OrtSessionOptions* o = s.options();
  CALL(SetIntraOpNumThreads, o, 2);
  OrtSession* session = scaled().open(s, o);
  float x[2] = {1, 2};
  OrtValue *in = floats(s, x, {2}), *out[8] = {};
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  Reply r;
  r.api = &s.api;
  for (OrtValue*& v : out) CALL(RunAsync, session, nullptr, inputs, &in, 1, outputs, 1, &v, reply, &r);
  s.note("bad", runs(s, session, 2, 50, true) + runs(s, session, 2, 50, false));
  std::unique_lock lock(r.mutex);
  s.note("all came", r.changed.wait_for(lock, std::chrono::seconds(20), [&] { return r.replies == 8; }));
  s.note("failures", r.failures);
}

SCENE(binding_threads, ended_from_another_thread) {
  Binder b(s, loop());
  if (!b.session) return;
  std::vector<float> x(size_t(256) * 256, 0.001f), y(size_t(256) * 256);
  int64_t times = 1'000'000;
  b.in("times", integers(s, &times, {}));
  b.in("x", floats(s, x.data(), {256, 256}));
  b.out("y", floats(s, y.data(), {256, 256}));
  OrtRunOptions* o = nullptr;
  CALL(CreateRunOptions, &o);
  std::thread ender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    s.api.ReleaseStatus(s.api.RunOptionsSetTerminate(o));
  });
  b.run(o);
  ender.join();
  times = 0;
  b.run();
  s.note("recovered", y[0]);
}
