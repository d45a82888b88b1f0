// I/O binding: every element type, and values that are not tensors.
#include "binder.h"

using namespace scenes;

namespace {

/// Passes a value of each type through Identity: to a device, into given memory, and over itself.
void pass(Scene& s, int type, size_t bytes, int opset = 21) {
  Binder b(s, Maker(opset)
                  .input("x", tensor_type(type, {"n"}))
                  .node("Identity", {"x"}, {"y"})
                  .output("y", tensor_type(type, {"n"})));
  if (!b.session) return;
  unsigned char x[64], y[64] = {};
  for (size_t i = 0; i < sizeof x; ++i) x[i] = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL ? i % 2 : uint8_t(i + 1);
  const int64_t n = 5;
  OrtValue* given = over(s, x, bytes, {n}, type);
  b.in("x", given);
  b.out("y");
  b.run_and_note();
  b.out("y", over(s, y, bytes, {n}, type));
  b.run_and_note();
  s.note("beyond", y[bytes]);
  b.out("y", given);
  b.run_and_note();
}

OrtValue* sequence(Scene& s, std::vector<OrtValue*> parts) {
  OrtValue* value = nullptr;
  CALL(CreateValue, parts.data(), parts.size(), ONNX_TYPE_SEQUENCE, &value);
  return value;
}

Maker identity(const Message& type, int opset = 17) {
  return Maker(opset).input("x", type).node("Identity", {"x"}, {"y"}).output("y", type);
}

Maker labels() {
  return Maker().input("x", tensor_type(8, {"n"})).node("Identity", {"x"}, {"y"}).output("y", tensor_type(8, {"n"}));
}

}  // namespace

SCENE(binding_types, float32) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 20); }
SCENE(binding_types, float64) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 40); }
SCENE(binding_types, float16) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 10); }
SCENE(binding_types, bfloat16) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 10); }
SCENE(binding_types, int8) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 5); }
SCENE(binding_types, uint8) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 5); }
SCENE(binding_types, int16) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 10); }
SCENE(binding_types, uint16) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 10); }
SCENE(binding_types, int32) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 20); }
SCENE(binding_types, uint32) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 20); }
SCENE(binding_types, int64) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 40); }
SCENE(binding_types, uint64) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 40); }
SCENE(binding_types, boolean) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 5); }
SCENE(binding_types, float8e4m3fn) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, 5); }
SCENE(binding_types, float8e4m3fnuz) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, 5); }
SCENE(binding_types, float8e5m2) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, 5); }
SCENE(binding_types, float8e5m2fnuz) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, 5); }
SCENE(binding_types, int4) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, 3); }
SCENE(binding_types, uint4) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, 3); }
SCENE(binding_types, float4e2m1) { pass(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, 3, 23); }

SCENE(binding_types, from_four_bits_to_float) {
  Binder b(s, Maker(21)
                  .input("x", tensor_type(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, {"n"}))
                  .floats("scale", {}, {0.5f})
                  .node("DequantizeLinear", {"x", "scale"}, {"y"})
                  .floats_out("y", {"n"}));
  unsigned char x[3] = {0x21, 0xf7, 0x08};
  float y[5] = {};
  b.in("x", over(s, x, 3, {5}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4));
  b.out("y", floats(s, y, {5}));
  b.run_and_note();
}

SCENE(binding_types, casts_into_given_memory) {
  Binder b(s, Maker(19)
                  .floats_in("x", {"n"})
                  .node("Cast", {"x"}, {"half"}, {attribute("to", 10)})
                  .node("Cast", {"x"}, {"brain"}, {attribute("to", 16)})
                  .node("Cast", {"x"}, {"eight"}, {attribute("to", 17)})
                  .node("Cast", {"x"}, {"wide"}, {attribute("to", 11)})
                  .node("Cast", {"x"}, {"truth"}, {attribute("to", 9)})
                  .output("half", tensor_type(10, {"n"}))
                  .output("brain", tensor_type(16, {"n"}))
                  .output("eight", tensor_type(17, {"n"}))
                  .output("wide", tensor_type(11, {"n"}))
                  .output("truth", tensor_type(9, {"n"})));
  float x[4] = {0, 1.5f, -2.25f, 100};
  unsigned char memory[5][32] = {};
  b.in("x", floats(s, x, {4}));
  b.out("half", over(s, memory[0], 8, {4}, 10));
  b.out("brain", over(s, memory[1], 8, {4}, 16));
  b.out("eight", over(s, memory[2], 4, {4}, 17));
  b.out("wide", over(s, memory[3], 32, {4}, 11));
  b.out("truth", over(s, memory[4], 4, {4}, 9));
  b.run_and_note();
}

