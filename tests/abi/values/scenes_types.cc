// Type infos, and the types that the model editor makes.
#include <string>

#include "scene.h"

namespace {

OrtTensorTypeAndShapeInfo* make_info(scenes::Scene& s, int type, std::vector<int64_t> dims) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CALL(CreateTensorTypeAndShapeInfo, &info);
  CALL(SetTensorElementType, info, ONNXTensorElementDataType(type));
  CALL(SetDimensions, info, dims.data(), dims.size());
  return info;
}

void describe(scenes::Scene& s, const OrtTensorTypeAndShapeInfo* info) {
  ONNXTensorElementDataType type = ONNXTensorElementDataType(-7);
  CALL(GetTensorElementType, info, &type);
  s.note("element type", type);
  size_t rank = 77, count = 77;
  CALL(GetDimensionsCount, info, &rank);
  s.note("rank", rank);
  std::vector<int64_t> dims(rank, -7);
  CALL(GetDimensions, info, dims.data(), rank);
  std::string text;
  for (int64_t d : dims) text += std::to_string(d) + " ";
  s.note("dims", text);
  std::vector<const char*> names(rank, "untouched");
  CALL(GetSymbolicDimensions, info, names.data(), rank);
  for (const char* name : names) s.note("symbol", name);
  CALL(GetTensorShapeElementCount, info, &count);
  s.note("elements", count);
  s.note("has shape", s.api.TensorTypeAndShape_HasShape(info));
}

void describe_kind(scenes::Scene& s, const OrtTypeInfo* info) {
  ONNXType kind = ONNXType(-7);
  CALL(GetOnnxTypeFromTypeInfo, info, &kind);
  s.note("kind", kind);
  const OrtTensorTypeAndShapeInfo* tensor = reinterpret_cast<const OrtTensorTypeAndShapeInfo*>(&kind);
  const OrtMapTypeInfo* map = reinterpret_cast<const OrtMapTypeInfo*>(&kind);
  const OrtSequenceTypeInfo* sequence = reinterpret_cast<const OrtSequenceTypeInfo*>(&kind);
  const OrtOptionalTypeInfo* optional = reinterpret_cast<const OrtOptionalTypeInfo*>(&kind);
  CALL(CastTypeInfoToTensorInfo, info, &tensor);
  s.note("tensor", tensor);
  CALL(CastTypeInfoToMapTypeInfo, info, &map);
  s.note("map", map);
  CALL(CastTypeInfoToSequenceTypeInfo, info, &sequence);
  s.note("sequence", sequence);
  CALL(CastTypeInfoToOptionalTypeInfo, info, &optional);
  s.note("optional", optional);
  const char* denotation = "untouched";
  size_t length = 77;
  CALL(GetDenotationFromTypeInfo, info, &denotation, &length);
  s.note("denotation", denotation);
  s.note("length", length);
  if (tensor) describe(s, tensor);
}

}  // namespace

SCENE(types, empty_info) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CALL(CreateTensorTypeAndShapeInfo, &info);
  describe(s, info);
  s.api.ReleaseTensorTypeAndShapeInfo(info);
  s.api.ReleaseTensorTypeAndShapeInfo(nullptr);
}

SCENE(types, element_types) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CALL(CreateTensorTypeAndShapeInfo, &info);
  for (int type : {0, 1, 8, 16, 20, 23, 24, 25, 26, 27, 99, -1}) {
    s.note("asked", type);
    CALL(SetTensorElementType, info, ONNXTensorElementDataType(type));
    ONNXTensorElementDataType read = ONNXTensorElementDataType(-7);
    CALL(GetTensorElementType, info, &read);
    s.note("read", read);
  }
}

SCENE(types, dims) {
  for (const std::vector<int64_t>& dims :
       std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 5}, {-1, 3}, {-5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}) {
    OrtTensorTypeAndShapeInfo* info = make_info(s, 1, dims);
    describe(s, info);
    s.api.ReleaseTensorTypeAndShapeInfo(info);
  }
}

SCENE(types, overflowing_count) {
  OrtTensorTypeAndShapeInfo* info = make_info(s, 1, {int64_t(1) << 40, int64_t(1) << 40});
  size_t count = 77;
  CALL(GetTensorShapeElementCount, info, &count);
  s.note("count", count);
}

