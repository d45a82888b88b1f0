// Sessions on a model that is extended before it runs.
#include "editor.h"

using namespace scenes;

namespace {

OrtSession* begin(Editor& e, const char* name = "dense") {
  Scene& s = e.s;
  OrtSessionOptions* options = s.options();
  OrtSession* session = nullptr;
  s.call("CreateModelEditorSession",
         e.api.CreateModelEditorSession(s.env(), model_path(name).c_str(), options, &session));
  s.api.ReleaseSessionOptions(options);
  return session;
}

void finish(Editor& e, OrtSession* session, const OrtSessionOptions* options = nullptr) {
  e.s.call("FinalizeModelEditorSession", e.api.FinalizeModelEditorSession(session, options, nullptr));
}

/// The outer product of the model's y: z = y + 100, put behind it.
OrtModel* behind(Editor& e) {
  OrtGraph* g = e.graph();
  e.outputs(g, {e.value("z", {-1, 2})});
  e.initializer(g, "hundred", e.tensor({1}, 100));
  e.add(g, "Add", {"y", "hundred"}, {"z"}, "behind");
  return e.model(g);
}

void apply(Editor& e, OrtSession* session, OrtModel* m) {
  e.s.call("ApplyModelToModelEditorSession", e.api.ApplyModelToModelEditorSession(session, m));
  e.s.api.ReleaseModel(m);
}

int opset_of(Editor& e, OrtSession* session) {
  int opset = 77;
  e.s.call("SessionGetOpsetForDomain", e.api.SessionGetOpsetForDomain(session, "", &opset));
  return opset;
}

/// Adds a graph of that domain to the session's model.
void extend(Editor& e, OrtSession* session, OrtGraph* g, int opset, const char* domain = "") {
  OrtModel* m = e.model({domain}, {opset});
  e.s.call("AddGraphToModel", e.api.AddGraphToModel(m, g));
  apply(e, session, m);
}

void ports(Editor& e, const OrtSession* session) {
  Scene& s = e.s;
  size_t n = 77;
  CALL(SessionGetInputCount, session, &n);
  s.note("inputs", n);
  CALL(SessionGetOutputCount, session, &n);
  s.note("outputs", n);
  char* name = nullptr;
  CALL(SessionGetOutputName, session, 0, s.allocator(), &name);
  s.note("output", name);
}

}  // namespace

SCENE(editor_session, unchanged) {
  Editor e(s);
  OrtSession* session = begin(e);
  ports(e, session);
  finish(e, session);
  ports(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor_session, behind) {
  Editor e(s);
  OrtSession* session = begin(e);
  const int opset = opset_of(e, session);
  s.note("opset", opset);
  apply(e, session, behind(e));
  ports(e, session);
  finish(e, session);
  ports(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"z"});
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor_session, with_the_models_opset) {
  Editor e(s);
  OrtSession* session = begin(e);
  const int opset = opset_of(e, session);
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("raw", {-1, 3})});
  e.outputs(g, {e.value("z", {-1, 2})});
  e.initializer(g, "half", e.tensor({}, 0.5f));
  e.add(g, "Mul", {"raw", "half"}, {"x"}, "before");
  e.add(g, "Neg", {"y"}, {"z"}, "after");
  extend(e, session, g, opset);
  finish(e, session);
  ports(e, session);
  e.run(session, {"raw"}, {e.tensor({1, 3}, 1)}, {"z"});
  s.api.ReleaseSession(session);
}

SCENE(editor_session, twice) {
  Editor e(s);
  OrtSession* session = begin(e);
  const int opset = opset_of(e, session);
  for (int i = 0; i < 2; ++i) {
    OrtGraph* g = e.graph();
    e.outputs(g, {e.value(i ? "z1" : "z0", {-1, 2})});
    e.add(g, "Neg", {i ? "z0" : "y"}, {i ? "z1" : "z0"}, i ? "second" : "first");
    extend(e, session, g, opset);
  }
  finish(e, session);
  ports(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"z1"});
  s.api.ReleaseSession(session);
}