SCENE(binding_types, complex_numbers) {
  float z[4] = {1, 2, 3, 4};
  Binder b(s, Maker().floats_in("x", {"n"}).node("Neg", {"x"}, {"y"}).floats_out("y", {"n"}));
  b.in("x", over(s, z, 16, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64));
  b.out("y");
  b.run();
}

SCENE(binding_types, strings_to_a_device) {
  Binder b(s, labels());
  OrtValue* x = strings(s, {"one", "", "a text that is too long for small strings"});
  b.in("x", x);
  b.out("y");
  b.run_and_note();
  CALL(FillStringTensorElement, x, "changed", 1);
  b.run_and_note();
}

SCENE(binding_types, strings_into_a_given_tensor) {
  Binder b(s, labels());
  OrtValue *x = strings(s, {"one", "two"}), *y = strings(s, {"old", "older"});
  b.in("x", x);
  b.out("y", y);
  b.run_and_note();
  b.out("y", strings(s, {"three", "are", "too many"}));
  b.run();
  b.out("y", x);
  b.run_and_note();
}

SCENE(binding_types, no_strings) {
  Binder b(s, labels());
  const int64_t none[1] = {0};
  OrtValue* x = nullptr;
  CALL(CreateTensorAsOrtValue, s.allocator(), none, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &x);
  b.in("x", x);
  b.out("y");
  b.run_and_note();
}

SCENE(binding_types, strings_are_computed) {
  Binder b(s, Maker(20)
                  .input("a", tensor_type(8, {"n"}))
                  .input("b", tensor_type(8, {"n"}))
                  .node("StringConcat", {"a", "b"}, {"y"})
                  .output("y", tensor_type(8, {"n"})));
  OrtValue* a = strings(s, {"x", "y"});
  b.in("a", a);
  b.in("b", a);
  b.out("y", strings(s, {"old", "older"}));
  b.run_and_note();
  b.out("y", a);
  b.run_and_note();
}

SCENE(binding_types, sequences) {
  Binder b(s, identity(sequence_of(tensor_type(1))));
  float one[2] = {1, 2}, two[3] = {3, 4, 5};
  b.in("x", sequence(s, {floats(s, one, {2}), floats(s, two, {3, 1})}));
  b.out("y");
  b.run_and_note();
  one[0] = 10;
  b.run_and_note();
}

SCENE(binding_types, a_sequence_into_a_given_one) {
  Binder b(s, identity(sequence_of(tensor_type(1))));
  float one[2] = {1, 2}, two[2] = {8, 9};
  OrtValue* given = sequence(s, {floats(s, two, {2}), floats(s, two, {1})});
  b.in("x", sequence(s, {floats(s, one, {2})}));
  b.out("y", given);
  b.run_and_note();
  note_value(s, "given", given);
  note_all(s, "its memory", two);
}

SCENE(binding_types, sequences_are_made) {
  Binder b(s, Maker()
                  .floats_in("a", {"n"})
                  .floats_in("b", {"m"})
                  .node("SequenceConstruct", {"a", "b"}, {"parts"})
                  .node("SequenceLength", {"parts"}, {"count"})
                  .output("parts", sequence_of(tensor_type(1)))
                  .output("count", tensor_type(7, {})));
  float a[2] = {1, 2}, c[3] = {3, 4, 5};
  int64_t count[1] = {};
  b.in("a", floats(s, a, {2}));
  b.in("b", floats(s, c, {3}));
  b.out("parts");
  b.out("count", integers(s, count, {}));
  b.run();
  const auto held = b.values();
  a[0] = 100;
  b.run_and_note();
  for (const OrtValue* v : held) note_value(s, "held", v);
}

