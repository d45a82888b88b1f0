// Allocators that the environment shares: those of a program, arenas, and what is left when they are unregistered.
#include <cstdlib>

#include "scene.h"

namespace {
struct Mine : OrtAllocator {
  OrtMemoryInfo* info;
};

Mine mine_of_host(scenes::Scene& s) {
  Mine mine = {};
  mine.version = ORT_API_VERSION;
  mine.Alloc = [](OrtAllocator*, size_t n) { return std::malloc(n); };
  mine.Free = [](OrtAllocator*, void* p) { std::free(p); };
  mine.Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* { return static_cast<const Mine*>(self)->info; };
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &mine.info);
  return mine;
}

OrtAllocator* shared(scenes::Scene& s, const OrtMemoryInfo* info) {
  OrtAllocator* found = nullptr;
  CALL(GetSharedAllocator, s.env(), info, &found);
  return found;
}
}  // namespace

// A pointer that the program holds stays valid whatever is registered.
SCENE(allocator, shared_and_registered) {
  Mine mine = mine_of_host(s);
  OrtMemoryInfo *arena = nullptr, *pinned = nullptr;
  CALL(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault, &arena);
  CALL(CreateMemoryInfo_V2, "pinned", OrtMemoryInfoDeviceType_CPU, 0x10de, 0, OrtDeviceMemoryType_HOST_ACCESSIBLE, 0,
       OrtDeviceAllocator, &pinned);
  OrtAllocator* const first = shared(s, mine.info);
  const char* keys[] = {"max_mem"};
  const size_t values[] = {1000};
  OrtArenaCfg* settings = nullptr;
  CALL(CreateArenaCfgV2, keys, values, 1, &settings);
  for (const OrtMemoryInfo* info : {arena, mine.info, arena}) {
    CALL(CreateAndRegisterAllocator, s.env(), info, settings);
    s.note("the same", shared(s, mine.info) == first && shared(s, arena) == first);
    void* block = nullptr;
    CALL(AllocatorAlloc, first, 5000, &block);
    CALL(AllocatorFree, first, block);
  }
  CALL(RegisterAllocator, s.env(), &mine);
  s.note("mine", shared(s, arena) == &mine);
  CALL(CreateAndRegisterAllocator, s.env(), arena, settings);
  s.note("the same", shared(s, arena) == first);
  CALL(UnregisterAllocator, s.env(), arena);
  s.note("the same", shared(s, arena) == first);
  CALL(UnregisterAllocator, s.env(), arena);
  CALL(CreateAndRegisterAllocator, s.env(), pinned, nullptr);
  s.note("pinned", shared(s, pinned));
  CALL(UnregisterAllocator, s.env(), pinned);
  void* block = nullptr;
  CALL(AllocatorAlloc, first, 64, &block);
  CALL(AllocatorFree, first, block);
  s.api.ReleaseArenaCfg(settings);
}

SCENE(allocator, custom) {
  Mine mine = mine_of_host(s);
  CALL(RegisterAllocator, s.env(), &mine);
  CALL(RegisterAllocator, s.env(), &mine);
  OrtAllocator* shared = nullptr;
  CALL(GetSharedAllocator, s.env(), mine.info, &shared);
  s.note("mine", shared == &mine);
  CALL(UnregisterAllocator, s.env(), mine.info);
  CALL(UnregisterAllocator, s.env(), mine.info);
  CALL(GetSharedAllocator, s.env(), mine.info, &shared);
  s.note("the library's again", shared && shared != &mine);
  void* p = nullptr;
  CALL(AllocatorAlloc, &mine, 10, &p);
  s.note("p", p);
  CALL(AllocatorFree, &mine, p);
  const OrtMemoryInfo* info = nullptr;
  CALL(AllocatorGetInfo, &mine, &info);
  s.note("info", info == mine.info);
  OrtKeyValuePairs* stats = nullptr;
  CALL(AllocatorGetStats, &mine, &stats);
  s.note("stats", stats);
}
