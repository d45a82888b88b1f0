// Statistics of allocators: of sessions, of the environment's arena, and of an allocator of the program that sessions
// use. Numbers of bytes differ between engines; what they must satisfy does not.
#include <atomic>
#include <cstdlib>
#include <map>

#include "binder.h"

using scenes::Maker;
using scenes::Scene;

namespace {

constexpr int64_t kCount = 1 << 20;  // 4 MiB
constexpr int64_t kBytes = kCount * int64_t(sizeof(float));

/// y = x + Softmax(x).
Maker model() {
  return Maker()
      .floats_in("x", {"n"})
      .node("Softmax", {"x"}, {"s"})
      .node("Add", {"x", "s"}, {"y"})
      .floats_out("y", {"n"});
}

std::map<std::string, int64_t> statistics(Scene& s, const OrtAllocator* allocator) {
  OrtKeyValuePairs* pairs = nullptr;
  CALL(AllocatorGetStats, allocator, &pairs);
  std::map<std::string, int64_t> all;
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t n = 0;
  if (pairs) s.api.GetKeyValuePairs(pairs, &keys, &values, &n);
  for (size_t i = 0; i < n; ++i) all[keys[i]] = std::atoll(values[i]);
  s.api.ReleaseKeyValuePairs(pairs);
  return all;
}

OrtAllocator* allocator_of(Scene& s, OrtSession* session, OrtAllocatorType type = OrtArenaAllocator) {
  OrtMemoryInfo* info = nullptr;
  OrtAllocator* allocator = nullptr;
  CALL(CreateCpuMemoryInfo, type, OrtMemTypeDefault, &info);
  CALL(CreateAllocator, session, info, &allocator);
  s.api.ReleaseMemoryInfo(info);
  return allocator;
}

/// One run on `count` numbers; null if it fails.
OrtValue* run(Scene& s, OrtSession* session, int64_t count) {
  static std::vector<float> data(size_t(4 * kCount), 1.0f);
  const OrtValue* x = scenes::floats(s, data.data(), {count});
  const char *in = "x", *out = "y";
  OrtValue* y = nullptr;
  s.note("run", CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y) == ORT_OK);
  return y;
}

OrtSession* open_on_environment(Scene& s) {
  OrtSessionOptions* o = s.options();
  CALL(AddSessionConfigEntry, o, "session.use_env_allocators", "1");
  OrtSession* session = model().open(s, o);
  s.api.ReleaseSessionOptions(o);
  return session;
}

void register_arena(Scene& s, size_t limit) {
  OrtMemoryInfo* info = nullptr;
  OrtArenaCfg* settings = nullptr;
  const char* keys[] = {"max_mem", "arena_extend_strategy"};
  const size_t values[] = {limit, 1};
  CALL(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault, &info);
  CALL(CreateArenaCfgV2, keys, values, 2, &settings);
  CALL(CreateAndRegisterAllocator, s.env(), info, settings);
  s.api.ReleaseArenaCfg(settings);
  s.api.ReleaseMemoryInfo(info);
}

/// The program's own: counts what it allocates.
struct Mine : OrtAllocator {
  OrtMemoryInfo* info = nullptr;
  std::atomic<int64_t> blocks{0}, most{0};
  Mine() : OrtAllocator{} {
    version = ORT_API_VERSION;
    Alloc = [](OrtAllocator* a, size_t n) {
      auto& self = *static_cast<Mine*>(a);
      ++self.blocks;
      if (int64_t(n) > self.most) self.most = int64_t(n);
      return n ? std::malloc(n) : nullptr;
    };
    Reserve = Alloc;
    Free = [](OrtAllocator* a, void* p) {
      if (p) --static_cast<Mine*>(a)->blocks;
      std::free(p);
    };
    Info = [](const OrtAllocator* a) -> const OrtMemoryInfo* { return static_cast<const Mine*>(a)->info; };
  }
};

}  // namespace

