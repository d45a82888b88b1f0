// The loopback provider: what bindings do with values of a device. The same stories as in scenes_binding*.cc.
#include "loop/loop.h"

using namespace scenes;

namespace {

Maker two_outputs() {
  return Maker()
      .floats_in("x", {"n", 2})
      .integers("axis", {1}, {1})
      .node("Add", {"x", "x"}, {"y"})
      .node("ReduceSum", {"y", "axis"}, {"s"}, {attribute("keepdims", 0)})
      .floats_out("y", {"n", 2})
      .floats_out("s", {"n"});
}

}  // namespace

SCENE(loopback, a_shape_that_only_the_device_knows) {
  Bound t(s, Maker().floats_in("x", {"n"}).node("NonZero", {"x"}, {"at"}).output("at", tensor_type(7, {1, "k"})));
  for (const std::vector<float>& x : {std::vector<float>{0, 1, 0, 2}, {1, 2, 3, 4}, {0, 0, 0, 0}}) {
    t.in("x", t.tensor(Where::device, {4}, x));
    t.make("at");
    t.run_and_note();
  }
}

SCENE(loopback, batches_that_change) {
  Bound t(s, two_outputs());
  for (const int64_t n : {2, 5, 1, 4, 0, 3}) {
    t.in("x", t.tensor(Where::device, {n, 2}, counted(size_t(2 * n))));
    t.make("y");
    t.make("s", Where::host);
    t.run_and_note();
  }
}

SCENE(loopback, batches_that_change_without_binding_again) {
  Bound t(s, two_outputs());
  t.make("y");
  for (const int64_t n : {2, 2, 5, 1}) {
    t.in("x", t.tensor(Where::device, {n, 2}, counted(size_t(2 * n))));
    t.run_and_note();
  }
}

SCENE(loopback, given_for_each_batch) {
  Bound t(s, two_outputs());
  for (const int64_t n : {4, 1, 3}) {
    t.in("x", t.tensor(Where::device, {n, 2}, counted(size_t(2 * n))));
    t.b.out("y", t.empty(Where::device, {n, 2}));
    t.b.out("s", t.empty(Where::device, {n}));
    t.run_and_note();
  }
}

SCENE(loopback, one_output_given_and_one_made) {
  Bound t(s, two_outputs());
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  t.make("s");
  t.b.out("y", t.empty(Where::device, {2, 2}));
  for (int i = 0; i < 2; ++i) t.run_and_note();
}

SCENE(loopback, one_output_of_two) {
  Bound t(s, two_outputs());
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  t.make("s");
  t.run_and_note();
}

SCENE(loopback, no_outputs) {
  Bound t(s, two_outputs());
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  t.run_and_note();
}

SCENE(loopback, no_inputs) {
  Bound t(s, two_outputs());
  t.make("y");
  t.run_and_note();
}

SCENE(loopback, half_of_the_inputs) {
  Bound t(s, sum_of_two());
  t.make("y");
  t.in("a", t.tensor(Where::device, {2}, {1, 2}));
  t.run_and_note();
  t.in("b", t.tensor(Where::host, {2}, {10, 20}));
  t.run_and_note();
}

SCENE(loopback, inputs_in_two_places) {
  Bound t(s, sum_of_two());
  t.make("y");
  for (const Where first : {Where::host, Where::pinned, Where::device}) {
    t.in("a", t.tensor(first, {2}, {1, 2}));
    t.in("b", t.tensor(Where::device, {2}, {10, 20}));
    t.run_and_note();
  }
}

SCENE(loopback, memory_of_another_shape) {
  Bound t(s, two_outputs());
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 2}, {1, 2}, {4}, {2, 2, 1}}) {
    t.b.out("y", t.empty(Where::device, shape));
    t.b.run();
  }
  t.b.out("y", t.empty(Where::device, {2, 2}));
  t.run_and_note();
}

SCENE(loopback, memory_of_another_type) {
  Bound t(s, two_outputs());
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  for (const int type : {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64}) {
    t.b.out("y", t.empty(Where::device, {2, 2}, type));
    t.b.run();
  }
}

SCENE(loopback, an_input_of_another_type) {
  Bound t(s, two_outputs());
  t.make("y");
  t.in("x", t.empty(Where::device, {2, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE));
  t.b.run();
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  t.run_and_note();
}

SCENE(loopback, an_input_of_another_shape) {
  Bound t(s, two_outputs());
  t.make("y");
  t.in("x", t.tensor(Where::device, {2, 3}, counted(6)));
  t.b.run();
  t.in("x", t.tensor(Where::device, {2, 2}, counted(4)));
  t.run_and_note();
}

SCENE(loopback, reused_with_other_content) {
  Bound t(s, rows_of_two());
  OrtValue* x = t.tensor(Where::device, {1, 2}, {1, 2});
  t.in("x", x);
  t.make("y");
  for (const float v : {1.0f, 10.0f, -100.0f}) {
    float now[2] = {v, -v};
    const OrtValue* from = floats(s, now, {1, 2});
    CALL(CopyTensors, s.env(), &from, &x, nullptr, 1);
    t.run_and_note();
  }
}

// An input of the host is copied when it is bound: what changes later is not seen.
SCENE(loopback, host_content_changes_after_binding) {
  Bound t(s, rows_of_two());
  float x[2] = {1, -2};
  OrtValue* in = floats(s, x, {1, 2});
  t.make("y");
  t.forget();
  t.in("x", in);
  t.note_counts("binding");
  t.run_and_note();
  x[0] = 100;
  t.run_and_note();
  t.in("x", in);
  t.note_counts("binding");
  t.run_and_note();
}

SCENE(loopback, bound_again_between_runs) {
  Bound t(s, sum_of_two());
  t.in("b", t.tensor(Where::device, {2}, {10, 20}));
  t.make("y");
  for (int i = 0; i < 4; ++i) {
    t.in("a", t.tensor(i % 2 ? Where::host : Where::device, {2}, {float(i), float(-i)}));
    if (i == 2) t.b.out("y", t.empty(Where::host, {2}));
    t.run_and_note();
  }
}

SCENE(loopback, cleared_and_bound_again) {
  Bound t(s, sum_of_two());
  for (int i = 0; i < 2; ++i) {
    t.in("a", t.tensor(Where::device, {2}, {1, 2}));
    t.in("b", t.tensor(Where::host, {2}, {10, 20}));
    t.make("y");
    t.run_and_note();
    s.api.ClearBoundInputs(t.b.binding);
    t.b.run();
    s.api.ClearBoundOutputs(t.b.binding);
    t.note(t.b);
  }
}

SCENE(loopback, synchronised_at_any_time) {
  Bound t(s, sum_of_two());
  CALL(SynchronizeBoundInputs, t.b.binding);
  CALL(SynchronizeBoundOutputs, t.b.binding);
  t.in("a", t.tensor(Where::host, {2}, {1, 2}));
  CALL(SynchronizeBoundInputs, t.b.binding);
  t.in("b", t.tensor(Where::device, {2}, {10, 20}));
  CALL(SynchronizeBoundInputs, t.b.binding);
  t.make("y");
  CALL(SynchronizeBoundOutputs, t.b.binding);
  t.run_and_note();
  CALL(SynchronizeBoundInputs, t.b.binding);
  CALL(SynchronizeBoundOutputs, t.b.binding);
}
