// The plug-in of plugins/telling.cc in a scene, and the calls that it was told of.
#pragma once
#include <dlfcn.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "scene.h"

namespace scenes {

inline constexpr const char* kTelling = RETORT_TELLING_PROVIDER;

template <typename F>
F of_plugin(const char* name) {
  void* library = dlopen(kTelling, RTLD_NOW | RTLD_NOLOAD);
  F function = library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
  if (library) dlclose(library);
  return function;
}

/// The lines since the last time that begin like that.
inline void note_story(Scene& s, const std::vector<std::string_view>& beginnings) {
  const auto next = of_plugin<const char* (*)()>("plugin_story");
  while (const char* line = next ? next() : nullptr) {
    for (const std::string_view b : beginnings) {
      if (std::string_view(line).substr(0, b.size()) == b) s.note("told", line);
    }
  }
}

inline const OrtEpDevice* telling(Scene& s) { return s.device("telling"); }

inline const OrtEpDevice* loaded(Scene& s) {
  CALL(RegisterExecutionProviderLibrary, s.env(), "tests", kTelling);
  return telling(s);
}

inline OrtSessionOptions* with_provider(Scene& s, std::vector<const char*> on = {}) {
  OrtSessionOptions* o = s.options();
  const OrtEpDevice* d = telling(s);
  const std::vector<const char*> values(on.size(), "1");
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &d, 1, on.data(), values.data(), on.size());
  return o;
}

}  // namespace scenes
