// The loopback provider in its other style: kernels for single nodes, from a registry.
#include <climits>

#include "loop/loop.h"

using namespace scenes;

namespace {

const std::initializer_list<Loop::Setting> kKernels = {{"style", "kernels"}};

#define STORY(NAME)                       \
  static void NAME(Scene& s, Loop& loop); \
  SCENE(loopback_kernels, NAME) {         \
    Loop loop(s, kKernels);               \
    NAME(s, loop);                        \
  }                                       \
  static void NAME(Scene& s, Loop& loop)

Maker xy() { return Maker().floats_in("x", {2}).floats_out("y", {2}); }

void run(Scene& s, Loop& loop, const Maker& model, std::initializer_list<Loop::Setting> settings = {}) {
  loop.forget();
  OrtSession* session = model.open(s, loop.options(settings));
  if (!session) return;
  loop.note_counts("making the session");
  loop.run_from_both(session);
}

}  // namespace

STORY(whole_model) {
  run(s, loop,
      xy().floats("w", {2}, {3, 4})
          .node("Mul", {"x", "w"}, {"a"})
          .node("Relu", {"a"}, {"b"})
          .node("Add", {"b", "x"}, {"y"}));
}

STORY(cpu_in_the_middle) {
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Mul", {"b", "b"}, {"y"}));
}

STORY(slow_kernels) {
  loop.set("delay_us", "20000");
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Mul", {"b", "a"}, {"y"}));
}

STORY(claims_what_it_is_told) {
  const Maker model = xy().node("Neg", {"x"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Mul", {"b", "b"}, {"y"});
  for (const char* claim : {"Neg", "Neg,Mul", "none"}) run(s, loop, model, {{"claim", claim}});
}

// The second operand of a product is packed when the session is made.
STORY(packed_weights) {
  run(s, loop,
      Maker()
          .floats_in("x", {2})
          .floats("w", {2, 2}, {1, 2, 3, 4})
          .node("MatMul", {"x", "w"}, {"y"})
          .floats_out("y", {2}));
  run(s, loop,
      xy().floats("w", {2, 2}, {1, 2, 3, 4})
          .floats("c", {2}, {10, 20})
          .integers("row", {2}, {1, 2})
          .integers("flat", {1}, {-1})
          .node("Reshape", {"x", "row"}, {"r"})
          .node("Gemm", {"r", "w", "c"}, {"g"}, {attribute("transB", 1)})
          .node("Reshape", {"g", "flat"}, {"y"}));
}

// Two sessions with one weight of the application, and a container for what they make of it.
STORY(shared_weights) {
  const std::string model = Maker()
                                .floats_in("x", {2})
                                .floats("w", {2, 2}, {1, 2, 3, 4})
                                .node("MatMul", {"x", "w"}, {"y"})
                                .floats_out("y", {2})
                                .bytes();
  float w[4] = {1, 2, 3, 4}, x[2] = {1, -2};
  OrtValue* weight = floats(s, w, {2, 2});
  OrtPrepackedWeightsContainer* container = nullptr;
  CALL(CreatePrepackedWeightsContainer, &container);
  const OrtValue* value = floats(s, x, {2});
  OrtSession* sessions[2] = {};
  for (OrtSession*& session : sessions) {
    OrtSessionOptions* options = loop.options();
    CALL(AddInitializer, options, "w", weight);
    CALL(CreateSessionFromArrayWithPrepackedWeightsContainer, s.env(), model.data(), model.size(), options, container,
         &session);
  }
  for (OrtSession* session : sessions) {
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    if (session) CALL(Run, session, nullptr, &in, &value, 1, &out, 1, &y);
    loop.note("y", y);
    s.api.ReleaseSession(session);
  }
  s.api.ReleasePrepackedWeightsContainer(container);
}

STORY(operators) {
  const Maker base = xy().integers("axis", {1}, {0});
  for (const char* type : {"Neg", "Relu", "Sigmoid", "Identity", "Softmax"}) {
    s.note("operator", type);
    run(s, loop, Maker(base).node(type, {"x"}, {"y"}));
  }
  run(s, loop, Maker(base).node("ReduceSum", {"x", "axis"}, {"a"}).node("Sub", {"x", "a"}, {"y"}));
  run(s, loop,
      Maker().floats_in("x", {2}).node("Concat", {"x", "x"}, {"y"}, {attribute("axis", 0)}).floats_out("y", {4}));
  run(s, loop, Maker().floats_in("x", {2}).node("NonZero", {"x"}, {"y"}).output("y", tensor_type(7, {1, "n"})));
}

STORY(bound) {
  Binder b(s, rows_of_two(), loop.options());
  for (const Where where : {Where::host, Where::device}) {
    b.in("x", loop.tensor(where, {2, 2}, {1, 2, -3, -4}));
    CALL(BindOutputToDevice, b.binding, "y", loop.memory(where));
    loop.forget();
    for (int i = 0; i < 3; ++i) b.run();
    loop.note_counts("three runs");
    loop.note(b);
  }
}

// Kernels without an end are for the version that they name: two of them, and those of later versions, go together.
SCENE(loopback_kernels, versions) {
  const OrtEpApi& ep = *s.api.GetEpApi();
  constexpr int kNoEnd = INT_MAX;
  using Versions = std::pair<int, int>;
  const Versions all[] = {{1, kNoEnd}, {11, kNoEnd}, {13, kNoEnd}, {1, 10}, {1, 12}, {11, 11}, {12, 13}, {13, 13}};
  const auto add = [&](OrtKernelRegistry* registry, const Versions& versions) {
    OrtKernelDefBuilder* builder = nullptr;
    OrtKernelDef* made = nullptr;
    CALL(GetEpApi()->CreateKernelDefBuilder, &builder);
    CALL(GetEpApi()->KernelDefBuilder_SetOperatorType, builder, "Softmax");
    CALL(GetEpApi()->KernelDefBuilder_SetSinceVersion, builder, versions.first, versions.second);
    CALL(GetEpApi()->KernelDefBuilder_SetExecutionProvider, builder, "Any");
    CALL(GetEpApi()->KernelDefBuilder_Build, builder, &made);
    const OrtKernelCreateFunc none = [](void*, const OrtKernelInfo*, OrtKernelImpl**) noexcept -> OrtStatus* {
      return nullptr;
    };
    CALL(GetEpApi()->KernelRegistry_AddKernel, registry, made, none, nullptr);
    ep.ReleaseKernelDef(made);
    ep.ReleaseKernelDefBuilder(builder);
  };
  for (const Versions& first : all) {
    for (const Versions& second : all) {
      OrtKernelRegistry* registry = nullptr;
      CALL(GetEpApi()->CreateKernelRegistry, &registry);
      add(registry, first);
      add(registry, second);
      ep.ReleaseKernelRegistry(registry);
    }
  }
}

STORY(failures) {
  const Maker model =
      xy().floats("w", {2, 2}, {1, 2, 3, 4}).node("MatMul", {"x", "w"}, {"a"}).node("Neg", {"a"}, {"y"});
  for (const char* fail : {"GetKernelRegistry", "CreateKernel", "PrePackWeight", "Compute", "Kernel", "Copy"}) {
    loop.set("fail", fail);
    OrtSession* session = model.open(s, loop.options());
    const OrtValue* x = floats(s, new float[2]{1, -2}, {2});
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    if (session) CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
    s.api.ReleaseSession(session);
    loop.set("fail", "");
  }
  run(s, loop, model);
}
