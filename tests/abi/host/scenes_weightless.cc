// What version 32 adds for plug-ins: modes without weights, and the capacity of a device's memory.
#include <dlfcn.h>

#include "binder.h"
#include "compile.h"

using namespace scenes;

namespace {

using Setting = std::pair<const char*, const char*>;

/// The plug-in of plugins/weighing.cc, registered after these settings.
struct Weighing {
  Weighing(Scene& scene, std::initializer_list<Setting> settings) : s(scene) {
    void* library = dlopen(RETORT_WEIGHING_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    next = reinterpret_cast<const char* (*)()>(dlsym(library, "weighing_story"));
    set = reinterpret_cast<void (*)(const char*, const char*)>(dlsym(library, "weighing_set"));
    for (const auto& [key, value] : settings) set(key, value);
    CALL(RegisterExecutionProviderLibrary, s.env(), "weighing", RETORT_WEIGHING_PROVIDER);
    device = s.device("weighing");
  }

  OrtSessionOptions* options(const Config& config) {
    OrtSessionOptions* o = s.options();
    CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &device, 1, nullptr, nullptr, 0);
    for (const auto& [key, value] : config) CALL(AddSessionConfigEntry, o, key, value.c_str());
    return o;
  }

  void note() {
    while (const char* line = next()) s.note("told", line);
  }

  Scene& s;
  const OrtEpDevice* device = nullptr;
  const char* (*next)() = nullptr;
  void (*set)(const char*, const char*) = nullptr;
};

Maker product() {
  return Maker()
      .floats_in("x", {2})
      .floats("w", {2}, {3, 4})
      .node("Mul", {"x", "w"}, {"a"})
      .node("Neg", {"a"}, {"y"})
      .floats_out("y", {2});
}

/// Sessions of the plug-in with each mode, and with the older entry.
void sessions(Scene& s, std::initializer_list<Setting> settings) {
  Weighing w(s, settings);
  for (const Config& config :
       std::initializer_list<Config>{{},
                                     {{"ep.enable_weightless", "1"}},
                                     {{"ep.enable_weightless_mode", "0"}},
                                     {{"ep.enable_weightless_mode", "1"}},
                                     {{"ep.enable_weightless_mode", "2"}},
                                     {{"ep.enable_weightless", "1"}, {"ep.enable_weightless_mode", "0"}},
                                     {{"ep.enable_weightless", "0"}, {"ep.enable_weightless_mode", "2"}}}) {
    OrtSession* session = product().open(s, w.options(config));
    s.note("session", static_cast<const void*>(session));
    w.note();
    s.api.ReleaseSession(session);
  }
}

void compile(Scene& s, Weighing& w, int mode, const Config& config, const char* drops) {
  w.set("drops", drops);
  const OrtCompileApi& compiler = *s.api.GetCompileApi();
  OrtModelCompilationOptions* options = nullptr;
  Buffer out;
  const std::string source = product().bytes();
  s.call("create", compiler.CreateModelCompilationOptionsFromSessionOptions(s.env(), w.options(config), &options));
  s.call("input", compiler.ModelCompilationOptions_SetInputModelFromBuffer(options, source.data(), source.size()));
  s.call("output", compiler.ModelCompilationOptions_SetOutputModelBuffer(options, s.allocator(), &out.data, &out.size));
  s.call("mode", compiler.ModelCompilationOptions_SetWeightlessMode(options, OrtWeightlessSupport(mode)));
  s.call("compile", compiler.CompileModel(s.env(), options));
  compiler.ReleaseModelCompilationOptions(options);
  w.note();
  const std::string bytes = out.str();
  s.note("a part is in it", bytes.find("EPContext") != std::string::npos);
  s.note("has a mode", bytes.find("weightless_mode") != std::string::npos);
  s.note("has dependencies", bytes.find("external_dependencies") != std::string::npos);
  s.note("needs its source", bytes.find("source_model") != std::string::npos);
  s.note("needs files", bytes.find("external_weights") != std::string::npos);
}

}  // namespace

