// The loopback provider: where a copy more than needed would come easily.
#include "loop/loop.h"

using namespace scenes;

namespace {

const char* const kPlaces[] = {"host", "pinned", "device"};

Maker xy() { return Maker().floats_in("x", {2}).floats_out("y", {2}); }

/// Makes a session and notes what that copied, for both styles of the provider.
void make_and_note(Scene& s, Loop& loop, const Maker& model) {
  for (const char* style : {"compiled", "kernels"}) {
    loop.forget();
    OrtSession* session = model.open(s, loop.options({{"style", style}}));
    loop.note_counts("the session");
    loop.run(session, loop.tensor(Where::device, {2}, {1, -2}));
  }
}

/// Binds "x" in each place and makes "y" and another output on the host and on the device.
void bind_everywhere(Scene& s, const Maker& model, const char* other) {
  Loop loop(s);
  for (const char* style : {"compiled", "kernels"}) {
    Binder b(s, model, loop.options({{"style", style}}));
    for (const Where in : {Where::host, Where::pinned, Where::device}) {
      for (const Where out : {Where::host, Where::device}) {
        s.note("from", kPlaces[int(in)]);
        b.in("x", loop.tensor(in, {2}, {1, -2}));
        CALL(BindOutputToDevice, b.binding, "y", loop.memory(out));
        CALL(BindOutputToDevice, b.binding, other, loop.memory(out));
        loop.forget();
        for (int i = 0; i < 2; ++i) b.run();
        loop.note_counts("two runs");
        loop.note(b);
      }
    }
  }
}

}  // namespace

SCENE(loopback_copies, a_constant_of_several_parts) {
  Loop loop(s);
  make_and_note(s, loop,
                xy().floats("w", {2}, {3, 4})
                    .node("Mul", {"x", "w"}, {"a"})
                    .node("Abs", {"a"}, {"b"})
                    .node("Add", {"b", "w"}, {"c"})
                    .node("Abs", {"c"}, {"d"})
                    .node("Sub", {"d", "w"}, {"y"}));
}

SCENE(loopback_copies, a_constant_that_is_packed_twice) {
  Loop loop(s);
  make_and_note(s, loop,
                xy().floats("w", {2, 2}, {1, 2, 3, 4})
                    .node("MatMul", {"x", "w"}, {"a"})
                    .node("MatMul", {"a", "w"}, {"b"})
                    .node("MatMul", {"w", "b"}, {"y"}));
}

SCENE(loopback_copies, an_input_is_an_output) {
  bind_everywhere(s, xy().node("Neg", {"x"}, {"y"}).floats_out("x", {2}), "x");
}

SCENE(loopback_copies, an_input_of_the_cpu_is_an_output) {
  bind_everywhere(s, xy().node("Abs", {"x"}, {"y"}).floats_out("x", {2}), "x");
}

SCENE(loopback_copies, an_input_of_both_is_an_output) {
  bind_everywhere(s, xy().node("Abs", {"x"}, {"a"}).node("Add", {"a", "x"}, {"y"}).floats_out("x", {2}), "x");
}

SCENE(loopback_copies, an_output_that_nothing_computes) {
  bind_everywhere(s,
                  Maker()
                      .floats_in("x", {2})
                      .floats("w", {2}, {3, 4})
                      .node("Neg", {"w"}, {"y"})
                      .floats_out("y", {2})
                      .floats_out("x", {2}),
                  "x");
}

SCENE(loopback_copies, what_follows_of_constants) {
  Loop loop(s);
  make_and_note(s, loop,
                xy().floats("w", {2}, {3, -4})
                    .node("Neg", {"w"}, {"a"})
                    .node("Abs", {"a"}, {"b"})
                    .node("Mul", {"b", "w"}, {"c"})
                    .node("Floor", {"c"}, {"d"})
                    .node("Add", {"x", "d"}, {"y"}));
}

SCENE(loopback_copies, an_output_on_both_sides) {
  bind_everywhere(s, xy().node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"y"}).floats_out("a", {2}), "a");
}

SCENE(loopback_copies, an_initializer_is_an_output) {
  bind_everywhere(s, xy().floats("w", {2}, {3, 4}).node("Mul", {"x", "w"}, {"y"}).floats_out("w", {2}), "w");
}

SCENE(loopback_copies, an_initializer_of_the_cpu_is_an_output) {
  bind_everywhere(s, xy().floats("w", {2}, {3, 4}).node("Max", {"x", "w"}, {"y"}).floats_out("w", {2}), "w");
}

SCENE(loopback_copies, one_value_under_two_names) {
  bind_everywhere(s, xy().node("Neg", {"x"}, {"y"}).node("Identity", {"y"}, {"z"}).floats_out("z", {2}), "z");
}

SCENE(loopback_copies, two_parts_read_the_input) {
  bind_everywhere(s,
                  xy().node("Neg", {"x"}, {"a"})
                      .node("Abs", {"a"}, {"b"})
                      .node("Add", {"b", "x"}, {"c"})
                      .node("Abs", {"c"}, {"d"})
                      .node("Mul", {"d", "x"}, {"y"})
                      .floats_out("c", {2}),
                  "c");
}

SCENE(loopback_copies, a_value_in_the_model_is_bound) {
  Bound t(s, Maker()
                 .floats_in("x", {2})
                 .floats_in("w", {2})
                 .floats("w", {2}, {5, 6})
                 .floats("c", {2}, {7, 8})
                 .node("Mul", {"x", "w"}, {"a"})
                 .node("Add", {"a", "c"}, {"y"})
                 .floats_out("y", {2}));
  t.in("x", t.tensor(Where::device, {2}, {1, -2}));
  t.make("y");
  for (const Where where : {Where::host, Where::pinned, Where::device}) {
    t.forget();
    t.in("w", t.tensor(where, {2}, {100, 200}));
    t.b.run();
    t.b.run();
    t.note_counts("binding and two runs");
    t.note(t.b);
  }
}

// A step is one element by itself, so that it may write over what it reads; also where several follow each other.
SCENE(loopback_copies, element_by_element_in_place) {
  Loop loop(s);
  for (const char* style : {"compiled", "kernels"}) {
    Binder b(s,
             Maker()
                 .floats_in("x", {"n"})
                 .floats("w", {1}, {3})
                 .node("Mul", {"x", "w"}, {"a"})
                 .node("Neg", {"a"}, {"b"})
                 .node("Add", {"b", "a"}, {"c"})
                 .node("Relu", {"c"}, {"y"})
                 .floats_out("y", {"n"}),
             loop.options({{"style", style}}));
    OrtValue* both = loop.tensor(Where::device, {3}, {1, -2, 3});
    b.in("x", both);
    b.out("y", both);
    loop.forget();
    b.run();
    loop.note_counts("a run");
    loop.note("y", both);
  }
}