SCENE(statistics, of_a_session) {
  OrtSession* session = model().open(s);
  OrtAllocator* allocator = allocator_of(s, session);
  void* block = nullptr;
  CALL(AllocatorAlloc, allocator, 1000, &block);
  for (const auto& [key, value] : statistics(s, allocator)) s.note("key", key);
  const auto start = statistics(s, allocator);
  s.note("limit", start.at("Limit"));
  s.note("requested", start.at("RequestedInUse") >= 1000);
  OrtValue* y = run(s, session, kCount);
  const auto after = statistics(s, allocator);
  s.note("the result is in use", after.at("InUse") - start.at("InUse") >= kBytes);
  s.note("more allocations", after.at("NumAllocs") > start.at("NumAllocs"));
  s.note("the workspace was in use, too", after.at("MaxInUse") - start.at("InUse") >= 2 * kBytes);
  s.note("the largest block", after.at("MaxAllocSize") >= kBytes);
  s.note("extensions", after.at("NumArenaExtensions") > 0);
  s.note("all of it was allocated", after.at("TotalAllocated") >= after.at("InUse"));
  s.api.ReleaseValue(y);
  const auto released = statistics(s, allocator);
  s.note("released", after.at("InUse") - released.at("InUse") >= kBytes);
  CALL(AllocatorFree, allocator, block);
  s.note("freed", released.at("InUse") - statistics(s, allocator).at("InUse") >= 1000);
  void* reserved = allocator->Reserve(allocator, 5000);
  s.note("reserves", statistics(s, allocator).at("NumReserves") - released.at("NumReserves"));
  CALL(AllocatorFree, allocator, reserved);
  s.api.ReleaseAllocator(allocator);
  s.api.ReleaseSession(session);
}

// Both kinds are the same memory.
SCENE(statistics, of_both_allocators_of_a_session) {
  OrtSession* session = model().open(s);
  OrtAllocator *arena = allocator_of(s, session), *device = allocator_of(s, session, OrtDeviceAllocator);
  void* block = nullptr;
  CALL(AllocatorAlloc, arena, 1000, &block);
  s.note("same", statistics(s, arena) == statistics(s, device));
  CALL(AllocatorFree, device, block);
  s.note("same", statistics(s, arena) == statistics(s, device));
  s.api.ReleaseAllocator(arena);
  s.api.ReleaseAllocator(device);
  s.api.ReleaseSession(session);
}

SCENE(statistics, sessions_share_the_arena_of_the_environment) {
  register_arena(s, 0);
  OrtSession *one = open_on_environment(s), *two = open_on_environment(s), *other = model().open(s);
  OrtAllocator *first = allocator_of(s, one), *second = allocator_of(s, two), *third = allocator_of(s, other);
  OrtValue* y = run(s, one, kCount);
  s.note("the second sees the result of the first", statistics(s, second).at("InUse") >= kBytes);
  s.note("same", statistics(s, first) == statistics(s, second));
  void* block = nullptr;
  CALL(AllocatorAlloc, third, 8, &block);
  s.note("a session of its own does not", statistics(s, third).at("InUse") < kBytes);
  CALL(AllocatorFree, third, block);
  s.api.ReleaseValue(y);
  s.note("released", statistics(s, second).at("RequestedInUse") < statistics(s, second).at("MaxInUse"));
  for (OrtAllocator* a : {first, second, third}) s.api.ReleaseAllocator(a);
  for (OrtSession* session : {one, two, other}) s.api.ReleaseSession(session);
}

SCENE(statistics, max_mem_bounds_the_arena) {
  register_arena(s, size_t(3 * kBytes));
  OrtSession* session = open_on_environment(s);
  OrtAllocator* allocator = allocator_of(s, session);
  s.api.ReleaseValue(run(s, session, kCount / 4));
  s.note("limit", statistics(s, allocator).at("Limit") == 3 * kBytes);
  s.api.ReleaseValue(run(s, session, 4 * kCount));
  s.api.ReleaseValue(run(s, session, kCount / 4));
  s.note("within the limit", statistics(s, allocator).at("MaxInUse") <= 3 * kBytes);
  void* block = nullptr;
  CALL(AllocatorAlloc, allocator, size_t(4 * kBytes), &block);
  s.note("block", block);
  s.api.ReleaseAllocator(allocator);
  s.api.ReleaseSession(session);
}

SCENE(statistics, an_allocator_of_the_program_serves_runs) {
  Mine mine;
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &mine.info);
  CALL(RegisterAllocator, s.env(), &mine);
  OrtSession* session = open_on_environment(s);
  const int64_t before = mine.blocks;
  OrtValue* y = run(s, session, kCount);
  s.note("the result is a block of it", mine.blocks - before >= 1);
  s.note("the largest block", mine.most >= kBytes);
  s.api.ReleaseValue(y);
  s.api.ReleaseSession(session);
  s.note("all are freed", mine.blocks.load());
  OrtSession* other = model().open(s);
  s.api.ReleaseValue(run(s, other, kCount));
  s.note("another session does not use it", mine.blocks.load());
  s.api.ReleaseSession(other);
  CALL(UnregisterAllocator, s.env(), mine.info);
  s.api.ReleaseMemoryInfo(mine.info);
}
