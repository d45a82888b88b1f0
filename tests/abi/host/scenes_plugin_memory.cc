// Which object is asked for a plug-in's memory, when, and which values lie in it.
#include <dlfcn.h>

#include <set>

#include "binder.h"

using scenes::Maker;
using scenes::Scene;

namespace {

/// The plug-in of plugins/lending.cc, registered after these settings.
struct Lending {
  using Setting = std::pair<const char*, const char*>;
  Lending(Scene& scene, std::initializer_list<Setting> settings) : s(scene) {
    void* library = dlopen(RETORT_LENDING_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    next = reinterpret_cast<const char* (*)()>(dlsym(library, "lending_story"));
    set = reinterpret_cast<void (*)(const char*, const char*)>(dlsym(library, "lending_set"));
    for (const auto& [key, value] : settings) set(key, value);
    CALL(RegisterExecutionProviderLibrary, s.env(), "lending", RETORT_LENDING_PROVIDER);
    blocks = reinterpret_cast<int (*)()>(dlsym(library, "lending_blocks"));
    note("registered");
  }

  OrtSession* open(const Maker& model, std::initializer_list<Setting> entries = {}) {
    OrtSessionOptions* options = s.options();
    const OrtEpDevice* d = s.device("lending");
    if (d) CALL(SessionOptionsAppendExecutionProvider_V2, options, s.env(), &d, 1, nullptr, nullptr, 0);
    for (const auto& [key, value] : entries) CALL(AddSessionConfigEntry, options, key, value);
    OrtSession* session = model.open(s, options);
    note("session");
    return session;
  }

  void run(OrtSession* session) {
    float data[2] = {1, 2};
    const OrtValue* x = scenes::floats(s, data, {2});
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    if (session) CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
    scenes::note_value(s, "y", y);
    note("run");
    s.api.ReleaseValue(y);
    note("value released");
  }

  void release(OrtSession* session) {
    s.api.ReleaseSession(session);
    note("session released");
  }

  // The objects that were asked, in order, and the results, each once: the number of blocks in a run, and when they are
  // freed, is not compared.
  void note(std::string_view when) {
    s.note("after", when);
    std::set<std::string> rest;
    while (const char* line = next()) {
      const std::string told = line;
      const bool used = told.rfind("block", 0) == 0 || told.rfind("released", 0) == 0 || told.rfind("reads", 0) == 0;
      used ? void(rest.insert(told)) : s.note("told", told);
    }
    for (const std::string& told : rest) s.note("told", told);
  }

  Scene& s;
  const char* (*next)() = nullptr;
  int (*blocks)() = nullptr;
  void (*set)(const char*, const char*) = nullptr;
};

Maker twice() {
  return Maker()
      .floats_in("x", {2})
      .floats("v", {2}, {3, 4})
      .node("Mul", {"x", "v"}, {"a"})
      .node("Mul", {"a", "a"}, {"y"})
      .floats_out("y", {2});
}

void whole_life(Scene& s, std::initializer_list<Lending::Setting> settings) {
  Lending l(s, settings);
  OrtSession* first = l.open(twice());
  OrtSession* second = l.open(twice());
  l.run(first);
  l.run(second);
  l.release(first);
  l.release(second);
  CALL(UnregisterExecutionProviderLibrary, s.env(), "lending");
  l.note("unregistered");
  s.note("blocks that are out", l.blocks());
}

}  // namespace

SCENE(lending, of_the_factory) { whole_life(s, {}); }
SCENE(lending, of_sessions) { whole_life(s, {{"ep", "makes"}}); }
SCENE(lending, sessions_make_none) { whole_life(s, {{"ep", "null"}}); }
SCENE(lending, sessions_make_no_constants) { whole_life(s, {{"ep", "makes"}, {"ep.constants", "null"}}); }
SCENE(lending, sessions_fail) { whole_life(s, {{"ep", "fails"}}); }
SCENE(lending, sessions_fail_for_constants) { whole_life(s, {{"ep", "makes"}, {"ep.constants", "fails"}}); }
SCENE(lending, the_factory_makes_no_constants) { whole_life(s, {{"factory.constants", "null"}}); }
SCENE(lending, the_factory_fails_for_constants) { whole_life(s, {{"factory.constants", "fails"}}); }
SCENE(lending, the_factory_fails_for_constants_of_sessions) {
  whole_life(s, {{"ep", "makes"}, {"factory.constants", "fails"}});
}
SCENE(lending, the_factory_makes_none) { whole_life(s, {{"factory", "null"}}); }
SCENE(lending, the_factory_fails) { whole_life(s, {{"factory", "fails"}}); }
SCENE(lending, without_constants) { whole_life(s, {{"hides", "constants"}}); }
SCENE(lending, options_of_arenas) {
  Lending l(s, {});
  for (const char* owner : {"lending", "Lending", "other"}) {
    const std::string limit = std::string("ep.") + owner + ".arena.max_mem",
                      own = std::string("ep.") + owner + ".arena.x.y";
    l.release(l.open(twice(), {{limit.c_str(), "1000"}, {own.c_str(), "z"}, {"ep.lending.level", "3"}}));
  }
}
SCENE(lending, without_default) { whole_life(s, {{"hides", "default"}}); }

// A result in memory of the session outlives it.
SCENE(lending, a_result_outlives_its_session) {
  Lending l(s, {{"ep", "makes"}});
  OrtSession* session = l.open(twice());
  scenes::Binder b(s, session);
  float data[2] = {1, 2};
  b.in("x", scenes::floats(s, data, {2}));
  l.note("bound");
  CALL(BindOutputToDevice, b.binding, "y", s.api.EpDevice_MemoryInfo(s.device("lending"), OrtDeviceMemoryType_DEFAULT));
  b.run();
  l.note("run");
  const std::vector<OrtValue*> values = b.values();
  s.api.ReleaseIoBinding(b.binding);
  l.note("binding released");
  l.release(session);
  CALL(UnregisterExecutionProviderLibrary, s.env(), "lending");
  l.note("unregistered");
  for (OrtValue* v : values) s.api.ReleaseValue(v);
  l.note("value released");
  s.note("blocks that are out", l.blocks());
}

// Allocators for callers: from the environment, and from a session.
SCENE(lending, to_callers) {
  Lending l(s, {{"ep", "makes"}});
  OrtSession* session = l.open(twice());
  for (const OrtDeviceMemoryType type : {OrtDeviceMemoryType_DEFAULT, OrtDeviceMemoryType_HOST_ACCESSIBLE}) {
    const OrtMemoryInfo* info = s.api.EpDevice_MemoryInfo(s.device("lending"), type);
    OrtAllocator *shared = nullptr, *own = nullptr;
    void* block = nullptr;
    CALL(GetSharedAllocator, s.env(), info, &shared);
    if (shared) CALL(AllocatorAlloc, shared, 3, &block);
    if (shared) CALL(AllocatorFree, shared, block);
    l.note("shared");
    CALL(CreateAllocator, session, info, &own);
    if (own) CALL(AllocatorAlloc, own, 5, &block);
    if (own) CALL(AllocatorFree, own, block);
    l.note("of the session");
    s.api.ReleaseAllocator(own);
    l.note("given back");
  }
}