SCENE(weightless, a_provider_that_has_all) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "3"}});
}
SCENE(weightless, devices_without_metadata) { sessions(s, {{"support", "3"}}); }
SCENE(weightless, devices_with_the_older_key) { sessions(s, {{"weightless_support", "all"}, {"support", "2"}}); }
SCENE(weightless, both_modes_under_the_older_key) {
  sessions(s, {{"weightless_support", "all_or_external_only"}, {"support", "3"}});
}
SCENE(weightless, the_newer_key_wins) {
  sessions(s, {{"weightless_support", "all"}, {"weightless_supported_modes", "external_only"}, {"support", "3"}});
}
SCENE(weightless, unknown_metadata) { sessions(s, {{"weightless_support", "some"}, {"support", "3"}}); }
SCENE(weightless, a_provider_that_does_not_say) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "missing"}});
}
SCENE(weightless, a_provider_that_has_less) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "1"}});
}
SCENE(weightless, a_provider_that_has_none) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "0"}});
}
SCENE(weightless, a_provider_of_an_unknown_kind) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "9"}});
}
SCENE(weightless, a_provider_that_fails) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "fails"}});
}
SCENE(weightless, an_older_provider) {
  sessions(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "0"}, {"ep version", "28"}});
}

SCENE(weightless, compiled_models) {
  Weighing w(s, {{"weightless_supported_modes", "all_or_external_only"}, {"support", "3"}});
  for (const char* drops : {"0", "1"}) {
    for (const int mode : {0, 1, 2}) compile(s, w, mode, {}, drops);
  }
  compile(s, w, 7, {{"ep.enable_weightless", "1"}}, "1");
  compile(s, w, -1, {{"ep.enable_weightless_mode", "2"}}, "1");
  compile(s, w, 0, {{"ep.enable_weightless_mode", "2"}}, "1");
}

SCENE(weightless, modes_of_the_cpu) {
  for (const char* mode : {"0", "1", "2", "3", "", "01", " 1", "all"}) {
    OrtSessionOptions* o = s.options();
    CALL(AddSessionConfigEntry, o, "ep.enable_weightless_mode", mode);
    OrtSession* session = product().open(s, o);
    s.note("session", static_cast<const void*>(session));
  }
}

SCENE(memory_capacity, of_the_processor) {
  size_t total = 7, available = 8;
  const OrtEpDevice* cpu = s.device("CPUExecutionProvider");
  CALL(EpDevice_GetMemoryCapacity, nullptr, OrtDeviceMemoryType_DEFAULT, &total, &available);
  CALL(EpDevice_GetMemoryCapacity, cpu, OrtDeviceMemoryType_DEFAULT, nullptr, nullptr);
  CALL(EpDevice_GetMemoryCapacity, cpu, OrtDeviceMemoryType_DEFAULT, &total, &available);
  s.note("total", total);
  s.note("available", available);
}

namespace {

void capacity(Scene& s, std::initializer_list<Setting> settings) {
  Weighing w(s, settings);
  for (const int type : {0, 5, -7, 99}) {
    size_t total = 7, available = 8;
    const auto kind = OrtDeviceMemoryType(type);
    CALL(EpDevice_GetMemoryCapacity, w.device, kind, &total, &available);
    CALL(EpDevice_GetMemoryCapacity, w.device, kind, &total, nullptr);
    CALL(EpDevice_GetMemoryCapacity, w.device, kind, nullptr, &available);
    CALL(EpDevice_GetMemoryCapacity, w.device, kind, nullptr, nullptr);
    s.note("total", total);
    s.note("available", available);
    w.note();
  }
}

}  // namespace

SCENE(memory_capacity, of_a_plug_in) { capacity(s, {}); }
SCENE(memory_capacity, half_told) { capacity(s, {{"capacity", "half"}}); }
SCENE(memory_capacity, that_fails) { capacity(s, {{"capacity", "fails"}}); }
SCENE(memory_capacity, that_is_not_told) { capacity(s, {{"capacity", "missing"}}); }
SCENE(memory_capacity, of_an_older_plug_in) { capacity(s, {{"factory version", "31"}}); }
