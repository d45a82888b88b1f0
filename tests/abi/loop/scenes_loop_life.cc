// The loopback provider: memory that is bound twice, belongs to the model, or outlives what it came from.
#include <atomic>
#include <thread>

#include "loop/loop.h"

using namespace scenes;

SCENE(loopback, one_value_in_and_out) {
  Bound t(s, one_node("Neg", {"n"}));
  OrtValue* both = t.tensor(Where::device, {5}, counted(5));
  t.in("x", both);
  t.b.out("y", both);
  for (int i = 0; i < 3; ++i) t.run_and_note();
  t.note("x", both);
}

SCENE(loopback, an_output_over_an_input_that_is_needed_again) {
  Bound t(s, Maker()
                 .floats_in("x", {4})
                 .node("Neg", {"x"}, {"y"})
                 .node("Mul", {"y", "x"}, {"z"})
                 .floats_out("y", {4})
                 .floats_out("z", {4}));
  OrtValue* both = t.tensor(Where::device, {4}, counted(4));
  t.in("x", both);
  t.b.out("y", both);
  t.make("z");
  t.forget();
  t.b.run();
  s.note("parts that ran", t.counts().runs);
  t.note("z", t.b.values().at(1));
}

SCENE(loopback, two_inputs_from_one_value) {
  Bound t(s, sum_of_two());
  OrtValue* both = t.tensor(Where::device, {2}, {1, 2});
  t.in("a", both);
  t.in("b", both);
  t.make("y");
  t.run_and_note();
}

SCENE(loopback, two_inputs_from_one_value_of_the_host) {
  Bound t(s, sum_of_two());
  OrtValue* both = t.tensor(Where::host, {2}, {1, 2});
  t.forget();
  t.in("a", both);
  t.in("b", both);
  t.note_counts("binding");
  t.make("y");
  t.run_and_note();
}

SCENE(loopback, one_value_under_two_outputs) {
  Bound t(s, Maker()
                 .floats_in("x", {2})
                 .node("Neg", {"x"}, {"y"})
                 .node("Relu", {"x"}, {"z"})
                 .floats_out("y", {2})
                 .floats_out("z", {2}));
  t.in("x", t.tensor(Where::device, {2}, {1, -2}));
  OrtValue* both = t.empty(Where::device, {2});
  t.b.out("y", both);
  t.b.out("z", both);
  t.b.run();
}

SCENE(loopback, an_input_is_an_output) {
  Bound t(s, Maker().floats_in("x", {2}).node("Neg", {"x"}, {"y"}).floats_out("y", {2}).floats_out("x", {2}));
  t.in("x", t.tensor(Where::device, {2}, {1, -2}));
  t.make("y");
  t.make("x");
  t.run_and_note();
}

SCENE(loopback, an_initializer_is_an_output) {
  Bound t(s, Maker()
                 .floats_in("x", {2})
                 .floats("w", {2}, {5, 6})
                 .node("Mul", {"x", "w"}, {"y"})
                 .floats_out("y", {2})
                 .floats_out("w", {2}));
  t.in("x", t.tensor(Where::device, {2}, {1, -2}));
  t.make("y");
  t.make("w");
  t.b.run();
  t.note("y", t.b.values().at(0));
  t.make("w", Where::host);
  t.b.run();
  t.note("w", t.b.values().at(1));
}

SCENE(loopback, an_overridable_initializer_is_bound) {
  Bound t(s, Maker()
                 .floats_in("x", {2})
                 .floats_in("w", {2})
                 .floats("w", {2}, {5, 6})
                 .node("Mul", {"x", "w"}, {"y"})
                 .floats_out("y", {2}));
  t.in("x", t.tensor(Where::device, {2}, {1, -2}));
  t.make("y");
  t.run_and_note();
  t.in("w", t.tensor(Where::device, {2}, {100, 200}));
  t.run_and_note();
}

SCENE(loopback, scalars) {
  Bound t(s, one_node("Neg", {}));
  t.in("x", t.tensor(Where::device, {}, {3}));
  t.make("y");
  t.run_and_note();
  t.b.out("y", t.empty(Where::device, {}));
  t.run_and_note();
}

SCENE(loopback, nothing_in_it) {
  Bound t(s, rows_of_two());
  for (const Where where : {Where::host, Where::device}) {
    t.in("x", t.tensor(where, {0, 2}, {}));
    t.make("y", where);
    t.run_and_note();
  }
}

