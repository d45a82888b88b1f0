// The loopback provider: slow streams, shared memory, and copies that the application submits.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "loop/loop.h"

using namespace scenes;

namespace {

const std::initializer_list<Loop::Setting> kSlow = {{"delay_us", "30000"}};

Maker negated() { return Maker().floats_in("x", {2}).node("Neg", {"x"}, {"y"}).floats_out("y", {2}); }

OrtSyncStream* stream_of(Scene& s, Loop& loop, Where where = Where::device) {
  OrtSyncStream* stream = nullptr;
  CALL(CreateSyncStreamForEpDevice, loop.device(where), nullptr, &stream);
  s.note("stream", static_cast<const void*>(stream));
  return stream;
}

}  // namespace

SCENE(loopback, slow_kernels) {
  Loop loop(s, kSlow);
  Binder b(s, negated(), loop.options());
  for (const Where where : {Where::host, Where::device}) {
    b.in("x", loop.tensor(where, {2}, {1, -2}));
    CALL(BindOutputToDevice, b.binding, "y", loop.memory(where));
    loop.forget();
    for (int i = 0; i < 2; ++i) b.run();
    loop.note_counts("two runs");
    loop.note(b);
  }
}

SCENE(loopback, slow_kernels_around_the_cpu) {
  Loop loop(s, kSlow);
  Binder b(s,
           Maker()
               .floats_in("x", {2})
               .node("Neg", {"x"}, {"a"})
               .node("Abs", {"a"}, {"b"})
               .node("Mul", {"b", "a"}, {"c"})
               .node("Floor", {"c"}, {"d"})
               .node("Add", {"c", "d"}, {"y"})
               .floats_out("y", {2}),
           loop.options());
  b.in("x", loop.tensor(Where::host, {2}, {1, -2}));
  b.out("y");
  for (int i = 0; i < 2; ++i) {
    loop.forget();
    b.run();
    loop.note_counts("a run");
    loop.note(b);
  }
}

SCENE(loopback, slow_kernels_of_two_providers) {
  Loop loop(s, kSlow);
  OrtSessionOptions* o = loop.options({{"claim", "Neg"}});
  loop.add_provider(o, Where::device2, {{"claim", "Relu"}});
  Binder b(s,
           Maker()
               .floats_in("x", {2})
               .node("Neg", {"x"}, {"a"})
               .node("Relu", {"a"}, {"b"})
               .node("Neg", {"b"}, {"c"})
               .node("Relu", {"c"}, {"y"})
               .floats_out("y", {2}),
           o);
  b.in("x", loop.tensor(Where::host, {2}, {1, -2}));
  b.out("y");
  loop.forget();
  const bool good = b.run() == ORT_OK;
  loop.note_counts("a run", !good);
  loop.note(b);
}

// Runs that do not wait: the host continues while the device works, and synchronising waits.
SCENE(loopback, runs_that_do_not_wait) {
  Loop loop(s);
  Binder b(s, negated(), loop.options());
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  CALL(AddRunConfigEntry, options, "disable_synchronize_execution_providers", "1");
  b.in("x", loop.tensor(Where::device, {2}, {1, -2}));
  b.out("y", loop.empty(Where::device, {2}));
  loop.count_ended();
  loop.hold(true);
  b.run(options);
  s.note("the run waited", loop.ended() > 0);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    loop.hold(false);
  });
  CALL(SynchronizeBoundOutputs, b.binding);
  s.note("synchronising waited", loop.ended() > 0);
  later.join();
  loop.note(b);
}

SCENE(loopback, runs_on_a_stream_of_the_application) {
  Loop loop(s, kSlow);
  Binder b(s, negated(), loop.options());
  OrtSyncStream* stream = stream_of(s, loop);
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  s.api.RunOptionsSetSyncStream(options, stream);
  float x[2] = {1, -2}, back[2] = {};
  const OrtValue* host = floats(s, x, {2});
  OrtValue *in = loop.empty(Where::device, {2}), *out = loop.empty(Where::device, {2}), *to = floats(s, back, {2});
  b.in("x", in);
  b.out("y", out);
  loop.forget();
  CALL(CopyTensors, s.env(), &host, &in, stream, 1);  // before the run
  b.run(options);
  const OrtValue* result = out;
  CALL(CopyTensors, s.env(), &result, &to, stream, 1);  // after it
  loop.note_counts("all");
  s.note("handle", s.api.SyncStream_GetHandle(stream));
  CALL(SynchronizeBoundOutputs, b.binding);
  s.api.ReleaseSyncStream(stream);  // after all its work
  note_all(s, "y", back);
}

SCENE(loopback, without_streams) {
  Loop loop(s, {{"streams", "0"}});
  OrtSyncStream* stream = stream_of(s, loop);
  s.api.ReleaseSyncStream(stream);
  Binder b(s, rows_of_two(), loop.options());
  b.in("x", loop.tensor(Where::host, {1, 2}, {1, -2}));
  b.out("y");
  loop.forget();
  b.run();
  loop.note_counts("a run");
  loop.note(b);
}

SCENE(loopback, a_stream_of_the_host) {
  Loop loop(s);
  const OrtEpDevice* const* all = nullptr;
  size_t n = 0;
  CALL(GetEpDevices, s.env(), &all, &n);
  OrtSyncStream* stream = nullptr;
  CALL(CreateSyncStreamForEpDevice, all[0], nullptr, &stream);
  s.note("stream", static_cast<const void*>(stream));
}

