// Models made in memory, with errors.
#include "editor.h"

using namespace scenes;

SCENE(editor, no_outputs) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.add(g, "Relu", {"x"}, {"y"});
  s.note("session", e.open(g));
}

SCENE(editor, no_nodes) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  s.note("session", e.open(g));
}

SCENE(editor, empty_graph) {
  Editor e(s);
  s.note("session", e.open(e.graph()));
}

SCENE(editor, no_graph) {
  Editor e(s);
  OrtModel* m = e.model();
  s.note("session", e.session(m));
  s.api.ReleaseModel(m);
}

SCENE(editor, unknown_input_of_a_node) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Add", {"x", "missing"}, {"y"}, "sum");
  s.note("session", e.open(g));
}

SCENE(editor, output_that_nothing_makes) {
  Editor e(s);
  OrtGraph* g = affine(e);
  e.outputs(g, {e.value("missing", {-1, 2})});
  s.note("session", e.open(g));
}

SCENE(editor, cycle) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Add", {"x", "b"}, {"a"}, "first");
  e.add(g, "Relu", {"a"}, {"b"}, "second");
  e.add(g, "Relu", {"a"}, {"y"}, "third");
  s.note("session", e.open(g));
}

SCENE(editor, made_twice) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Relu", {"x"}, {"y"}, "first");
  e.add(g, "Neg", {"x"}, {"y"}, "second");
  s.note("session", e.open(g));
}

SCENE(editor, made_although_an_input) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2}), e.value("z", {2})});
  e.outputs(g, {e.value("z", {2})});
  e.add(g, "Relu", {"x"}, {"z"}, "first");
  s.note("session", e.open(g));
}

SCENE(editor, made_although_an_initializer) {
  Editor e(s);
  OrtGraph* g = affine(e);
  e.add(g, "Relu", {"x"}, {"w"}, "first");
  s.note("session", e.open(g));
}

SCENE(editor, nodes_of_one_name) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Relu", {"x"}, {"a"}, "same");
  e.add(g, "Neg", {"a"}, {"y"}, "same");
  OrtSession* session = e.open(g);
  s.note("session", session);
  s.api.ReleaseSession(session);
}

SCENE(editor, inputs_of_one_name) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2}), e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Relu", {"x"}, {"y"});
  s.note("session", e.open(g));
}

SCENE(editor, outputs_of_one_name) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2}), e.value("y", {2})});
  e.add(g, "Relu", {"x"}, {"y"});
  s.note("session", e.open(g));
}

SCENE(editor, unknown_operator) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Relou", {"x"}, {"y"}, "typo");
  s.note("session", e.open(g));
}

SCENE(editor, wrong_output_type) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)});
  e.add(g, "Relu", {"x"}, {"y"});
  s.note("session", e.open(g));
}

SCENE(editor, wrong_output_shape) {
  Editor e(s);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {5})});
  e.add(g, "Relu", {"x"}, {"y"});
  OrtSession* session = e.open(g);
  s.note("session", session);
}

SCENE(editor, no_operator_sets) {
  Editor e(s);
  OrtModel* m = nullptr;
  s.call("CreateModel", e.api.CreateModel(nullptr, nullptr, 0, &m));
  s.note("model", m);
  if (!m) return;
  s.call("AddGraphToModel", e.api.AddGraphToModel(m, affine(e)));
  s.note("session", e.session(m));
}

SCENE(editor, strange_versions) {
  Editor e(s);
  for (int version : {0, -1, 1000}) {
    OrtModel* m = e.model({""}, {version});
    s.note("model", m);
    if (!m) continue;
    s.call("AddGraphToModel", e.api.AddGraphToModel(m, affine(e)));
    s.note("session", e.session(m));
    s.api.ReleaseModel(m);
  }
}

