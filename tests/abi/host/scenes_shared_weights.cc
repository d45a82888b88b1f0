// Weights that kernels of a plug-in pack, shared by sessions with one container.
#include <dlfcn.h>

#include "binder.h"

using scenes::Maker;
using scenes::Scene;

namespace {

/// The plug-in, registered, and what it counts.
struct Packing {
  explicit Packing(Scene& scene) : s(scene) {
    CALL(RegisterExecutionProviderLibrary, s.env(), "packing", RETORT_PACKING_PROVIDER);
    void* library = dlopen(RETORT_PACKING_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    tell = reinterpret_cast<void (*)(int64_t*)>(dlsym(library, "packing_counts"));
    fault = reinterpret_cast<void (*)(int)>(dlsym(library, "packing_fault"));
    CALL(CreatePrepackedWeightsContainer, &container);
  }
  ~Packing() { s.api.ReleasePrepackedWeightsContainer(container); }

  OrtSessionOptions* options() {
    const OrtEpDevice* device = s.device("packing");
    OrtSessionOptions* made = s.options();
    CALL(SessionOptionsAppendExecutionProvider_V2, made, s.env(), &device, 1, nullptr, nullptr, 0);
    return made;
  }

  /// x + `name`, with that weight; `given`: the caller's, in place of the model's.
  OrtSession* open(float weight, bool given, bool with_container, const char* name = "w") {
    static float memory[8][2];
    float* data = memory[next++ % 8];
    data[0] = data[1] = weight;
    OrtSessionOptions* options = this->options();
    if (given) CALL(AddInitializer, options, name, floats(s, data, {2}));
    const std::string model = Maker()
                                  .floats_in("x", {2})
                                  .floats(name, {2}, {weight, weight})
                                  .node("Add", {"x", name}, {"y"})
                                  .floats_out("y", {2})
                                  .bytes();
    OrtSession* session = nullptr;
    if (with_container)
      CALL(CreateSessionFromArrayWithPrepackedWeightsContainer, s.env(), model.data(), model.size(), options, container,
           &session);
    else
      CALL(CreateSessionFromArray, s.env(), model.data(), model.size(), options, &session);
    return session;
  }

  void run(OrtSession* session) {
    float data[2] = {1, 2};
    const OrtValue* x = floats(s, data, {2});
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    if (session) CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
    scenes::note_value(s, "y", y);
    s.api.ReleaseValue(y);
  }

  void note() {
    int64_t now[4];
    tell(now);
    const char* names[4] = {"packed", "with a cache", "shared", "different"};
    for (int i = 0; i < 4; ++i) s.note(names[i], now[i]);
  }

  Scene& s;
  OrtPrepackedWeightsContainer* container = nullptr;
  void (*tell)(int64_t*) = nullptr;
  void (*fault)(int) = nullptr;
  int next = 0;
};

}  // namespace

SCENE(shared_weights, two_sessions) {
  Packing p(s);
  OrtSession* sessions[] = {p.open(3, true, true), p.open(3, true, true)};
  p.note();
  for (OrtSession* session : sessions) p.run(session);
  s.api.ReleaseSession(sessions[0]);
  p.run(sessions[1]);
  s.api.ReleaseSession(sessions[1]);
}

// The contents decide, not the name.
SCENE(shared_weights, others_of_that_name) {
  Packing p(s);
  OrtSession* sessions[] = {p.open(3, true, true), p.open(4, true, true), p.open(4, true, true, "v")};
  p.note();
  for (OrtSession* session : sessions) {
    p.run(session);
    s.api.ReleaseSession(session);
  }
}

// All live to the end: memory that was given back may come again at the same address.
SCENE(shared_weights, without_container_or_initializer) {
  Packing p(s);
  std::vector<OrtSession*> sessions;
  for (const auto& [given, container] : {std::pair(true, false), std::pair(false, true), std::pair(false, false)}) {
    sessions.push_back(p.open(3, given, container));
    p.note();
    p.run(sessions.back());
  }
  for (OrtSession* session : sessions) s.api.ReleaseSession(session);
}

// Kernels of the host's for nodes that are no control flow, and without what they need.
SCENE(shared_weights, kernels_for_bodies_that_are_not_there) {
  Packing p(s);
  for (int fault = 4; fault <= 8; ++fault) {
    p.fault(fault);
    s.api.ReleaseSession(p.open(3, true, true));
  }
}

// Nobody but the host can run bodies.
SCENE(shared_weights, a_kernel_of_its_own_for_bodies) {
  Packing p(s);
  p.fault(9);
  const Maker model = Maker()
                          .input("c", scenes::tensor_type(9, {}))
                          .floats_in("x", {2})
                          .node("If", {"c"}, {"y"},
                                {body("then_branch", Maker().node("Neg", {"x"}, {"t"}).floats_out("t", {2}).graph()),
                                 body("else_branch", Maker().node("Abs", {"x"}, {"e"}).floats_out("e", {2}).graph())})
                          .floats_out("y", {2});
  s.api.ReleaseSession(model.open(s, p.options()));
}

SCENE(shared_weights, kernels_that_go_wrong) {
  Packing p(s);
  for (int fault = 1; fault <= 3; ++fault) {
    p.fault(fault);
    s.api.ReleaseSession(p.open(3, true, true));
    p.note();
  }
}
