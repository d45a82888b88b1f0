// Kernels of a plug-in that declare that an output lies where an input does: where they find it.
#include <dlfcn.h>

#include <algorithm>

#include "binder.h"

using scenes::Binder;
using scenes::Maker;
using scenes::Scene;

namespace {

/// The plug-in of plugins/aliasing.cc, on a device or on the host.
struct Aliasing {
  Aliasing(Scene& scene, bool on_device) : s(scene) {
    void* library = dlopen(RETORT_ALIASING_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    next = reinterpret_cast<const char* (*)()>(dlsym(library, "aliasing_story"));
    reinterpret_cast<void (*)(bool)>(dlsym(library, "aliasing_device"))(on_device);
    CALL(RegisterExecutionProviderLibrary, s.env(), "aliasing", RETORT_ALIASING_PROVIDER);
  }

  OrtSession* open(const Maker& model) {
    OrtSessionOptions* options = s.options();
    const OrtEpDevice* d = s.device("aliasing");
    CALL(SetSessionGraphOptimizationLevel, options, ORT_DISABLE_ALL);
    CALL(SessionOptionsAppendExecutionProvider_V2, options, s.env(), &d, 1, nullptr, nullptr, 0);
    return model.open(s, options);
  }

  /// Three runs: results stay right when memory is used again.
  void run(const Maker& model, const std::vector<const char*>& outputs = {"y"}) {
    OrtSession* session = open(model);
    for (float first : {1.f, 5.f, 9.f}) {
      float data[2] = {first, first + 1};
      const OrtValue* x = scenes::floats(s, data, {2});
      const char* in = "x";
      std::vector<OrtValue*> results(outputs.size());
      if (session) CALL(Run, session, nullptr, &in, &x, 1, outputs.data(), outputs.size(), results.data());
      for (size_t i = 0; i < outputs.size(); ++i) scenes::note_value(s, outputs[i], results[i]);
      scenes::note_tensor(s, "x", x);
      note();
      for (OrtValue* result : results) s.api.ReleaseValue(result);
    }
  }

  // In any order: that of nodes which do not need each other is the host's.
  void note() {
    std::vector<std::string> lines;
    while (const char* line = next()) lines.emplace_back(line);
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) s.note("told", line);
  }

  Scene& s;
  const char* (*next)() = nullptr;
};

Maker x_to_y() { return Maker().floats_in("x", {2}).floats_out("y", {2}); }

}  // namespace

/// ALIAS(name, model, outputs): on the host and on a device.
#define ALIAS(NAME, ...)                                        \
  SCENE(aliases, NAME) { Aliasing(s, false).run(__VA_ARGS__); } \
  SCENE(aliases_on_device, NAME) { Aliasing(s, true).run(__VA_ARGS__); }

ALIAS(alone, x_to_y().node("Identity", {"x"}, {"y"}))
ALIAS(between, x_to_y().node("Neg", {"x"}, {"a"}).node("Identity", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}))
ALIAS(of_an_input, x_to_y().node("Identity", {"x"}, {"a"}).node("Neg", {"a"}, {"y"}))
ALIAS(of_an_input_that_is_read_again,
      x_to_y().node("Identity", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Sub", {"b", "x"}, {"y"}))
ALIAS(to_an_output, x_to_y().node("Neg", {"x"}, {"a"}).node("Identity", {"a"}, {"y"}))
ALIAS(of_an_output,
      x_to_y().floats_out("a", {2}).node("Neg", {"x"}, {"a"}).node("Identity", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}),
      {"y", "a"})
ALIAS(of_a_constant, x_to_y()
                         .floats("w", {2}, {3, 4})
                         .node("Identity", {"w"}, {"a"})
                         .node("Neg", {"a"}, {"b"})
                         .node("Sub", {"b", "x"}, {"y"}))
ALIAS(of_an_alias, x_to_y()
                       .node("Neg", {"x"}, {"a"})
                       .node("Identity", {"a"}, {"b"})
                       .node("Identity", {"b"}, {"c"})
                       .node("Neg", {"c"}, {"y"}))
ALIAS(both_read, x_to_y()
                     .node("Neg", {"x"}, {"a"})
                     .node("Identity", {"a"}, {"b"})
                     .node("Neg", {"b"}, {"c"})
                     .node("Sub", {"c", "a"}, {"y"}))
ALIAS(another_shape, Maker()
                         .floats_in("x", {2})
                         .floats_out("y", {2})
                         .integers("shape", {1}, {-1})
                         .node("Neg", {"x"}, {"a"})
                         .node("Reshape", {"a", "shape"}, {"b"})
                         .node("Neg", {"b"}, {"y"}))
ALIAS(in_place, x_to_y().node("Neg", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}))
ALIAS(in_place_of_an_input, x_to_y().node("Neg", {"x"}, {"a"}).node("Identity", {"a"}, {"y"}))
ALIAS(in_place_of_a_constant,
      x_to_y().floats("w", {2}, {3, 4}).node("Neg", {"w"}, {"a"}).node("Sub", {"a", "x"}, {"y"}))
ALIAS(in_place_of_what_is_read_again,
      x_to_y().node("Neg", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Sub", {"b", "a"}, {"y"}))
ALIAS(in_place_of_what_is_an_output,
      x_to_y().floats_out("a", {2}).node("Neg", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}),
      {"y", "a"})
ALIAS(in_place_of_the_second,
      x_to_y().node("Neg", {"x"}, {"a"}).node("Sub", {"x", "a"}, {"b"}).node("Neg", {"b"}, {"y"}))
ALIAS(in_place_of_one_input_twice,
      x_to_y().node("Neg", {"x"}, {"a"}).node("Sub", {"a", "a"}, {"b"}).node("Neg", {"b"}, {"y"}))
ALIAS(with_the_cpu_between, x_to_y()
                                .node("Abs", {"x"}, {"a"})
                                .node("Identity", {"a"}, {"b"})
                                .node("Relu", {"b"}, {"c"})
                                .node("Neg", {"c"}, {"d"})
                                .node("Abs", {"d"}, {"y"}))
ALIAS(in_place_of_an_alias, x_to_y()
                                .node("Neg", {"x"}, {"a"})
                                .node("Identity", {"a"}, {"b"})
                                .node("Neg", {"b"}, {"c"})
                                .node("Neg", {"c"}, {"y"}))
ALIAS(in_place_of_an_alias_of_an_input,
      x_to_y().node("Identity", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}))
ALIAS(an_alias_is_read_after, x_to_y()
                                  .node("Neg", {"x"}, {"a"})
                                  .node("Identity", {"a"}, {"b"})
                                  .node("Neg", {"a"}, {"c"})
                                  .node("Sub", {"c", "b"}, {"y"}))
// The CPU's memory is planned: `a` lives as long as `d` does.
ALIAS(outlives_the_cpu, x_to_y()
                            .node("Abs", {"x"}, {"a"})
                            .node("Identity", {"a"}, {"b"})
                            .node("Identity", {"b"}, {"d"})
                            .node("Mul", {"x", "x"}, {"e"})
                            .node("Mul", {"e", "x"}, {"f"})
                            .node("Relu", {"f"}, {"g"})
                            .node("Mul", {"g", "e"}, {"h"})
                            .node("Sub", {"d", "h"}, {"y"}))
ALIAS(copied_and_an_output,
      x_to_y().floats_out("a", {2}).node("Abs", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}),
      {"y", "a"})