SCENE(binding_types, a_tensor_for_a_sequence) {
  Binder b(s, identity(sequence_of(tensor_type(1))));
  float one[2] = {1, 2};
  b.in("x", floats(s, one, {2}));
  b.out("y");
  b.run();
}

SCENE(binding_types, a_sequence_for_a_tensor) {
  Binder b(s, identity(tensor_type(1, {"n"})));
  float one[2] = {1, 2};
  b.in("x", sequence(s, {floats(s, one, {2})}));
  b.out("y");
  b.run();
}

SCENE(binding_types, a_sequence_of_another_type) {
  Binder b(s, identity(sequence_of(tensor_type(1))));
  int64_t one[2] = {1, 2};
  b.in("x", sequence(s, {integers(s, one, {2})}));
  b.out("y");
  b.run();
}

SCENE(binding_types, maps) {
  Binder b(s, open(s, "zipmap"));
  float x[6] = {1, 2, 3, 4, 5, 6};
  b.in("x", floats(s, x, {2, 3}));
  b.out("z");
  b.run();
  const auto held = b.values();
  b.in("x", floats(s, x, {1, 3}));
  b.run_and_note();
  for (const OrtValue* v : held) note_value(s, "held", v);
}

SCENE(binding_types, optional_tensors) {
  Binder b(s, Maker(18)
                  .input("x", optional_of(tensor_type(1, {"n"})))
                  .node("OptionalHasElement", {"x"}, {"has"})
                  .output("has", tensor_type(9, {})));
  float x[2] = {1, 2};
  b.in("x", floats(s, x, {2}));
  b.out("has");
  b.run_and_note();
}

SCENE(binding_types, an_optional_that_is_absent) {
  Binder b(s, Maker(18)
                  .input("x", optional_of(tensor_type(1, {"n"})))
                  .node("OptionalHasElement", {"x"}, {"has"})
                  .output("has", tensor_type(9, {})));
  b.out("has");
  b.run_and_note();
}

SCENE(binding_types, optional_outputs) {
  Binder b(s, Maker(18)
                  .floats_in("x", {"n"})
                  .node("Optional", {"x"}, {"some"})
                  .node("Optional", {}, {"none"}, {attribute("type", tensor_type(1, {"n"}))})
                  .output("some", optional_of(tensor_type(1, {"n"})))
                  .output("none", optional_of(tensor_type(1, {"n"}))));
  if (!b.session) return;
  float x[2] = {1, 2};
  b.in("x", floats(s, x, {2}));
  b.out("some");
  b.run_and_note();
  b.out("none");
  b.run_and_note();
}

SCENE(binding_types, a_sparse_tensor_for_a_dense_one) {
  Binder b(s, identity(tensor_type(1, {"n", "m"})));
  float values[1] = {5};
  int64_t at[1] = {2};
  const int64_t dense[2] = {2, 2}, one[1] = {1};
  OrtValue* x = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x);
  CALL(FillSparseTensorCoo, x, b.cpu, one, 1, values, at, 1);
  b.in("x", x);
  b.out("y");
  b.run();
}

SCENE(binding_types, a_sparse_tensor_for_an_output) {
  Binder b(s, identity(tensor_type(1, {"n", "m"})));
  float data[4] = {1, 2, 3, 4};
  const int64_t dense[2] = {2, 2};
  OrtValue* y = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &y);
  b.in("x", floats(s, data, {2, 2}));
  b.out("y", y);
  b.run();
}

SCENE(binding_types, sparse_inputs) {
  Binder b(s, Maker()
                  .import("com.microsoft", 1)
                  .input("a", sparse_type(1, {2, 2}))
                  .floats_in("b", {2, "n"})
                  .node("SparseToDenseMatMul", {"a", "b"}, {"y"}, {}, "com.microsoft")
                  .floats_out("y", {2, "n"}));
  float values[2] = {5, 7}, dense[6] = {1, 2, 3, 10, 20, 30};
  int64_t at[4] = {0, 1, 1, 0};
  const int64_t shape[2] = {2, 2}, two[1] = {2};
  OrtValue* a = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &a);
  CALL(FillSparseTensorCoo, a, b.cpu, two, 1, values, at, 4);
  b.in("a", a);
  b.in("b", floats(s, dense, {2, 3}));
  b.out("y");
  b.run_and_note();
}
