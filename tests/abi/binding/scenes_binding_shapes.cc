// I/O binding: outputs of known and of unknown shape, memory that fits and memory that does not, shapes that change from
// run to run.
#include "binder.h"

using namespace scenes;

namespace {

/// y = x + x, s = the sum of each row.
Maker rows() {
  return Maker()
      .floats_in("x", {"n", 2})
      .integers("ax", {1}, {1})
      .node("Add", {"x", "x"}, {"y"})
      .node("ReduceSum", {"y", "ax"}, {"s"}, {attribute("keepdims", 0)})
      .floats_out("y", {"n", 2})
      .floats_out("s", {"n"});
}

Maker nonzero() {
  return Maker().floats_in("x", {"n"}).node("NonZero", {"x"}, {"places"}).output("places", tensor_type(7, {1, "k"}));
}

}  // namespace

SCENE(binding_shapes, growing_and_shrinking) {
  Binder b(s, rows());
  float x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (const int64_t n : {2, 5, 1, 4, 0, 3}) {
    b.in("x", floats(s, x, {n, 2}));
    b.out("y");
    b.out("s");
    b.run_and_note();
  }
}

SCENE(binding_shapes, growing_without_binding_outputs_again) {
  Binder b(s, rows());
  float x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  b.out("y");
  for (const int64_t n : {2, 5, 1, 2}) {
    b.in("x", floats(s, x, {n, 2}));
    b.run_and_note();
  }
}

SCENE(binding_shapes, results_of_all_runs_are_held) {
  Binder b(s, rows());
  float x[6] = {1, 2, 3, 4, 5, 6};
  std::vector<OrtValue*> held;
  for (const int64_t n : {3, 1, 2}) {
    b.in("x", floats(s, x, {n, 2}));
    b.out("y");
    b.run();
    for (OrtValue* v : b.values()) held.push_back(v);
    x[0] += 10;
  }
  for (const OrtValue* v : held) note_value(s, "held", v);
}

SCENE(binding_shapes, preallocated_for_each_batch) {
  Binder b(s, rows());
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {}, sums[4] = {};
  for (const int64_t n : {4, 1, 3}) {
    b.in("x", floats(s, x, {n, 2}));
    b.out("y", floats(s, y, {n, 2}));
    b.out("s", floats(s, sums, {n}));
    b.run_and_note();
  }
  note_all(s, "y", y);
  note_all(s, "sums", sums);
}

SCENE(binding_shapes, one_given_and_one_to_be_made) {
  Binder b(s, rows());
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  b.in("x", floats(s, x, {2, 2}));
  b.out("s");
  b.out("y", floats(s, y, {2, 2}));
  b.run_and_note();
  note_all(s, "y", y);
}

SCENE(binding_shapes, memory_that_is_too_large) {
  Binder b(s, rows());
  float x[4] = {1, 2, 3, 4}, y[6] = {7, 7, 7, 7, 7, 7};
  b.in("x", floats(s, x, {2, 2}));
  b.out("y", floats(s, y, {3, 2}));
  b.run();
  note_all(s, "y", y);
}

SCENE(binding_shapes, memory_that_is_too_small) {
  Binder b(s, rows());
  float x[4] = {1, 2, 3, 4}, y[4] = {7, 7, 7, 7};
  b.in("x", floats(s, x, {2, 2}));
  b.out("y", floats(s, y, {1, 2}));
  b.run();
  note_all(s, "y", y);
}

SCENE(binding_shapes, memory_of_another_rank) {
  Binder b(s, rows());
  float x[4] = {1, 2, 3, 4}, y[4] = {7, 7, 7, 7};
  b.in("x", floats(s, x, {2, 2}));
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{4}, {2, 2, 1}, {1, 4}, {}}) {
    b.out("y", floats(s, y, shape));
    b.run();
    note_all(s, "y", y);
  }
}

