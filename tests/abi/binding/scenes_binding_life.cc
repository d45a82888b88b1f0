// I/O binding: who may be released when, and what runs that fail leave behind.
#include "binder.h"

using namespace scenes;

namespace {

Maker negated() { return Maker().floats_in("x", {"n"}).node("Neg", {"x"}, {"y"}).floats_out("y", {"n"}); }

/// picked fails when an index is out of range; y does not need it.
Maker picking() {
  return Maker()
      .floats_in("x", {"n"})
      .input("at", tensor_type(7, {"k"}))
      .node("Neg", {"x"}, {"y"})
      .node("Gather", {"y", "at"}, {"picked"})
      .floats_out("y", {"n"})
      .floats_out("picked", {"k"});
}

}  // namespace

SCENE(binding_life, results_outlive_all_else) {
  float x[3] = {1, 2, 3};
  Binder b(s, negated());
  OrtValue* in = floats(s, x, {3});
  b.in("x", in);
  s.api.ReleaseValue(in);
  b.out("y");
  s.api.ReleaseMemoryInfo(b.cpu);
  b.run();
  const auto held = b.values();
  s.api.ReleaseIoBinding(b.binding);
  note_value(s, "without the binding", held[0]);
  s.api.ReleaseSession(b.session);
  note_value(s, "without the session", held[0]);
  s.api.ReleaseEnv(s.env());
  note_value(s, "without the environment", held[0]);
  s.api.ReleaseValue(held[0]);
}

SCENE(binding_life, the_binding_outlives_the_session) {
  float x[3] = {1, 2, 3};
  Binder b(s, negated());
  b.in("x", floats(s, x, {3}));
  b.out("y");
  b.run();
  s.api.ReleaseSession(b.session);
  for (OrtValue* v : b.values()) note_value(s, "value", v);
  s.api.ClearBoundOutputs(b.binding);
  s.api.ReleaseIoBinding(b.binding);
}

SCENE(binding_life, given_values_are_released_before_the_run) {
  float x[3] = {1, 2, 3}, y[3] = {};
  Binder b(s, negated());
  OrtValue *in = floats(s, x, {3}), *out = floats(s, y, {3});
  b.in("x", in);
  b.out("y", out);
  s.api.ReleaseValue(in);
  s.api.ReleaseValue(out);
  b.run_and_note();
  note_all(s, "y", y);
  x[1] = 20;
  b.run();
  note_all(s, "read where it lies", y);
}

SCENE(binding_life, values_that_own_their_memory) {
  Binder b(s, negated());
  const int64_t shape[1] = {3};
  OrtValue *in = nullptr, *out = nullptr;
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &in);
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &out);
  float* data = nullptr;
  CALL(GetTensorMutableData, in, reinterpret_cast<void**>(&data));
  for (int i = 0; i < 3; ++i) data[i] = float(i);
  b.in("x", in);
  b.out("y", out);
  s.api.ReleaseValue(in);
  b.run_and_note();
  s.api.ClearBoundInputs(b.binding);
  s.api.ReleaseIoBinding(b.binding);
  note_value(s, "out", out);
}

SCENE(binding_life, memory_of_the_sessions_allocator) {
  Binder b(s, negated());
  OrtAllocator* own = nullptr;
  CALL(CreateAllocator, b.session, b.cpu, &own);
  const int64_t shape[1] = {2};
  OrtValue* in = nullptr;
  CALL(CreateTensorAsOrtValue, own, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &in);
  float* data = nullptr;
  CALL(GetTensorMutableData, in, reinterpret_cast<void**>(&data));
  data[0] = 1;
  data[1] = 2;
  b.in("x", in);
  b.out("y");
  b.run();
  const auto held = b.values();
  s.api.ReleaseIoBinding(b.binding);
  s.api.ReleaseAllocator(own);
  s.api.ReleaseSession(b.session);
  note_value(s, "in", in);
  note_value(s, "out", held[0]);
  s.api.ReleaseValue(in);
  s.api.ReleaseValue(held[0]);
}

SCENE(binding_life, two_bindings_after_each_other) {
  float x[2] = {1, 2}, z[2] = {5, 6};
  Binder first(s, negated());
  first.in("x", floats(s, x, {2}));
  first.out("y");
  first.run();
  const auto held = first.values();
  s.api.ReleaseIoBinding(first.binding);
  Binder second(s, first.session);
  second.in("x", floats(s, z, {2}));
  second.out("y");
  second.run_and_note();
  note_value(s, "held", held[0]);
}