SCENE(types, short_arrays) {
  OrtTensorTypeAndShapeInfo* info = make_info(s, 1, {2, 3, 4});
  int64_t dims[5] = {-7, -7, -7, -7, -7};
  CALL(GetDimensions, info, dims, 1);
  CALL(GetDimensions, info, dims, 5);
  for (int64_t d : dims) s.note("dim", d);
  const char* names[5] = {"u", "u", "u", "u", "u"};
  CALL(GetSymbolicDimensions, info, names, 1);
  CALL(GetSymbolicDimensions, info, names, 5);
  for (const char* n : names) s.note("name", n);
}

SCENE(types, symbols) {
  OrtTensorTypeAndShapeInfo* info = make_info(s, 1, {-1, 3});
  const char* names[3] = {"batch", "", "extra"};
  CALL(SetSymbolicDimensions, info, names, 2);
  describe(s, info);
  CALL(SetSymbolicDimensions, info, names, 3);
  describe(s, info);
  CALL(SetSymbolicDimensions, info, names, 1);
  describe(s, info);
  const int64_t two[2] = {4, 5};
  CALL(SetDimensions, info, two, 2);
  describe(s, info);
}

SCENE(types, editor) {
  const OrtModelEditorApi& e = *s.api.GetModelEditorApi();
  OrtTensorTypeAndShapeInfo* info = make_info(s, 7, {-1, 3});
  OrtTypeInfo *tensor = nullptr, *sparse = nullptr, *map = nullptr, *sequence = nullptr, *optional = nullptr;
  s.call("CreateTensorTypeInfo", e.CreateTensorTypeInfo(info, &tensor));
  s.call("CreateSparseTensorTypeInfo", e.CreateSparseTensorTypeInfo(info, &sparse));
  s.api.ReleaseTensorTypeAndShapeInfo(info);
  s.call("CreateMapTypeInfo", e.CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, tensor, &map));
  s.call("CreateSequenceTypeInfo", e.CreateSequenceTypeInfo(map, &sequence));
  s.call("CreateOptionalTypeInfo", e.CreateOptionalTypeInfo(tensor, &optional));
  for (OrtTypeInfo* t : {tensor, sparse, map, sequence, optional}) {
    if (t) describe_kind(s, t);
  }
  const OrtMapTypeInfo* map_view = nullptr;
  CALL(CastTypeInfoToMapTypeInfo, map, &map_view);
  ONNXTensorElementDataType key = ONNXTensorElementDataType(-7);
  CALL(GetMapKeyType, map_view, &key);
  s.note("key", key);
  OrtTypeInfo *value = nullptr, *element = nullptr, *contained = nullptr;
  CALL(GetMapValueType, map_view, &value);
  describe_kind(s, value);
  const OrtSequenceTypeInfo* sequence_view = nullptr;
  CALL(CastTypeInfoToSequenceTypeInfo, sequence, &sequence_view);
  CALL(GetSequenceElementType, sequence_view, &element);
  describe_kind(s, element);
  const OrtOptionalTypeInfo* optional_view = nullptr;
  CALL(CastTypeInfoToOptionalTypeInfo, optional, &optional_view);
  CALL(GetOptionalContainedTypeInfo, optional_view, &contained);
  describe_kind(s, contained);
  for (OrtTypeInfo* t : {tensor, sparse, map, sequence, optional, value, element, contained}) s.api.ReleaseTypeInfo(t);
  s.api.ReleaseTypeInfo(nullptr);
  s.api.ReleaseMapTypeInfo(nullptr);
  s.api.ReleaseSequenceTypeInfo(nullptr);
}

SCENE(types, editor_strange) {
  const OrtModelEditorApi& e = *s.api.GetModelEditorApi();
  OrtTensorTypeAndShapeInfo* info = make_info(s, 0, {2});
  OrtTypeInfo *type = nullptr, *map = nullptr;
  s.call("CreateTensorTypeInfo, undefined", e.CreateTensorTypeInfo(info, &type));
  s.call("CreateMapTypeInfo, float keys", e.CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, type, &map));
  OrtValueInfo* value = nullptr;
  s.call("CreateValueInfo", e.CreateValueInfo("x", type, &value));
  s.call("CreateValueInfo, no name", e.CreateValueInfo("", type, &value));
  s.note("value", value);
  const char* name = nullptr;
  CALL(GetValueInfoName, value, &name);
  const OrtTypeInfo* read = nullptr;
  CALL(GetValueInfoTypeInfo, value, &read);
  s.note("read", read);
}