SCENE(binding_shapes, memory_of_another_type) {
  Binder b(s, rows());
  float x[4] = {1, 2, 3, 4};
  double wide[4] = {7, 7, 7, 7};
  int64_t whole[4] = {7, 7, 7, 7};
  b.in("x", floats(s, x, {2, 2}));
  b.out("y", over(s, wide, sizeof wide, {2, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE));
  b.run();
  b.out("y", integers(s, whole, {2, 2}));
  b.run();
  s.note("untouched", wide[0]);
  s.note("untouched", whole[0]);
  b.out("y", strings(s, {"a", "b"}));
  b.run();
}

SCENE(binding_shapes, an_input_grows_beyond_the_given_memory) {
  Binder b(s, rows());
  float x[6] = {1, 2, 3, 4, 5, 6}, y[4] = {}, large[6] = {};
  b.in("x", floats(s, x, {2, 2}));
  b.out("y", floats(s, y, {2, 2}));
  b.run();
  b.in("x", floats(s, x, {3, 2}));
  b.run();
  note_all(s, "y", y);
  b.out("y", floats(s, large, {3, 2}));
  b.run();
  note_all(s, "large", large);
}

SCENE(binding_shapes, scalars) {
  Binder b(s, Maker().floats_in("x", {}).node("Neg", {"x"}, {"y"}).floats_out("y", {}));
  float x[1] = {3}, y[1] = {};
  b.in("x", floats(s, x, {}));
  b.out("y");
  b.run_and_note();
  b.out("y", floats(s, y, {}));
  b.run_and_note();
  b.out("y", floats(s, y, {1}));
  b.run_and_note();
  b.out("y");
  b.in("x", floats(s, x, {1}));
  b.run_and_note();
}

SCENE(binding_shapes, nothing_in_nothing_out) {
  Binder b(s, rows());
  float x[1] = {}, y[1] = {7};
  b.in("x", floats(s, x, {0, 2}));
  b.out("y");
  b.out("s");
  b.run_and_note();
  b.out("y", floats(s, y, {0, 2}));
  b.out("s", floats(s, y, {0}));
  b.run_and_note();
  note_all(s, "y", y);
}

SCENE(binding_shapes, nothing_at_no_address) {
  Binder b(s, rows());
  b.in("x", over(s, nullptr, 0, {0, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  b.out("y", over(s, nullptr, 0, {0, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  b.run_and_note();
}

SCENE(binding_shapes, sums_of_nothing) {
  Binder b(s, Maker()
                  .floats_in("x", {"n", 2})
                  .integers("ax", {1}, {0})
                  .node("ReduceSum", {"x", "ax"}, {"y"}, {attribute("keepdims", 0)})
                  .floats_out("y", {2}));
  float x[1] = {}, y[2] = {7, 7};
  b.in("x", floats(s, x, {0, 2}));
  b.out("y", floats(s, y, {2}));
  b.run_and_note();
}

SCENE(binding_shapes, shape_from_data) {
  Binder b(s, nonzero());
  float x[4] = {0, 5, 0, 6}, zeros[4] = {};
  b.in("x", floats(s, x, {4}));
  b.out("places");
  b.run_and_note();
  b.in("x", floats(s, zeros, {4}));
  b.out("places");
  b.run_and_note();
}

SCENE(binding_shapes, shape_from_data_into_given_memory) {
  Binder b(s, nonzero());
  float x[4] = {0, 5, 0, 6}, more[4] = {1, 1, 0, 1};
  int64_t places[2] = {-7, -7};
  b.in("x", floats(s, x, {4}));
  b.out("places", integers(s, places, {1, 2}));
  b.run_and_note();
  b.in("x", floats(s, more, {4}));
  b.run();
  note_all(s, "places", places);
  b.in("x", floats(s, x, {4}));
  b.run_and_note();
}

SCENE(binding_shapes, a_view_of_a_shape_that_comes_late) {
  Binder b(s, open(s, "late_view"));
  float x[6] = {1, 0, 2, 3, 0, 0}, y[12] = {};
  b.in("x", floats(s, x, {6}));
  b.out("y", floats(s, y, {4, 3}));
  b.out("flat");
  b.run_and_note();
  note_all(s, "y", y);
}

SCENE(binding_shapes, no_shape_is_declared) {
  Binder b(s, Maker().input("x", tensor_type(1)).node("Neg", {"x"}, {"y"}).output("y", tensor_type(1)));
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{4}, {2, 2}, {1, 1, 4}}) {
    b.in("x", floats(s, x, shape));
    b.out("y");
    b.run_and_note();
    b.out("y", floats(s, y, shape));
    b.run_and_note();
  }
}

SCENE(binding_shapes, the_declared_output_shape_lies) {
  Binder b(s, Maker().floats_in("x", {"n"}).node("Neg", {"x"}, {"y"}).floats_out("y", {"other"}));
  float x[4] = {1, 2, 3, 4};
  b.in("x", floats(s, x, {4}));
  b.out("y");
  b.run_and_note();
}

SCENE(binding_shapes, inputs_that_do_not_fit) {
  Binder b(s, rows());
  float x[6] = {1, 2, 3, 4, 5, 6};
  b.out("y");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3}, {6}, {1, 2, 2}, {}, {3, 2}}) {
    b.in("x", floats(s, x, shape));
    b.run();
  }
  b.note();
}

SCENE(binding_shapes, one_name_with_two_extents) {
  Binder b(s,
           Maker().floats_in("a", {"n"}).floats_in("b", {"n"}).node("Add", {"a", "b"}, {"y"}).floats_out("y", {"n"}));
  float x[3] = {1, 2, 3};
  b.in("a", floats(s, x, {3}));
  b.in("b", floats(s, x, {1}));
  b.out("y");
  b.run_and_note();
  b.in("b", floats(s, x, {2}));
  b.out("y");
  b.run();
  b.in("b", floats(s, x, {3}));
  b.run_and_note();
}

SCENE(binding_shapes, extents_override) {
  OrtSessionOptions* o = s.options();
  CALL(AddFreeDimensionOverrideByName, o, "n", 2);
  Binder b(s, rows(), o);
  float x[6] = {1, 2, 3, 4, 5, 6};
  b.in("x", floats(s, x, {2, 2}));
  b.out("y");
  b.run_and_note();
  b.in("x", floats(s, x, {3, 2}));
  b.run();
}