SCENE(binding_life, beside_runs_by_name) {
  float x[2] = {1, 2}, y[2] = {};
  Binder b(s, negated());
  OrtValue *in = floats(s, x, {2}), *out = floats(s, y, {2}), *made = nullptr;
  b.in("x", in);
  b.out("y", out);
  b.run();
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  x[0] = 10;
  CALL(Run, b.session, nullptr, inputs, &in, 1, outputs, 1, &made);
  note_value(s, "made", made);
  note_all(s, "y", y);
  CALL(Run, b.session, nullptr, inputs, &in, 1, outputs, 1, &out);
  note_all(s, "y", y);
  b.note();
}

SCENE(binding_life, rebinding_between_runs) {
  float x[2] = {1, 2}, z[2] = {5, 6}, y[2] = {}, other[2] = {};
  Binder b(s, negated());
  OrtValue *one = floats(s, x, {2}), *two = floats(s, z, {2});
  b.out("y", floats(s, y, {2}));
  b.in("x", one);
  b.run();
  b.in("x", two);
  b.run();
  note_all(s, "y", y);
  b.out("y", floats(s, other, {2}));
  b.in("x", one);
  b.run();
  note_all(s, "y", y);
  note_all(s, "other", other);
}

SCENE(binding_life, a_run_fails_and_the_next_does_not) {
  float x[3] = {1, 2, 3};
  int64_t at[2] = {0, 3};
  Binder b(s, picking());
  b.in("x", floats(s, x, {3}));
  b.in("at", integers(s, at, {2}));
  b.out("picked");
  b.out("y");
  b.run();
  at[1] = -1;
  b.run_and_note();
  at[1] = -4;
  b.run();
  at[1] = 1;
  b.run_and_note();
}

SCENE(binding_life, a_run_into_given_memory_fails) {
  float x[3] = {1, 2, 3}, y[3] = {}, picked[2] = {7, 7};
  int64_t at[2] = {0, 5};
  Binder b(s, picking());
  b.in("x", floats(s, x, {3}));
  b.in("at", integers(s, at, {2}));
  b.out("picked", floats(s, picked, {2}));
  b.out("y", floats(s, y, {3}));
  b.run();
  note_all(s, "y", y);
  s.note("beyond", picked[1]);
  at[1] = 2;
  b.run_and_note();
}

SCENE(binding_life, division_by_zero) {
  Binder b(s, Maker()
                  .input("x", tensor_type(7, {2}))
                  .input("d", tensor_type(7, {2}))
                  .node("Div", {"x", "d"}, {"y"})
                  .output("y", tensor_type(7, {2})));
  int64_t x[2] = {7, 8}, d[2] = {2, 3};
  b.in("x", integers(s, x, {2}));
  b.in("d", integers(s, d, {2}));
  b.out("y");
  b.run_and_note();
  d[1] = 0;
  b.run();
  d[1] = -1;
  b.run_and_note();
}

SCENE(binding_life, a_shape_that_cannot_be) {
  Binder b(s, Maker()
                  .floats_in("x", {"n"})
                  .input("shape", tensor_type(7, {2}))
                  .node("Reshape", {"x", "shape"}, {"y"})
                  .floats_out("y", {"a", "b"}));
  float x[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {4, 2};
  b.in("x", floats(s, x, {6}));
  b.in("shape", integers(s, shape, {2}));
  b.out("y");
  b.run();
  shape[0] = 3;
  b.run_and_note();
  shape[0] = -1;
  b.out("y");
  b.run_and_note();
}

SCENE(binding_life, terminated) {
  float x[2] = {1, 2}, y[2] = {};
  Binder b(s, negated());
  OrtRunOptions* o = nullptr;
  CALL(CreateRunOptions, &o);
  b.in("x", floats(s, x, {2}));
  b.out("y", floats(s, y, {2}));
  CALL(RunOptionsSetTerminate, o);
  b.run(o);
  note_all(s, "y", y);
  b.run();
  note_all(s, "y", y);
  CALL(RunOptionsUnsetTerminate, o);
  y[0] = 0;
  b.run(o);
  note_all(s, "y", y);
  s.api.ReleaseRunOptions(o);
  b.run_and_note();
}

SCENE(binding_life, a_dimension_clash_then_recovery) {
  Binder b(s, Maker()
                  .floats_in("a", {"n", "k"})
                  .floats_in("b", {"l", "m"})
                  .node("MatMul", {"a", "b"}, {"y"})
                  .floats_out("y", {"n", "m"}));
  float x[6] = {1, 2, 3, 4, 5, 6};
  b.in("a", floats(s, x, {2, 3}));
  b.in("b", floats(s, x, {2, 3}));
  b.out("y");
  b.run();
  b.in("b", floats(s, x, {3, 2}));
  b.run_and_note();
}
