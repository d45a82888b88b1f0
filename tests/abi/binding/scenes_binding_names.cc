// I/O binding: names, and what a binding says about what is bound.
#include "binder.h"

using namespace scenes;

namespace {

void named(Scene& s, const std::string& in, const std::string& out) {
  Binder b(s, Maker().floats_in(in, {2}).node("Neg", {in}, {out}).floats_out(out, {2}));
  if (!b.session) return;
  float x[2] = {1, 2};
  b.in(in.c_str(), floats(s, x, {2}));
  b.out(out.c_str());
  b.run_and_note();
}

Maker three() {
  return Maker()
      .floats_in("x", {"n"})
      .node("Neg", {"x"}, {"a"})
      .node("Abs", {"x"}, {"b"})
      .node("Exp", {"x"}, {"c"})
      .floats_out("a", {"n"})
      .floats_out("b", {"n"})
      .floats_out("c", {"n"});
}

}  // namespace

SCENE(binding_names, of_other_alphabets) { named(s, "ключ/вход", "出力🙂"); }
SCENE(binding_names, with_blanks) { named(s, " x y ", "tab\tand\nline"); }
SCENE(binding_names, with_quotes) { named(s, "'x'", "\"y\\\""); }
SCENE(binding_names, with_numbers_and_colons) { named(s, "0", "model/layer:0"); }
SCENE(binding_names, of_bytes_that_are_no_text) { named(s, "\xff\xfe", "\x01\x80"); }
SCENE(binding_names, that_are_long) { named(s, std::string(3000, 'x'), std::string(5000, 'y')); }
SCENE(binding_names, that_differ_in_case) { named(s, "X", "x"); }

SCENE(binding_names, that_are_nearly_right) {
  Binder b(s, three());
  float x[1] = {1};
  OrtValue* value = floats(s, x, {1});
  for (const char* name : {"X", "x ", " x", "", "xx"}) {
    Binder other(s, b.session);
    other.in(name, value);
  }
  for (const char* name : {"A", "a ", "", "aa", "x"}) {
    Binder other(s, b.session);
    other.in("x", value);
    other.out(name);
    other.run();
  }
}

SCENE(binding_names, before_and_after_runs_and_clearing) {
  Binder b(s, three());
  float x[2] = {0, 1};
  b.in("x", floats(s, x, {2}));
  b.note();
  b.out("c");
  b.out("a");
  b.note();
  b.run_and_note();
  s.api.ClearBoundOutputs(b.binding);
  b.note();
  b.out("b");
  b.note();
  b.run_and_note();
  s.api.ClearBoundInputs(b.binding);
  b.note();
  b.run();
  b.note();
}

SCENE(binding_names, order_of_binding_again) {
  Binder b(s, three());
  float x[2] = {0, 1}, memory[2] = {};
  b.in("x", floats(s, x, {2}));
  b.out("c");
  b.out("b");
  b.out("a");
  b.run();
  b.out("b", floats(s, memory, {2}));
  b.note();
  b.out("c");
  b.run_and_note();
  note_all(s, "memory", memory);
}

SCENE(binding_names, values_are_new_handles_each_time) {
  Binder b(s, three());
  float x[2] = {0, 1};
  b.in("x", floats(s, x, {2}));
  b.out("a");
  b.run();
  const auto first = b.values(), second = b.values();
  s.note("another handle", first[0] != second[0]);
  const void *p = nullptr, *q = nullptr;
  CALL(GetTensorData, first[0], &p);
  CALL(GetTensorData, second[0], &q);
  s.note("the same memory", p == q);
  s.api.ReleaseValue(first[0]);
  note_value(s, "second", second[0]);
}

SCENE(binding_names, a_handle_from_before_the_first_run) {
  Binder b(s, three());
  float x[2] = {0, 1};
  b.in("x", floats(s, x, {2}));
  b.out("a");
  const auto early = b.values();
  b.run();
  note_value(s, "early", early[0]);
}

SCENE(binding_names, an_empty_value_is_bound) {
  Binder b(s, three());
  float x[2] = {0, 1};
  b.in("x", floats(s, x, {2}));
  b.out("a");
  const auto early = b.values();
  b.out("b", early[0]);
  b.run_and_note();
}

SCENE(binding_names, a_value_that_was_got_is_bound) {
  Binder b(s, three());
  float x[2] = {0, 1};
  b.in("x", floats(s, x, {2}));
  b.out("c");
  b.run();
  const auto got = b.values();
  b.in("x", got[0]);
  b.out("a");
  b.run_and_note();
  b.out("c", got[0]);
  b.run_and_note();
}

SCENE(binding_names, of_an_output_that_the_model_does_not_have) {
  Binder b(s, three());
  float x[2] = {0, 1};
  b.in("x", floats(s, x, {2}));
  b.out("a");
  b.out("d");
  b.run();
  b.note();
  s.api.ClearBoundOutputs(b.binding);
  b.out("a");
  b.run_and_note();
}

SCENE(binding_names, synchronised_at_any_time) {
  Binder b(s, three());
  float x[2] = {0, 1};
  CALL(SynchronizeBoundInputs, b.binding);
  CALL(SynchronizeBoundOutputs, b.binding);
  b.in("x", floats(s, x, {2}));
  CALL(SynchronizeBoundInputs, b.binding);
  b.out("a");
  CALL(SynchronizeBoundOutputs, b.binding);
  b.run();
  CALL(SynchronizeBoundOutputs, b.binding);
  CALL(SynchronizeBoundInputs, b.binding);
  s.api.ClearBoundOutputs(b.binding);
  CALL(SynchronizeBoundOutputs, b.binding);
  s.api.ClearBoundInputs(b.binding);
  s.api.ClearBoundInputs(b.binding);
  CALL(SynchronizeBoundInputs, b.binding);
  b.note();
}

SCENE(binding_names, parts_are_missing) {
  Binder b(s, open(s, "step"));
  float x[4] = {1, 2, 3, 4}, y[4] = {7, 7, 7, 7};
  b.in("x", floats(s, x, {4}));
  b.out("state_out", floats(s, y, {4}));
  b.run();
  note_all(s, "y", y);
  b.in("state", floats(s, x, {4}));
  b.run_and_note();
  s.api.ClearBoundInputs(b.binding);
  b.in("state", floats(s, x, {4}));
  b.run();
}
