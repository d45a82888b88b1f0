// Models with mistakes that the official library runs.
#include "binder.h"

using namespace scenes;

namespace {

Maker scalar(const char* type) { return Maker().floats_in("x", {}).node(type, {"x"}, {"y"}).floats_out("y", {}); }

void run_with(Scene& s, OrtSession* session, const std::vector<int64_t>& shape) {
  if (!session) return;
  float data[6] = {1, 2, 3, 4, 5, 6};
  const OrtValue* x = floats(s, data, shape);
  const char *in = "x", *out = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
  if (y) note_tensor(s, "y", y);
  s.api.ReleaseValue(y);
}

void run(Scene& s, const Maker& model, const std::vector<int64_t>& shape = {2, 3},
         GraphOptimizationLevel level = ORT_ENABLE_ALL) {
  OrtSessionOptions* options = s.options();
  CALL(SetSessionGraphOptimizationLevel, options, level);
  OrtSession* session = model.open(s, options);
  s.note("session", static_cast<const void*>(session));
  run_with(s, session, shape);
  s.api.ReleaseSession(session);
}

Maker of_rows() { return Maker().floats_in("x", {2, 3}).floats_out("y", {2, 3}); }

/// `branch` is run, or not, as an input says.
void maybe(Scene& s, const Maker& branch) {
  const Message good = Maker().node("Neg", {"x"}, {"t"}).floats_out("t", {2, 3}).graph();
  const Maker model = Maker()
                          .floats_in("x", {2, 3})
                          .input("c", tensor_type(9, {}))
                          .node("If", {"c"}, {"y"}, {body("then_branch", good), body("else_branch", branch.graph())})
                          .output("y", tensor_type(1));
  OrtSession* session = model.open(s);
  s.note("session", static_cast<const void*>(session));
  if (!session) return;
  float data[6] = {1, 2, 3, 4, 5, 6};
  const char *in[] = {"x", "c"}, *out = "y";
  for (bool condition : {true, false, true}) {
    OrtValue* y = nullptr;
    const OrtValue* values[] = {floats(s, data, {2, 3}),
                                over(s, &condition, sizeof condition, {}, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL)};
    // Codes of failing kernels differ from one operator to the other.
    OrtStatus* status = s.api.Run(session, nullptr, in, values, 2, &out, 1, &y);
    s.note("runs", !status);
    s.api.ReleaseStatus(status);
    if (y) note_tensor(s, "y", y);
    s.api.ReleaseValue(y);
  }
}

}  // namespace

SCENE(lenient, scalars_of_any_shape) {
  for (const auto level : {ORT_ENABLE_ALL, ORT_DISABLE_ALL}) {
    for (const std::vector<int64_t>& shape : std::initializer_list<std::vector<int64_t>>{{}, {2, 3}, {0}, {5}})
      run(s, scalar("Neg"), shape, level);
  }
}

SCENE(lenient, scalars_change_their_shape) {
  OrtSession* session = Maker()
                            .floats_in("x", {})
                            .floats("w", {3}, {1, 2, 3})
                            .node("Neg", {"x"}, {"a"})
                            .node("Mul", {"a", "w"}, {"b"})
                            .node("Relu", {"b"}, {"y"})
                            .output("y", tensor_type(1))
                            .open(s);
  for (const std::vector<int64_t>& shape : std::initializer_list<std::vector<int64_t>>{{}, {2, 3}, {}, {1, 3}, {}})
    run_with(s, session, shape);
}

SCENE(lenient, attributes_of_normalizations) {
  for (const int opset : {1, 9, 13, 17, 21}) {
    for (const char* type : {"LayerNormalization", "SimplifiedLayerNormalization"}) {
      Maker m = Maker(opset).floats_in("x", {2, 3}).floats_out("y", {2, 3}).floats("w", {3}, {1, 2, 3});
      run(s, m.node(type, {"x", "w"}, {"y"}, {attribute("axis", 1), attribute("nonsense", 7)}));
    }
    Maker m = Maker(opset).floats_in("x", {2, 3}).floats_out("y", {2, 3});
    run(s, m.node("Relu", {"x"}, {"y"}, {attribute("nonsense", 7)}));
  }
}

SCENE(lenient, imports_that_do_not_exist) {
  for (const int version : {0, -1}) {
    for (const char* domain : {"com.microsoft", "ai.onnx.ml", "some.domain"})
      run(s, of_rows().node("Neg", {"x"}, {"y"}).import(domain, version));
    run(s, Maker(version).floats_in("x", {2, 3}).floats_out("y", {2, 3}).node("Neg", {"x"}, {"y"}));
  }
}

SCENE(lenient, an_initializer_without_a_name) { run(s, of_rows().floats("", {1}, {1}).node("Neg", {"x"}, {"y"})); }

SCENE(lenient, squeeze_of_a_scalar) {
  for (const int opset : {1, 11, 13, 21}) {
    run(s, Maker(opset).floats_in("x", {}).node("Squeeze", {"x"}, {"y"}).floats_out("y", {}), {});
  }
}

SCENE(lenient, branches_that_cannot_run) {
  maybe(s, Maker().integers("s", {2}, {4, 2}).node("Reshape", {"x", "s"}, {"t"}).output("t", tensor_type(1)));
  maybe(s, Maker()
               .floats("a", {}, {1})
               .floats("z", {}, {0})
               .node("Range", {"a", "a", "z"}, {"t"})
               .output("t", tensor_type(1)));
  maybe(s, Maker()
               .floats("a", {1, 2, 3, 3}, std::vector<float>(18))
               .floats("w", {1, 3, 1, 1}, {1, 2, 3})
               .node("Conv", {"a", "w"}, {"t"})
               .output("t", tensor_type(1)));
  maybe(s, Maker()
               .floats("a", {1, 2, 3, 3}, std::vector<float>(18))
               .floats("w", {1, 2, 5, 5}, std::vector<float>(50))
               .node("Conv", {"a", "w"}, {"r"})
               .node("Relu", {"r"}, {"t"})
               .output("t", tensor_type(1)));
}
