// Models made through the model editor interface, for scenes.
#pragma once
#include <string>
#include <vector>

#include "models.h"

namespace scenes {

struct Editor {
  explicit Editor(Scene& scene) : s(scene), api(*scene.api.GetModelEditorApi()) {}

  Scene& s;
  const OrtModelEditorApi& api;

  /// A value of element type `type` and these extents; -1: unknown.
  OrtValueInfo* value(const char* name, const std::vector<int64_t>& dims,
                      ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    OrtTypeInfo* made = nullptr;
    OrtValueInfo* value = nullptr;
    s.call("CreateTensorTypeAndShapeInfo", s.api.CreateTensorTypeAndShapeInfo(&info));
    s.call("SetTensorElementType", s.api.SetTensorElementType(info, type));
    s.call("SetDimensions", s.api.SetDimensions(info, dims.data(), dims.size()));
    s.call("CreateTensorTypeInfo", api.CreateTensorTypeInfo(info, &made));
    s.call("CreateValueInfo", api.CreateValueInfo(name, made, &value));
    s.api.ReleaseTypeInfo(made);
    s.api.ReleaseTensorTypeAndShapeInfo(info);
    return value;
  }
  OrtGraph* graph() {
    OrtGraph* made = nullptr;
    s.call("CreateGraph", api.CreateGraph(&made));
    return made;
  }
  void inputs(OrtGraph* g, std::vector<OrtValueInfo*> values) {
    s.call("SetGraphInputs", api.SetGraphInputs(g, values.data(), values.size()));
  }
  void outputs(OrtGraph* g, std::vector<OrtValueInfo*> values) {
    s.call("SetGraphOutputs", api.SetGraphOutputs(g, values.data(), values.size()));
  }
  OrtNode* node(const char* type, std::vector<const char*> in, std::vector<const char*> out, const char* name = "",
                std::vector<OrtOpAttr*> attributes = {}, const char* domain = "") {
    OrtNode* made = nullptr;
    s.call("CreateNode", api.CreateNode(type, domain, name, in.data(), in.size(), out.data(), out.size(),
                                        attributes.data(), attributes.size(), &made));
    return made;
  }
  void add(OrtGraph* g, const char* type, std::vector<const char*> in, std::vector<const char*> out,
           const char* name = "", std::vector<OrtOpAttr*> attributes = {}, const char* domain = "") {
    s.call("AddNodeToGraph",
           api.AddNodeToGraph(g, node(type, std::move(in), std::move(out), name, std::move(attributes), domain)));
  }
  OrtOpAttr* integer(const char* name, int64_t value) {
    OrtOpAttr* made = nullptr;
    s.call("CreateOpAttr", s.api.CreateOpAttr(name, &value, 1, ORT_OP_ATTR_INT, &made));
    return made;
  }
  /// A tensor that owns its elements: `first`, `first` + 1, …
  OrtValue* tensor(const std::vector<int64_t>& shape, float first) {
    OrtValue* made = nullptr;
    s.call("CreateTensorAsOrtValue", s.api.CreateTensorAsOrtValue(s.allocator(), shape.data(), shape.size(),
                                                                  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &made));
    float* data = nullptr;
    s.call("GetTensorMutableData", s.api.GetTensorMutableData(made, reinterpret_cast<void**>(&data)));
    size_t count = 1;
    for (const int64_t d : shape) count *= size_t(d);
    for (size_t i = 0; i < count; ++i) data[i] = first + float(i);
    return made;
  }
  void initializer(OrtGraph* g, const char* name, OrtValue* value, bool external = false) {
    s.call("AddInitializerToGraph", api.AddInitializerToGraph(g, name, value, external));
  }
  OrtModel* model(std::vector<const char*> domains = {""}, std::vector<int> versions = {18}) {
    OrtModel* made = nullptr;
    s.call("CreateModel", api.CreateModel(domains.data(), versions.data(), domains.size(), &made));
    return made;
  }
  OrtModel* model(OrtGraph* g) {
    OrtModel* made = model();
    s.call("AddGraphToModel", api.AddGraphToModel(made, g));
    return made;
  }
  OrtSession* session(const OrtModel* m, const OrtSessionOptions* options = nullptr) {
    OrtSessionOptions* own = options ? nullptr : s.options();
    OrtSession* made = nullptr;
    s.call("CreateSessionFromModel", api.CreateSessionFromModel(s.env(), m, options ? options : own, &made));
    if (own) s.api.ReleaseSessionOptions(own);
    return made;
  }
  /// Makes the session of a model and releases the model.
  OrtSession* open(OrtGraph* g) {
    OrtModel* m = model(g);
    OrtSession* made = session(m);
    s.api.ReleaseModel(m);
    return made;
  }
  /// Runs with float inputs once and notes the outputs.
  void run(OrtSession* session, std::vector<const char*> in, std::vector<OrtValue*> values,
           std::vector<const char*> out) {
    if (!session) return;
    std::vector<OrtValue*> results(out.size());
    s.call("Run", s.api.Run(session, nullptr, in.data(), values.data(), values.size(), out.data(), out.size(),
                            results.data()));
    for (OrtValue* v : results) {
      note_tensor(s, "result", v);
      s.api.ReleaseValue(v);
    }
    for (OrtValue* v : values) s.api.ReleaseValue(v);
  }
};

/// y = x · w + b, [?,3] by [3,2].
inline OrtGraph* affine(Editor& e) {
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {-1, 3})});
  e.outputs(g, {e.value("y", {-1, 2})});
  e.initializer(g, "w", e.tensor({3, 2}, 1));
  e.initializer(g, "b", e.tensor({2}, 10));
  e.add(g, "MatMul", {"x", "w"}, {"xw"}, "product");
  e.add(g, "Add", {"xw", "b"}, {"y"}, "sum");
  return g;
}

}  // namespace scenes
