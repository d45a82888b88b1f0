// I/O binding: memory that is bound twice, overlaps, is not aligned, or belongs to the model.
#include <numeric>

#include "binder.h"

using namespace scenes;

namespace {

/// Notes whether the elements are what they should be, where what they are otherwise would differ from machine to machine.
template <size_t N>
void note_right(Scene& s, const float* data, const float (&wanted)[N]) {
  float copy[N];
  std::memcpy(copy, data, sizeof copy);
  s.note("elements are right", std::memcmp(copy, wanted, sizeof copy) == 0);
}

Maker unary(const char* type, const Extents& in, const Extents& out, const std::vector<Message>& attributes = {}) {
  return Maker().floats_in("x", in).node(type, {"x"}, {"y"}, attributes).floats_out("y", out);
}

}  // namespace

SCENE(binding_alias, one_value_in_and_out) {
  Binder b(s, unary("Neg", {"n"}, {"n"}));
  float x[5] = {1, 2, 3, 4, 5};
  OrtValue* both = floats(s, x, {5});
  b.in("x", both);
  b.out("y", both);
  for (int i = 0; i < 3; ++i) b.run_and_note();
  note_all(s, "x", x);
}

SCENE(binding_alias, two_values_over_one_place) {
  Binder b(s, unary("Relu", {"n"}, {"n"}));
  float x[5] = {1, -2, 3, -4, 5};
  b.in("x", floats(s, x, {5}));
  b.out("y", floats(s, x, {5}));
  b.run_and_note();
}

SCENE(binding_alias, softmax_over_its_input) {
  Binder b(s, unary("Softmax", {2, 2}, {2, 2}));
  float x[4] = {0, 0, 1, 1};
  b.in("x", floats(s, x, {2, 2}));
  b.out("y", floats(s, x, {2, 2}));
  b.run_and_note();
}

SCENE(binding_alias, a_chain_over_its_input) {
  Binder b(s, Maker()
                  .floats_in("x", {4})
                  .node("Neg", {"x"}, {"n"})
                  .node("Abs", {"n"}, {"a"})
                  .node("Sqrt", {"a"}, {"y"})
                  .floats_out("y", {4}));
  float x[4] = {1, 16, 81, 256};
  b.in("x", floats(s, x, {4}));
  b.out("y", floats(s, x, {4}));
  b.run_and_note();
  b.run_and_note();
}

SCENE(binding_alias, elementwise_onto_later_elements) {
  Binder b(s, unary("Neg", {64}, {64}));
  float x[72], wanted[64];
  std::iota(x, x + 72, 1.0f);
  for (int i = 0; i < 64; ++i) wanted[i] = -x[i];
  b.in("x", floats(s, x, {64}));
  b.out("y", floats(s, x + 1, {64}));
  b.run();
  note_right(s, x + 1, wanted);
}

SCENE(binding_alias, elementwise_onto_earlier_elements) {
  Binder b(s, unary("Neg", {64}, {64}));
  float x[72], wanted[64];
  std::iota(x, x + 72, 1.0f);
  for (int i = 0; i < 64; ++i) wanted[i] = -x[i + 3];
  b.in("x", floats(s, x + 3, {64}));
  b.out("y", floats(s, x, {64}));
  b.run();
  note_right(s, x, wanted);
}

SCENE(binding_alias, a_transpose_over_its_input) {
  Binder b(s, unary("Transpose", {2, 3}, {3, 2}));
  float x[6] = {1, 2, 3, 4, 5, 6};
  b.in("x", floats(s, x, {2, 3}));
  b.out("y", floats(s, x, {3, 2}));
  b.run();
  note_right(s, x, {1, 4, 2, 5, 3, 6});
}

SCENE(binding_alias, a_product_over_its_input) {
  Binder b(
      s,
      Maker().floats_in("x", {2, 2}).floats_in("w", {2, 2}).node("MatMul", {"x", "w"}, {"y"}).floats_out("y", {2, 2}));
  float x[4] = {1, 2, 3, 4}, w[4] = {0, 1, 1, 1};
  b.in("x", floats(s, x, {2, 2}));
  b.in("w", floats(s, w, {2, 2}));
  b.out("y", floats(s, x, {2, 2}));
  b.run();
  note_right(s, x, {2, 3, 4, 7});
}