SCENE(loopback, streams_are_released) {
  Loop loop(s);
  for (int i = 0; i < 3; ++i) {
    OrtSyncStream* stream = stream_of(s, loop);
    s.note("streams", loop.counts().streams);
    s.api.ReleaseSyncStream(stream);
  }
  s.note("streams", loop.counts().streams);
}

SCENE(loopback, shared_allocators) {
  Loop loop(s);
  for (const OrtDeviceMemoryType kind : {OrtDeviceMemoryType_DEFAULT, OrtDeviceMemoryType_HOST_ACCESSIBLE}) {
    const OrtMemoryInfo* info = s.api.EpDevice_MemoryInfo(loop.device(), kind);
    OrtAllocator *found = nullptr, *made = nullptr;
    CALL(GetSharedAllocator, s.env(), info, &found);
    s.note("there is one", static_cast<const void*>(found));
    CALL(CreateSharedAllocator, s.env(), loop.device(), kind, OrtDeviceAllocator, nullptr, &made);
    s.note("made", static_cast<const void*>(made));
    CALL(ReleaseSharedAllocator, s.env(), loop.device(), kind);
    found = nullptr;
    CALL(GetSharedAllocator, s.env(), info, &found);
    s.note("there is one", static_cast<const void*>(found));
    CALL(CreateSharedAllocator, s.env(), loop.device(), kind, OrtDeviceAllocator, nullptr, &made);
    s.note("made", static_cast<const void*>(made));
    void* p = nullptr;
    if (made) CALL(AllocatorAlloc, made, 100, &p);
    s.note("memory", static_cast<const void*>(p));
    if (p) CALL(AllocatorFree, made, p);
  }
}

SCENE(loopback, allocators_of_a_session) {
  Loop loop(s);
  OrtSession* session = rows_of_two().open(s, loop.options());
  for (const Where where : {Where::device, Where::pinned, Where::device2}) {
    OrtAllocator* allocator = nullptr;
    CALL(CreateAllocator, session, loop.memory(where), &allocator);
    s.note("allocator", static_cast<const void*>(allocator));
    void* p = nullptr;
    if (allocator) s.api.ReleaseStatus(s.api.AllocatorAlloc(allocator, 100, &p));
    s.note("memory", static_cast<const void*>(p));
    if (p) s.api.ReleaseStatus(s.api.AllocatorFree(allocator, p));
    s.api.ReleaseAllocator(allocator);
  }
}

SCENE(loopback, more_memory_than_there_is) {
  Loop loop(s);
  OrtAllocator* allocator = loop.allocator(Where::device);
  void* p = nullptr;
  CALL(AllocatorAlloc, allocator, size_t(1) << 40, &p);
  s.note("memory", static_cast<const void*>(p));
  loop.empty(Where::device, {1 << 20, 1 << 18});
  loop.empty(Where::device, {2, 2});
}

static void copy_each(Scene& s, std::initializer_list<Where> sources, std::initializer_list<Where> targets) {
  Loop loop(s);
  for (const Where from : sources) {
    for (const Where to : targets) {
      const OrtValue* source = loop.tensor(from, {3}, {1, 2, 3});
      OrtValue* target = loop.tensor(to, {3}, {0, 0, 0});
      loop.forget();
      CALL(CopyTensors, s.env(), &source, &target, nullptr, 1);
      loop.note_counts("copying");
      loop.note("copy", target);
    }
  }
}

SCENE(loopback, copies_between_all_places) {
  copy_each(s, {Where::host, Where::pinned, Where::device, Where::device2}, {Where::device, Where::device2});
}

SCENE(loopback, copies_to_the_host) { copy_each(s, {Where::device, Where::device2}, {Where::host, Where::pinned}); }

SCENE(loopback, several_copies_at_once) {
  Loop loop(s);
  const OrtValue* from[3] = {loop.tensor(Where::host, {1}, {1}), loop.tensor(Where::host, {2}, {2, 3}),
                             loop.tensor(Where::host, {3}, {4, 5, 6})};
  OrtValue* to[3] = {loop.empty(Where::device, {1}), loop.empty(Where::device, {2}), loop.empty(Where::device, {3})};
  loop.forget();
  CALL(CopyTensors, s.env(), from, to, nullptr, 3);
  loop.note_counts("copying");
  for (OrtValue* v : to) loop.note("copy", v);
}

SCENE(loopback, copies_on_a_stream) {
  Loop loop(s, {{"latency_us", "5000"}});
  OrtSyncStream* stream = stream_of(s, loop);
  float x[2] = {1, -2}, back[2] = {};
  const OrtValue* host = floats(s, x, {2});
  OrtValue *first = loop.empty(Where::device, {2}), *second = loop.empty(Where::device, {2}),
           *to = floats(s, back, {2});
  loop.forget();
  CALL(CopyTensors, s.env(), &host, &first, stream, 1);
  const OrtValue* v = first;
  CALL(CopyTensors, s.env(), &v, &second, stream, 1);
  v = second;
  CALL(CopyTensors, s.env(), &v, &to, stream, 1);
  loop.note_counts("copying");
  s.api.ReleaseSyncStream(stream);
  note_all(s, "back", back);
}

SCENE(loopback, memory_that_the_host_cannot_read) {
  Loop loop(s);
  OrtValue* value = loop.tensor(Where::device, {2}, {1, 2});
  const float* p = nullptr;
  CALL(GetTensorData, value, reinterpret_cast<const void**>(&p));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer would print a long report
    volatile float read = *p;
    _exit(read != 0 ? 1 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  s.note("reading it is the end", WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