SCENE(editor, two_graphs) {
  Editor e(s);
  OrtModel* m = e.model(affine(e));
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {2})});
  e.outputs(g, {e.value("y", {2})});
  e.add(g, "Relu", {"x"}, {"y"});
  s.call("AddGraphToModel", e.api.AddGraphToModel(m, g));
  OrtSession* session = e.session(m);
  s.api.ReleaseModel(m);
  e.run(session, {"x"}, {e.tensor({2}, 1)}, {"y"});
}

SCENE(editor, arrays_are_emptied) {
  Editor e(s);
  OrtGraph* g = e.graph();
  OrtValueInfo* values[1] = {e.value("x", {2})};
  s.call("SetGraphInputs", e.api.SetGraphInputs(g, values, 1));
  s.note("after", values[0]);
  OrtOpAttr* attributes[1] = {e.integer("axis", 0)};
  const char *in[1] = {"x"}, *out[1] = {"y"};
  OrtNode* node = nullptr;
  s.call("CreateNode", e.api.CreateNode("Softmax", "", "n", in, 1, out, 1, attributes, 1, &node));
  s.note("after", attributes[0]);
  s.api.ReleaseNode(node);
  s.api.ReleaseGraph(g);
}

SCENE(editor, objects_never_added) {
  Editor e(s);
  s.api.ReleaseNode(e.node("Softmax", {"x"}, {"y"}, "n", {e.integer("axis", 0)}));
  s.api.ReleaseGraph(affine(e));
  s.api.ReleaseModel(e.model(affine(e)));
  s.api.ReleaseModel(e.model());
  s.api.ReleaseValueInfo(e.value("x", {2}));
  s.api.ReleaseNode(nullptr);
  s.api.ReleaseGraph(nullptr);
  s.api.ReleaseModel(nullptr);
}

SCENE(editor, empty_names) {
  Editor e(s);
  OrtNode* node = nullptr;
  const char *in[1] = {"x"}, *out[1] = {"y"};
  s.call("no operator", e.api.CreateNode("", "", "n", in, 1, out, 1, nullptr, 0, &node));
  s.note("node", node);
  s.call("no outputs", e.api.CreateNode("Relu", "", "n", in, 1, out, 0, nullptr, 0, &node));
  s.call("null attributes", e.api.CreateNode("Relu", "", "n", in, 1, out, 1, nullptr, 2, &node));
  OrtGraph* g = e.graph();
  e.initializer(g, "", e.tensor({2}, 1));
}

SCENE(editor, null_input_name) {
  Editor e(s);
  OrtNode* node = nullptr;
  const char *in[1] = {nullptr}, *out[1] = {"y"};
  s.call("code", e.api.CreateNode("Relu", "", "n", in, 1, out, 1, nullptr, 0, &node));
}

SCENE(editor, null_output_name) {
  Editor e(s);
  OrtNode* node = nullptr;
  const char *in[1] = {"x"}, *out[1] = {nullptr};
  s.call("code", e.api.CreateNode("Relu", "", "n", in, 1, out, 1, nullptr, 0, &node));
}

SCENE(editor, null_attribute) {
  Editor e(s);
  OrtNode* node = nullptr;
  const char *in[1] = {"x"}, *out[1] = {"y"};
  OrtOpAttr* none[1] = {nullptr};
  s.call("code", e.api.CreateNode("Relu", "", "n", in, 1, out, 1, none, 1, &node));
}

SCENE(editor, null_value_info) {
  Editor e(s);
  OrtGraph* g = e.graph();
  OrtValueInfo* none[1] = {nullptr};
  s.call("code", e.api.SetGraphInputs(g, none, 1));
  s.call("code", e.api.SetGraphOutputs(g, none, 1));
}

SCENE(editor, initializer_that_is_no_tensor) {
  Editor e(s);
  OrtGraph* g = e.graph();
  OrtValue *element = e.tensor({2}, 1), *sequence = nullptr;
  CALL(CreateValue, &element, 1, ONNX_TYPE_SEQUENCE, &sequence);
  e.initializer(g, "w", sequence);
}
