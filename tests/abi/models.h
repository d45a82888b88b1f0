// Sessions on the small models of tests/clients/data, for scenes.
#pragma once
#include <fstream>
#include <iterator>
#include <string>

#include "scene.h"

namespace scenes {

inline std::string model_path(const char* name) { return std::string(RETORT_MODELS) + "/" + name + ".onnx"; }

inline std::string model_bytes(const char* name) {
  std::ifstream in(model_path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline OrtSession* open(Scene& s, const char* name, const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  s.call("CreateSession", s.api.CreateSession(s.env(), model_path(name).c_str(), options, &session));
  return session;
}

/// A float tensor over `data`, which the caller owns.
inline OrtValue* floats(Scene& s, float* data, std::vector<int64_t> shape) {
  OrtMemoryInfo* cpu = nullptr;
  s.call("CreateCpuMemoryInfo", s.api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  size_t n = 1;
  for (int64_t d : shape) n *= size_t(d);
  OrtValue* value = nullptr;
  s.call("tensor", s.api.CreateTensorWithDataAsOrtValue(cpu, data, n * sizeof(float), shape.data(), shape.size(),
                                                        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  s.api.ReleaseMemoryInfo(cpu);
  return value;
}

/// Notes shape and elements of a float or int64 tensor.
inline void note_tensor(Scene& s, std::string_view key, const OrtValue* value) {
  if (!value) return s.note(key, static_cast<const void*>(nullptr));
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (s.call("GetTensorTypeAndShape", s.api.GetTensorTypeAndShape(value, &info)) != ORT_OK) return;
  ONNXTensorElementDataType type;
  size_t rank = 0, count = 0;
  const void* data = nullptr;
  s.call("type", s.api.GetTensorElementType(info, &type));
  s.call("rank", s.api.GetDimensionsCount(info, &rank));
  s.call("count", s.api.GetTensorShapeElementCount(info, &count));
  std::vector<int64_t> dims(rank);
  s.call("dims", s.api.GetDimensions(info, dims.data(), rank));
  s.call("data", s.api.GetTensorData(value, &data));
  s.api.ReleaseTensorTypeAndShapeInfo(info);
  std::string text = "[";
  for (int64_t d : dims) text += std::to_string(d) + " ";
  text += "]";
  for (size_t i = 0; i < count && i < 32; ++i) {
    text += " " + (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ? std::to_string(static_cast<const float*>(data)[i])
                                                               : std::to_string(static_cast<const int64_t*>(data)[i]));
  }
  s.note(key, text);
}

/// Notes why a provider does not support a device.
inline void note_details(Scene& s, const OrtDeviceEpIncompatibilityDetails* details) {
  uint32_t reasons = 77;
  int32_t code = 77;
  const char* notes = "unset";
  CALL(DeviceEpIncompatibilityDetails_GetReasonsBitmask, details, &reasons);
  CALL(DeviceEpIncompatibilityDetails_GetErrorCode, details, &code);
  CALL(DeviceEpIncompatibilityDetails_GetNotes, details, &notes);
  s.note("reasons", reasons);
  s.note("code", code);
  s.note("notes", notes);
}

}  // namespace scenes
