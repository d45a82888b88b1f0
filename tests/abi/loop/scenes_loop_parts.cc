// The loopback provider: parts of a model on a device and the CPU or another device between them.
#include "loop/loop.h"

using namespace scenes;

namespace {

Maker xy() { return Maker().floats_in("x", {2}).floats_out("y", {2}); }

void run(Scene& s, Loop& loop, const Maker& model, OrtSessionOptions* options) {
  if (OrtSession* session = model.open(s, options)) loop.run_from_both(session);
}

/// Both providers, each with what it shall claim.
OrtSessionOptions* both(Loop& loop, const char* first, const char* second) {
  OrtSessionOptions* o = loop.options({{"claim", first}});
  loop.add_provider(o, Where::device2, {{"claim", second}});
  return o;
}

}  // namespace

SCENE(loopback, cpu_in_the_middle) {
  Loop loop(s);
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Mul", {"b", "b"}, {"y"}), loop.options());
}

SCENE(loopback, cpu_first) {
  Loop loop(s);
  run(s, loop, xy().node("Abs", {"x"}, {"a"}).node("Neg", {"a"}, {"y"}), loop.options());
}

SCENE(loopback, cpu_last) {
  Loop loop(s);
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"y"}), loop.options());
}

SCENE(loopback, cpu_and_device_read_the_input) {
  Loop loop(s);
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"x"}, {"b"}).node("Add", {"a", "b"}, {"y"}), loop.options());
}

SCENE(loopback, cpu_and_device_read_a_constant) {
  Loop loop(s);
  run(s, loop,
      xy().floats("w", {2}, {3, 4})
          .node("Mul", {"x", "w"}, {"a"})
          .node("Max", {"x", "w"}, {"b"})
          .node("Add", {"a", "b"}, {"y"}),
      loop.options());
}

// The value goes over once, however many parts and nodes of the other side read it.
SCENE(loopback, a_value_that_many_read) {
  Loop loop(s);
  run(s, loop,
      xy().node("Neg", {"x"}, {"a"})
          .node("Abs", {"a"}, {"b"})
          .node("Exp", {"a"}, {"c"})
          .node("Mul", {"b", "c"}, {"d"})
          .node("Floor", {"d"}, {"e"})
          .node("Add", {"b", "e"}, {"y"}),
      loop.options());
}

SCENE(loopback, many_borders) {
  Loop loop(s);
  Maker model = xy();
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string next = i == 5 ? "y" : "v" + std::to_string(i);
    model.node(i % 2 ? "Abs" : "Neg", {last}, {next});
    last = next;
  }
  run(s, loop, model, loop.options());
}