SCENE(binding_alias, an_input_that_is_needed_again) {
  Binder b(s, Maker()
                  .floats_in("x", {4})
                  .node("Neg", {"x"}, {"y"})
                  .node("Exp", {"y"}, {"e"})
                  .node("Add", {"e", "x"}, {"z"})
                  .floats_out("y", {4})
                  .floats_out("z", {4}));
  float x[4] = {0, 0, 0, 0}, z[4] = {};
  b.in("x", floats(s, x, {4}));
  b.out("y", floats(s, x, {4}));
  b.out("z", floats(s, z, {4}));
  b.run_and_note();
}

SCENE(binding_alias, an_input_that_a_broadcast_needs_again) {
  Binder b(s, Maker().floats_in("x", {4}).floats_in("w", {1}).node("Add", {"x", "w"}, {"y"}).floats_out("y", {4}));
  float x[4] = {1, 2, 3, 4};
  b.in("x", floats(s, x, {4}));
  b.in("w", floats(s, x, {1}));
  b.out("y", floats(s, x, {4}));
  b.run();
  note_right(s, x, {2, 3, 4, 5});
}

SCENE(binding_alias, a_reshape_over_its_input) {
  Binder b(s, Maker()
                  .floats_in("x", {2, 3})
                  .integers("shape", {1}, {6})
                  .node("Reshape", {"x", "shape"}, {"y"})
                  .floats_out("y", {6}));
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {};
  b.in("x", floats(s, x, {2, 3}));
  b.out("y", floats(s, x, {6}));
  b.run_and_note();
  b.out("y", floats(s, y, {6}));
  b.run_and_note();
  b.out("y");
  b.run_and_note();
  x[0] = 100;
  b.note();
}

SCENE(binding_alias, two_inputs_from_one_value) {
  Binder b(s, Maker().floats_in("a", {3}).floats_in("b", {3}).node("Mul", {"a", "b"}, {"y"}).floats_out("y", {3}));
  float x[3] = {1, 2, 3};
  OrtValue* one = floats(s, x, {3});
  b.in("a", one);
  b.in("b", one);
  b.out("y");
  b.run_and_note();
  b.out("y", one);
  b.run_and_note();
}

SCENE(binding_alias, two_inputs_that_overlap) {
  Binder b(s, Maker().floats_in("a", {3}).floats_in("b", {3}).node("Sub", {"a", "b"}, {"y"}).floats_out("y", {3}));
  float x[4] = {1, 2, 4, 8};
  b.in("a", floats(s, x + 1, {3}));
  b.in("b", floats(s, x, {3}));
  b.out("y");
  b.run_and_note();
}

SCENE(binding_alias, two_outputs_in_one_place) {
  Binder b(s, Maker()
                  .floats_in("x", {3})
                  .node("Neg", {"x"}, {"y"})
                  .node("Exp", {"x"}, {"z"})
                  .floats_out("y", {3})
                  .floats_out("z", {3}));
  float x[3] = {0, 0, 0}, y[3] = {7, 7, 7};
  b.in("x", floats(s, x, {3}));
  b.out("y", floats(s, y, {3}));
  b.out("z", floats(s, y, {3}));
  b.run();
}

SCENE(binding_alias, one_value_under_two_outputs) {
  Binder b(s, Maker()
                  .floats_in("x", {3})
                  .node("Neg", {"x"}, {"m"})
                  .node("Identity", {"m"}, {"y"})
                  .node("Identity", {"m"}, {"z"})
                  .floats_out("y", {3})
                  .floats_out("z", {3}));
  float x[3] = {1, 2, 3}, y[3] = {}, z[3] = {};
  b.in("x", floats(s, x, {3}));
  b.out("y");
  b.out("z");
  b.run_and_note();
  b.out("y", floats(s, y, {3}));
  b.out("z", floats(s, z, {3}));
  b.run_and_note();
  note_all(s, "y", y);
  note_all(s, "z", z);
}

SCENE(binding_alias, an_input_is_an_output) {
  Binder b(s, Maker().floats_in("x", {3}).node("Neg", {"x"}, {"y"}).floats_out("x", {3}).floats_out("y", {3}));
  if (!b.session) return;
  float x[3] = {1, 2, 3}, copy[3] = {};
  b.in("x", floats(s, x, {3}));
  b.out("x");
  b.out("y");
  b.run_and_note();
  b.out("x", floats(s, copy, {3}));
  b.run_and_note();
  note_all(s, "copy", copy);
  x[0] = 10;
  note_all(s, "copy", copy);
}

