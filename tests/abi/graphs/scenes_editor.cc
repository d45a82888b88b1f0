// Models made in memory: built and run.
#include <algorithm>

#include "editor.h"

using namespace scenes;

SCENE(editor, affine) {
  Editor e(s);
  OrtSession* session = e.open(affine(e));
  size_t n = 77;
  CALL(SessionGetInputCount, session, &n);
  s.note("inputs", n);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  e.run(session, {"x"}, {e.tensor({2, 3}, -1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, nodes_in_any_order) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.add(g, "Add", {"xw", "b"}, {"y"});
  e.add(g, "MatMul", {"x", "w"}, {"xw"});
  e.initializer(g, "b", e.tensor({2}, 10));
  e.initializer(g, "w", e.tensor({3, 2}, 1));
  e.outputs(g, {e.value("y", {-1, 2})});
  e.inputs(g, {e.value("x", {-1, 3})});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, one_model_two_sessions) {
  Editor e(s);
  OrtModel* m = e.model(affine(e));
  OrtSession *a = e.session(m), *b = e.session(m);
  s.api.ReleaseModel(m);
  e.run(a, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  e.run(b, {"x"}, {e.tensor({1, 3}, 2)}, {"y"});
  s.api.ReleaseSession(a);
  s.api.ReleaseSession(b);
}

SCENE(editor, attributes) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2, 3})});
  e.outputs(g, {e.value("y", {3, 2})});
  const int64_t perm[2] = {1, 0};
  OrtOpAttr* attribute = nullptr;
  CALL(CreateOpAttr, "perm", perm, 2, ORT_OP_ATTR_INTS, &attribute);
  e.add(g, "Transpose", {"x"}, {"y"}, "t", {attribute});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({2, 3}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, omitted_input) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {4})});
  e.outputs(g, {e.value("y", {4})});
  e.initializer(g, "most", e.tensor({}, 2));
  e.add(g, "Clip", {"x", "", "most"}, {"y"});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({4}, 0)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, contrib_domain) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {4})});
  e.outputs(g, {e.value("y", {4})});
  e.add(g, "QuickGelu", {"x"}, {"y"}, "gelu", {}, "com.microsoft");
  OrtModel* m = e.model({"", "com.microsoft"}, {18, 1});
  s.call("AddGraphToModel", e.api.AddGraphToModel(m, g));
  OrtSession* session = e.session(m);
  s.api.ReleaseModel(m);
  e.run(session, {"x"}, {e.tensor({4}, -1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, domain_that_is_not_imported) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {4})});
  e.outputs(g, {e.value("y", {4})});
  e.add(g, "QuickGelu", {"x"}, {"y"}, "gelu", {}, "com.microsoft");
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({4}, -1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, long_name_of_the_domain) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {4})});
  e.outputs(g, {e.value("y", {4})});
  e.add(g, "Relu", {"x"}, {"y"}, "", {}, "ai.onnx");
  OrtModel* m = e.model({"ai.onnx"}, {14});
  s.call("AddGraphToModel", e.api.AddGraphToModel(m, g));
  OrtSession* session = e.session(m);
  s.api.ReleaseModel(m);
  int opset = 77;
  s.call("SessionGetOpsetForDomain", e.api.SessionGetOpsetForDomain(session, "", &opset));
  s.note("opset", opset);
  e.run(session, {"x"}, {e.tensor({4}, -1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, constant_node) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {})});
  e.outputs(g, {e.value("y", {})});
  float four = 4;
  OrtOpAttr* value = nullptr;
  CALL(CreateOpAttr, "value_float", &four, 1, ORT_OP_ATTR_FLOAT, &value);
  e.add(g, "Constant", {}, {"c"}, "", {value});
  e.add(g, "Add", {"x", "c"}, {"y"});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({}, 3)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, output_is_an_initializer) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2}), e.value("c", {2})});
  e.initializer(g, "c", e.tensor({2}, 5));
  e.add(g, "Relu", {"x"}, {"y"});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({2}, 3)}, {"y", "c"});
  s.api.ReleaseSession(session);
}

SCENE(editor, output_is_an_input) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("x", {2})});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({2}, 3)}, {"x"});
  s.api.ReleaseSession(session);
}

SCENE(editor, input_with_an_initializer) {
  Editor e(s);
  OrtGraph* g = affine(e);
  e.inputs(g, {e.value("x", {-1, 3}), e.value("b", {2})});
  OrtSession* session = e.open(g);
  size_t n = 77;
  CALL(SessionGetOverridableInitializerCount, session, &n);
  s.note("overridable", n);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  e.run(session, {"x", "b"}, {e.tensor({1, 3}, 1), e.tensor({2}, 0)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, inputs_are_replaced) {
  Editor e(s);
  OrtGraph* g = affine(e);
  e.inputs(g, {e.value("z", {-1, 3})});
  e.inputs(g, {e.value("x", {-1, 3})});
  e.outputs(g, {e.value("xw", {-1, 2})});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"xw"});
  s.api.ReleaseSession(session);
}