SCENE(loopback, claims_what_it_is_told) {
  Loop loop(s);
  const Maker model = xy().node("Neg", {"x"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Mul", {"b", "b"}, {"y"});
  for (const char* claim : {"*", "Neg", "Neg,Mul", "Relu", "none"}) {
    s.note("claim", claim);
    run(s, loop, model, loop.options({{"claim", claim}}));
  }
}

SCENE(loopback, an_option_that_cannot_be) {
  Loop loop(s);
  s.note("session",
         static_cast<const void*>(xy().node("Neg", {"x"}, {"y"}).open(s, loop.options({{"style", "none"}}))));
}

SCENE(loopback, constants_of_its_own) {
  Loop loop(s);
  const Maker model = xy().floats("w", {2}, {3, 4}).node("Mul", {"x", "w"}, {"a"}).node("Add", {"a", "w"}, {"y"});
  for (const char* own : {"0", "1"}) {
    loop.forget();
    OrtSession* session = model.open(s, loop.options({{"drop_constants", own}}));
    loop.note_counts("the session");
    s.api.ReleaseSession(session);
    run(s, loop, model, loop.options({{"drop_constants", own}}));
  }
}

SCENE(loopback, no_fallback) {
  Loop loop(s);
  for (const char* type : {"Relu", "Abs"}) {
    OrtSessionOptions* o = loop.options();
    CALL(AddSessionConfigEntry, o, "session.disable_cpu_ep_fallback", "1");
    s.note("session", static_cast<const void*>(xy().node("Neg", {"x"}, {"a"}).node(type, {"a"}, {"y"}).open(s, o)));
  }
}

// What optimisation computes while the session is made needs no provider.
SCENE(loopback, no_fallback_and_constants) {
  Loop loop(s);
  for (const GraphOptimizationLevel level : {ORT_ENABLE_ALL, ORT_DISABLE_ALL}) {
    OrtSessionOptions* o = loop.options();
    CALL(AddSessionConfigEntry, o, "session.disable_cpu_ep_fallback", "1");
    CALL(SetSessionGraphOptimizationLevel, o, level);
    const Maker model = xy().floats("w", {2}, {3, -4}).node("Abs", {"w"}, {"a"}).node("Add", {"x", "a"}, {"y"});
    s.note("session", static_cast<const void*>(model.open(s, o)));
  }
}

SCENE(loopback, a_body_reads_a_value_of_the_device) {
  Loop loop(s);
  Maker yes, no;
  yes.node("Abs", {"a"}, {"t"}).floats_out("t", {2});
  no.node("Neg", {"a"}, {"e"}).floats_out("e", {2});
  run(s, loop,
      xy().initializer<uint8_t>("c", 9, {}, {1})
          .node("Neg", {"x"}, {"a"})
          .node("If", {"c"}, {"b"}, {body("then_branch", yes.graph()), body("else_branch", no.graph())})
          .node("Mul", {"b", "a"}, {"y"}),
      loop.options());
}

SCENE(loopback, two_providers_after_each_other) {
  Loop loop(s);
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Relu", {"a"}, {"y"}), both(loop, "Neg", "Relu"));
}

SCENE(loopback, two_providers_in_turn) {
  Loop loop(s);
  run(s, loop,
      xy().node("Neg", {"x"}, {"a"})
          .node("Relu", {"a"}, {"b"})
          .node("Neg", {"b"}, {"c"})
          .node("Mul", {"c", "a"}, {"y"}),
      both(loop, "Neg", "Relu,Mul"));
}

SCENE(loopback, the_first_provider_has_the_first_choice) {
  Loop loop(s);
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Relu", {"a"}, {"y"}), both(loop, "*", "*"));
}

SCENE(loopback, two_providers_and_the_cpu) {
  Loop loop(s);
  run(s, loop, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Relu", {"b"}, {"y"}),
      both(loop, "Neg", "Relu"));
}

SCENE(loopback, an_input_of_the_other_device) {
  Loop loop(s);
  Binder b(s, xy().node("Neg", {"x"}, {"y"}), both(loop, "Neg", "Relu"));
  OrtValue* x = loop.tensor(Where::device2, {2}, {1, -2});
  loop.forget();
  b.in("x", x);
  loop.note_counts("binding");
  for (const Where where : {Where::device, Where::device2, Where::host}) {
    CALL(BindOutputToDevice, b.binding, "y", loop.memory(where));
    b.run();
    loop.note_counts("the run");
    loop.note(b);
    loop.forget();
  }
}

SCENE(loopback, where_inputs_and_outputs_lie) {
  Loop loop(s);
  OrtSession* session = Maker()
                            .floats_in("a", {2})
                            .floats_in("b", {2})
                            .node("Neg", {"a"}, {"c"})
                            .node("Abs", {"b"}, {"d"})
                            .floats_out("c", {2})
                            .floats_out("d", {2})
                            .open(s, loop.options());
  const OrtMemoryInfo* where[2] = {};
  const OrtEpDevice* devices[2] = {};
  const auto note = [&] {
    for (int i = 0; i < 2; ++i) {
      const char* name = nullptr;
      if (where[i]) CALL(MemoryInfoGetName, where[i], &name);
      s.note("memory", name);
      s.note("device", devices[i] == loop.device());
    }
  };
  CALL(SessionGetMemoryInfoForInputs, session, where, 2);
  CALL(SessionGetEpDeviceForInputs, session, devices, 2);
  note();
  CALL(SessionGetMemoryInfoForOutputs, session, where, 2);
  CALL(SessionGetEpDeviceForOutputs, session, devices, 2);
  note();
}