SCENE(binding_alias, an_initializer_is_an_output) {
  Binder b(s, Maker()
                  .floats_in("x", {3})
                  .floats("w", {3}, {4, 5, 6})
                  .node("Add", {"x", "w"}, {"y"})
                  .floats_out("w", {3})
                  .floats_out("y", {3}));
  if (!b.session) return;
  float x[3] = {1, 2, 3}, w[3] = {};
  b.in("x", floats(s, x, {3}));
  b.out("w");
  b.out("y");
  b.run_and_note();
  b.out("w", floats(s, w, {3}));
  b.run_and_note();
  note_all(s, "w", w);
  w[0] = 100;
  b.run_and_note();
}

SCENE(binding_alias, writing_into_a_constant_that_was_given_out) {
  Binder b(s, Maker().floats("w", {3}, {4, 5, 6}).node("Identity", {"w"}, {"y"}).floats_out("y", {3}));
  b.out("y");
  b.run();
  for (OrtValue* v : b.values()) {
    float* data = nullptr;
    CALL(GetTensorMutableData, v, reinterpret_cast<void**>(&data));
    data[0] = 100;
  }
  b.out("y");
  b.run_and_note();
}

SCENE(binding_alias, an_overridable_initializer_is_bound) {
  Binder b(s, Maker()
                  .floats_in("x", {3})
                  .floats_in("w", {3})
                  .floats("w", {3}, {4, 5, 6})
                  .node("Add", {"x", "w"}, {"y"})
                  .floats_out("y", {3}));
  float x[3] = {1, 2, 3}, w[3] = {10, 10, 10};
  b.in("x", floats(s, x, {3}));
  b.out("y");
  b.run_and_note();
  b.in("w", floats(s, w, {3}));
  b.run_and_note();
  s.api.ClearBoundInputs(b.binding);
  b.in("x", floats(s, x, {3}));
  b.run_and_note();
}

SCENE(binding_alias, an_output_over_the_callers_initializer) {
  float w[3] = {4, 5, 6}, x[3] = {1, 2, 3};
  OrtSessionOptions* o = s.options();
  CALL(AddInitializer, o, "w", floats(s, w, {3}));
  Binder b(s,
           Maker().floats_in("x", {3}).floats("w", {3}, {0, 0, 0}).node("Add", {"x", "w"}, {"y"}).floats_out("y", {3}),
           o);
  b.in("x", floats(s, x, {3}));
  b.out("y", floats(s, w, {3}));
  b.run();
  note_all(s, "w", w);
}

SCENE(binding_alias, floats_at_odd_addresses) {
  Binder b(s, Maker()
                  .floats_in("x", {"n", 4})
                  .floats("w", {4, 4}, {1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 1, 0, 0, 4})
                  .node("MatMul", {"x", "w"}, {"p"})
                  .node("Neg", {"p"}, {"y"})
                  .floats_out("y", {"n", 4}));
  alignas(16) unsigned char in[64] = {}, out[64] = {};
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const size_t shift : {1u, 2u, 3u, 6u}) {
    std::memcpy(in + shift, x, sizeof x);
    b.in("x", over(s, in + shift, sizeof x, {2, 4}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
    b.out("y", over(s, out + shift, sizeof x, {2, 4}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
    b.run_and_note();
  }
}

SCENE(binding_alias, other_types_at_odd_addresses) {
  for (const int type : {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
                         ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32}) {
    Binder b(s, Maker()
                    .input("x", tensor_type(type, {4}))
                    .node("Cast", {"x"}, {"f"}, {attribute("to", 1)})
                    .node("Neg", {"f"}, {"n"})
                    .node("Cast", {"n"}, {"y"}, {attribute("to", type)})
                    .output("y", tensor_type(type, {4})));
    alignas(16) unsigned char in[64] = {}, out[64] = {};
    for (size_t i = 0; i < 4; ++i) in[1 + i * 8] = uint8_t(i);
    const size_t bytes = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? 8
                         : type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 ? 16
                                                                       : 32;
    b.in("x", over(s, in + 1, bytes, {4}, type));
    b.out("y", over(s, out + 1, bytes, {4}, type));
    b.run_and_note();
  }
}