SCENE(editor_session, an_initializer_that_is_there) {
  Editor e(s);
  OrtSession* session = begin(e);
  const int opset = opset_of(e, session);
  OrtGraph* g = e.graph();
  e.initializer(g, "w", e.tensor({3, 2}, 0));
  extend(e, session, g, opset);
  finish(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
}

SCENE(editor_session, another_domain) {
  Editor e(s);
  OrtSession* session = begin(e);
  OrtGraph* g = e.graph();
  e.outputs(g, {e.value("z", {-1, 2})});
  e.add(g, "QuickGelu", {"y"}, {"z"}, "gelu", {}, "com.microsoft");
  extend(e, session, g, 1, "com.microsoft");
  finish(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"z"});
}

SCENE(editor_session, unknown_value) {
  Editor e(s);
  OrtSession* session = begin(e);
  const int opset = opset_of(e, session);
  OrtGraph* g = e.graph();
  e.outputs(g, {e.value("z", {-1, 2})});
  e.add(g, "Neg", {"missing"}, {"z"}, "after");
  extend(e, session, g, opset);
  finish(e, session);
}

SCENE(editor_session, a_value_made_twice) {
  Editor e(s);
  OrtSession* session = begin(e);
  const int opset = opset_of(e, session);
  OrtGraph* g = e.graph();
  e.add(g, "Neg", {"x"}, {"y"}, "again");
  extend(e, session, g, opset);
}

SCENE(editor_session, from_bytes) {
  Editor e(s);
  OrtSessionOptions* options = s.options();
  OrtSession* session = nullptr;
  {
    const std::string bytes = model_bytes("dense");
    s.call("CreateModelEditorSessionFromArray",
           e.api.CreateModelEditorSessionFromArray(s.env(), bytes.data(), bytes.size(), options, &session));
  }
  s.api.ReleaseSessionOptions(options);
  apply(e, session, behind(e));
  finish(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(editor_session, files_that_are_none) {
  Editor e(s);
  OrtSessionOptions* options = s.options();
  OrtSession* session = nullptr;
  s.call("missing", e.api.CreateModelEditorSession(s.env(), "/nowhere.onnx", options, &session));
  s.call("garbage", e.api.CreateModelEditorSessionFromArray(s.env(), "garbage", 7, options, &session));
  s.note("session", session);
}

SCENE(editor_session, run_before_the_end) {
  Editor e(s);
  OrtSession* session = begin(e);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
  OrtModelMetadata* metadata = nullptr;
  CALL(SessionGetModelMetadata, session, &metadata);
  s.api.ReleaseModelMetadata(metadata);
}

SCENE(editor_session, binding_before_the_end) {
  Editor e(s);
  OrtSession* session = begin(e);
  OrtIoBinding* binding = nullptr;
  CALL(CreateIoBinding, session, &binding);
  s.note("binding", binding);
}

SCENE(editor_session, never_finished) {
  Editor e(s);
  OrtSession* session = begin(e);
  s.api.ReleaseSession(session);
}

SCENE(editor_session, finished_twice) {
  Editor e(s);
  OrtSession* session = begin(e);
  finish(e, session);
  finish(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
}

SCENE(editor_session, finished_with_options) {
  Editor e(s);
  OrtSession* session = begin(e);
  OrtSessionOptions* options = s.options();
  CALL(DisableMemPattern, options);
  finish(e, session, options);
  s.api.ReleaseSessionOptions(options);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
}

SCENE(editor_session, applied_after_the_end) {
  Editor e(s);
  OrtSession* session = begin(e);
  finish(e, session);
  apply(e, session, behind(e));
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
}

SCENE(editor_session, applied_to_a_usual_session) {
  Editor e(s);
  OrtSession* session = open(s, "dense");
  apply(e, session, behind(e));
  finish(e, session);
  e.run(session, {"x"}, {e.tensor({1, 3}, 1)}, {"y"});
}

SCENE(editor_session, model_without_a_graph) {
  Editor e(s);
  OrtSession* session = begin(e);
  apply(e, session, e.model());
}