SCENE(editor, symbols) {
  Editor e(s);
  OrtGraph* g = e.graph();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CALL(CreateTensorTypeAndShapeInfo, &info);
  const int64_t dims[2] = {-1, 2};
  const char* names[2] = {"rows", ""};
  CALL(SetTensorElementType, info, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  CALL(SetDimensions, info, dims, 2);
  CALL(SetSymbolicDimensions, info, names, 2);
  OrtTypeInfo* type = nullptr;
  s.call("CreateTensorTypeInfo", e.api.CreateTensorTypeInfo(info, &type));
  OrtValueInfo *a = nullptr, *b = nullptr, *y = nullptr;
  s.call("CreateValueInfo", e.api.CreateValueInfo("a", type, &a));
  s.call("CreateValueInfo", e.api.CreateValueInfo("b", type, &b));
  s.call("CreateValueInfo", e.api.CreateValueInfo("y", type, &y));
  s.api.ReleaseTypeInfo(type);
  s.api.ReleaseTensorTypeAndShapeInfo(info);
  e.inputs(g, {a, b});
  e.outputs(g, {y});
  e.add(g, "Add", {"a", "b"}, {"y"});
  OrtSession* session = e.open(g);
  OrtTypeInfo* port = nullptr;
  CALL(SessionGetInputTypeInfo, session, 0, &port);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  CALL(CastTypeInfoToTensorInfo, port, &tensor);
  const char* found[2] = {};
  CALL(GetSymbolicDimensions, tensor, found, 2);
  s.note("symbol", found[0]);
  s.api.ReleaseTypeInfo(port);
  e.run(session, {"a", "b"}, {e.tensor({3, 2}, 3), e.tensor({3, 2}, 30)}, {"y"});
  e.run(session, {"a", "b"}, {e.tensor({3, 2}, 3), e.tensor({1, 2}, 30)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, external_initializer) {
  Editor e(s);
  static float weights[64];
  for (int i = 0; i < 64; ++i) weights[i] = float(i);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {1, 32})});
  e.outputs(g, {e.value("y", {1, 2})});
  e.initializer(g, "w", floats(s, weights, {32, 2}), true);
  e.add(g, "MatMul", {"x", "w"}, {"y"});
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({1, 32}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, copied_initializer_in_memory_of_the_caller) {
  Editor e(s);
  std::vector<float> weights(64, 2.0f);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {1, 32})});
  e.outputs(g, {e.value("y", {1, 2})});
  e.initializer(g, "w", floats(s, weights.data(), {32, 2}), false);
  e.add(g, "MatMul", {"x", "w"}, {"y"});
  OrtSession* session = e.open(g);
  std::fill(weights.begin(), weights.end(), 3.0f);
  e.run(session, {"x"}, {e.tensor({1, 32}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, small_external_initializer) {
  Editor e(s);
  static float weights[31] = {};
  OrtGraph* g = e.graph();
  OrtValue* value = floats(s, weights, {31});
  e.initializer(g, "w", value, true);
  s.api.ReleaseValue(value);
  s.api.ReleaseGraph(g);
}

SCENE(editor, initializer_twice) {
  Editor e(s);
  OrtGraph* g = affine(e);
  e.initializer(g, "b", e.tensor({2}, 100));
  OrtSession* session = e.open(g);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor, strings_as_initializer) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("i", {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)});
  e.outputs(g, {e.value("y", {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)});
  OrtValue* words = nullptr;
  const int64_t shape[1] = {3};
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &words);
  const char* texts[3] = {"a", "long enough not to be short", ""};
  CALL(FillStringTensor, words, texts, 3);
  e.initializer(g, "words", words);
  e.add(g, "Gather", {"words", "i"}, {"y"});
  OrtSession* session = e.open(g);
  s.note("session", session);
  s.api.ReleaseSession(session);
}

SCENE(editor, opsets) {
  Editor e(s);
  OrtSession* session = e.open(affine(e));
  for (const char* domain : {"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "unknown"}) {
    int opset = 77;
    s.call("SessionGetOpsetForDomain", e.api.SessionGetOpsetForDomain(session, domain, &opset));
    if (*domain == 0) s.note("opset", opset);
  }
  s.api.ReleaseSession(session);
}