SCENE(loopback, results_that_are_held) {
  Bound t(s, rows_of_two());
  t.make("y");
  std::vector<OrtValue*> held;
  for (int i = 1; i < 4; ++i) {
    t.in("x", t.tensor(Where::device, {1, 2}, {float(i), float(-i)}));
    t.make("y");
    t.b.run();
    for (OrtValue* v : t.b.values()) held.push_back(v);
  }
  for (const OrtValue* v : held) t.note("held", v);
}

SCENE(loopback, a_cache_that_grows) {
  Bound t(s, Maker()
                 .floats_in("past", {"n", 2})
                 .floats_in("x", {1, 2})
                 .node("Concat", {"past", "x"}, {"present"}, {attribute("axis", 0)})
                 .floats_out("present", {"m", 2}));
  OrtValue* past = t.tensor(Where::device, {1, 2}, {1, 2});
  for (int i = 0; i < 4; ++i) {
    t.in("past", past);
    t.in("x", t.tensor(Where::device, {1, 2}, {float(i), float(-i)}));
    t.make("present");
    t.forget();
    t.b.run();
    t.note_counts("the run");
    past = t.b.values().at(0);
  }
  t.note("present", past);
}

SCENE(loopback, an_output_is_the_next_input) {
  Bound t(s, one_node("Neg", {"n"}));
  OrtValue* x = t.tensor(Where::device, {3}, counted(3));
  t.make("y");
  for (int i = 0; i < 3; ++i) {
    t.in("x", x);
    t.make("y");
    t.forget();
    t.b.run();
    t.note_counts("the run");
    x = t.b.values().at(0);
  }
  t.note("y", x);
}

SCENE(loopback, two_bindings) {
  Bound t(s, rows_of_two());
  Binder second(s, t.b.session);
  t.in("x", t.tensor(Where::device, {1, 2}, {1, -1}));
  second.in("x", t.tensor(Where::host, {1, 2}, {2, -2}));
  t.make("y");
  second.out("y");
  for (int i = 0; i < 2; ++i) {
    t.run_and_note();
    t.forget();
    second.run();
    t.note_counts("the run");
    t.note(second);
  }
}

SCENE(loopback, bindings_at_the_same_time) {
  Loop loop(s, {{"delay_us", "200"}});
  OrtSession* session = rows_of_two().open(s, loop.options());
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int n = 1; n <= 4; ++n) {
    OrtIoBinding* binding = nullptr;
    CALL(CreateIoBinding, session, &binding);
    OrtValue* x = loop.tensor(Where::device, {1, 2}, {float(n), float(-n)});
    float* y = new float[2]{};
    CALL(BindInput, binding, "x", x);
    CALL(BindOutput, binding, "y", floats(s, y, {1, 2}));
    threads.emplace_back([&s, &bad, session, binding, y, n] {
      for (int i = 0; i < 20; ++i) {
        y[0] = 0;
        OrtStatus* status = s.api.RunWithBinding(session, nullptr, binding);
        bad += status || y[0] != float(3 * n);
        s.api.ReleaseStatus(status);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  s.note("bad", bad.load());
  loop.note_counts("all runs");
}

SCENE(loopback, results_outlive_the_session) {
  Bound t(s, rows_of_two());
  t.in("x", t.tensor(Where::device, {1, 2}, {1, -1}));
  t.make("y");
  t.b.run();
  OrtValue* y = t.b.values().at(0);
  s.api.ReleaseIoBinding(t.b.binding);
  s.api.ReleaseSession(t.b.session);
  t.note("y", y);
  s.api.ReleaseValue(y);
}

SCENE(loopback, given_values_are_released_before_the_run) {
  Bound t(s, rows_of_two());
  OrtValue *x = t.tensor(Where::device, {1, 2}, {1, -1}), *y = t.empty(Where::device, {1, 2});
  t.in("x", x);
  t.b.out("y", y);
  s.api.ReleaseValue(x);
  s.api.ReleaseValue(y);
  t.run_and_note();
}

SCENE(loopback, all_memory_comes_back) {
  Loop loop(s);
  const int64_t before = loop.counts().alive;
  for (int i = 0; i < 3; ++i) {
    Binder b(s, rows_of_two(), loop.options());
    OrtValue* x = loop.tensor(Where::device, {1, 2}, {1, -1});
    b.in("x", x);
    CALL(BindOutputToDevice, b.binding, "y", loop.memory(Where::device));
    b.run();
    s.api.ReleaseValue(x);
    s.api.ReleaseIoBinding(b.binding);
    s.api.ReleaseSession(b.session);
  }
  s.note("blocks left", loop.counts().alive - before);
  s.note("streams left", loop.counts().streams);
}
