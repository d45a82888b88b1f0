// Values: tensors over given and owned memory, strings, sequences, maps.
#include <cstring>
#include <string>

#include "scene.h"

namespace {

OrtMemoryInfo* cpu(scenes::Scene& s) {
  OrtMemoryInfo* info = nullptr;
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &info);
  return info;
}

OrtValue* owned(scenes::Scene& s, ONNXTensorElementDataType type, std::vector<int64_t> shape) {
  OrtValue* value = nullptr;
  CALL(CreateTensorAsOrtValue, s.allocator(), shape.data(), shape.size(), type, &value);
  return value;
}

void describe(scenes::Scene& s, const OrtValue* value) {
  if (!value) return s.note("value", value);
  int flag = -7;
  CALL(IsTensor, value, &flag);
  s.note("is tensor", flag);
  CALL(IsSparseTensor, value, &flag);
  s.note("is sparse", flag);
  CALL(HasValue, value, &flag);
  s.note("has value", flag);
  ONNXType kind = ONNXType(-7);
  CALL(GetValueType, value, &kind);
  s.note("kind", kind);
  size_t n = 77;
  CALL(GetTensorSizeInBytes, value, &n);
  s.note("bytes", n);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (CALL(GetTensorTypeAndShape, value, &info) == ORT_OK) {
    ONNXTensorElementDataType type = ONNXTensorElementDataType(-7);
    CALL(GetTensorElementType, info, &type);
    s.note("element type", type);
    CALL(GetTensorShapeElementCount, info, &n);
    s.note("elements", n);
    s.api.ReleaseTensorTypeAndShapeInfo(info);
  }
  OrtTypeInfo* type = nullptr;
  if (CALL(GetTypeInfo, value, &type) == ORT_OK) {
    CALL(GetOnnxTypeFromTypeInfo, type, &kind);
    s.note("type kind", kind);
    s.api.ReleaseTypeInfo(type);
  }
  const OrtMemoryInfo* memory = nullptr;
  if (CALL(GetTensorMemoryInfo, value, &memory) == ORT_OK) {
    const char* name = nullptr;
    CALL(MemoryInfoGetName, memory, &name);
    s.note("memory", name);
  }
  ONNXTensorElementDataType element = ONNXTensorElementDataType(-7);
  const int64_t* dims = nullptr;
  size_t rank = 77;
  CALL(GetTensorElementTypeAndShapeDataReference, value, &element, &dims, &rank);
  s.note("element", element);
  s.note("rank", rank);
}

}  // namespace

SCENE(values, given_memory) {
  OrtMemoryInfo* memory = cpu(s);
  float data[6] = {0, 1, 2, 3, 4, 5};
  const int64_t shape[2] = {2, 3};
  OrtValue* value = nullptr;
  CALL(CreateTensorWithDataAsOrtValue, memory, data, sizeof data, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
       &value);
  s.api.ReleaseMemoryInfo(memory);
  describe(s, value);
  void* p = nullptr;
  CALL(GetTensorMutableData, value, &p);
  s.note("in place", p == data);
  const void* q = nullptr;
  CALL(GetTensorData, value, &q);
  s.note("in place", q == data);
  const int64_t at[2] = {1, 1}, outside[2] = {2, 0}, negative[2] = {0, -1};
  CALL(TensorAt, value, at, 2, &p);
  s.note("at", *static_cast<float*>(p));
  CALL(TensorAt, value, at, 1, &p);
  CALL(TensorAt, value, outside, 2, &p);
  CALL(TensorAt, value, negative, 2, &p);
  s.note("still", *static_cast<float*>(p));
  s.api.ReleaseValue(value);
  s.api.ReleaseValue(nullptr);
}

SCENE(values, given_memory_refused) {
  OrtMemoryInfo* memory = cpu(s);
  float data[6] = {};
  const int64_t shape[2] = {2, 3}, negative[2] = {-1, 3}, zero[2] = {0, 3},
                huge[2] = {int64_t(1) << 40, int64_t(1) << 40};
  const auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  OrtValue* value = nullptr;
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 20, shape, 2, kFloat, &value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 0, shape, 2, kFloat, &value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 24, negative, 2, kFloat, &value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 24, huge, 2, kFloat, &value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 24, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 24, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, &value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 24, shape, 2, ONNXTensorElementDataType(99), &value);
  s.note("value", value);
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 0, zero, 2, kFloat, &value);
  s.note("empty", value);
  value = nullptr;
  CALL(CreateTensorWithDataAsOrtValue, memory, nullptr, 0, zero, 2, kFloat, &value);
  s.note("empty, null data", value);
  value = nullptr;
  CALL(CreateTensorWithDataAsOrtValue, memory, data, 24, nullptr, 0, kFloat, &value);
  s.note("scalar", value);
  value = nullptr;
  CALL(CreateTensorWithDataAsOrtValue, memory, nullptr, 24, shape, 2, kFloat, &value);
  s.note("null data", value);
}

SCENE(values, packed_types) {
  OrtMemoryInfo* memory = cpu(s);
  uint8_t data[16] = {};
  const int64_t shape[1] = {5};
  for (int type : {21, 22, 23, 24, 25, 26, 17, 9, 16}) {
    for (size_t bytes : {1, 2, 3, 5, 10}) {
      OrtValue* value = nullptr;
      s.note("type", type);
      CALL(CreateTensorWithDataAsOrtValue, memory, data, bytes, shape, 1, ONNXTensorElementDataType(type), &value);
      size_t n = 77;
      if (value) CALL(GetTensorSizeInBytes, value, &n);
      s.note("bytes", n);
    }
  }
}

SCENE(values, owned_memory) {
  for (int type : {1, 7, 8, 10, 11, 0, 99}) {
    OrtValue* value = owned(s, ONNXTensorElementDataType(type), {2, 3});
    if (value) describe(s, value);
  }
  owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {-1});
  owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {int64_t(1) << 61});
  owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {int64_t(1) << 40, int64_t(1) << 40});
  describe(s, owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {}));
  describe(s, owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {0}));
}

SCENE(values, complex) {
  OrtValue* value = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64, {2});
  s.note("value", value);
}

SCENE(values, deleter) {
  OrtAllocator* a = s.allocator();
  void* p = nullptr;
  CALL(AllocatorAlloc, a, 24, &p);
  const int64_t shape[1] = {6};
  OrtValue* value = nullptr;
  CALL(CreateTensorWithDataAndDeleterAsOrtValue, a, p, 24, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  describe(s, value);
  s.api.ReleaseValue(value);
  value = nullptr;
  CALL(CreateTensorWithDataAndDeleterAsOrtValue, a, p, 4, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  s.note("value", value);
}

SCENE(values, strings) {
  OrtValue* value = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, {2, 2});
  const char* texts[5] = {"one", "", "three \xc3\xa9", "4", "five"};
  CALL(FillStringTensor, value, texts, 3);
  CALL(FillStringTensor, value, texts, 5);
  CALL(FillStringTensor, value, texts, 4);
  size_t n = 77;
  CALL(GetStringTensorDataLength, value, &n);
  s.note("length", n);
  char all[64] = {};
  size_t offsets[4] = {77, 77, 77, 77};
  CALL(GetStringTensorContent, value, all, n - 1, offsets, 4);
  CALL(GetStringTensorContent, value, all, n, offsets, 3);
  CALL(GetStringTensorContent, value, all, n, offsets, 4);
  s.note("content", std::string_view(all, n));
  for (size_t o : offsets) s.note("offset", o);
  CALL(GetStringTensorContent, value, all, n + 5, offsets, 4);
  for (size_t i : {size_t(0), size_t(1), size_t(3), size_t(4)}) {
    n = 77;
    CALL(GetStringTensorElementLength, value, i, &n);
    s.note("length", n);
    char one[16] = "zzzzzzzzz";
    CALL(GetStringTensorElement, value, 15, i, one);
    s.note("element", std::string_view(one, 5));
    CALL(GetStringTensorElement, value, 0, i, one);
  }
  CALL(FillStringTensorElement, value, "changed", 1);
  CALL(FillStringTensorElement, value, "changed", 4);
  char* buffer = nullptr;
  CALL(GetResizedStringTensorElementBuffer, value, 0, 40, &buffer);
  if (buffer) std::memset(buffer, 'x', 40);
  CALL(GetStringTensorElementLength, value, 0, &n);
  s.note("resized", n);
  CALL(GetResizedStringTensorElementBuffer, value, 9, 40, &buffer);
  CALL(GetTensorSizeInBytes, value, &n);
  const void* p = nullptr;
  CALL(GetTensorData, value, &p);
  s.note("data", p);
}

SCENE(values, strings_of_other_types) {
  OrtValue* value = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {2});
  const char* texts[2] = {"a", "b"};
  size_t n = 77;
  char buffer[8] = {};
  size_t offsets[2];
  CALL(FillStringTensor, value, texts, 2);
  CALL(FillStringTensorElement, value, "a", 0);
  CALL(GetStringTensorDataLength, value, &n);
  CALL(GetStringTensorContent, value, buffer, 8, offsets, 2);
  CALL(GetStringTensorElementLength, value, 0, &n);
  CALL(GetStringTensorElement, value, 8, 0, buffer);
  char* out = nullptr;
  CALL(GetResizedStringTensorElementBuffer, value, 0, 4, &out);
  s.note("n", n);
  const int64_t at[1] = {0};
  void* p = nullptr;
  CALL(TensorAt, owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, {2}), at, 1, &p);
}

SCENE(values, sequences) {
  OrtValue* a = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {2});
  OrtValue* b = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {3});
  OrtValue* c = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {3});
  const OrtValue* items[3] = {a, b, c};
  OrtValue *sequence = nullptr, *bad = nullptr;
  CALL(CreateValue, items, 2, ONNX_TYPE_SEQUENCE, &sequence);
  describe(s, sequence);
  CALL(CreateValue, items, 3, ONNX_TYPE_SEQUENCE, &bad);
  CALL(CreateValue, items, 0, ONNX_TYPE_SEQUENCE, &bad);
  CALL(CreateValue, items, 2, ONNX_TYPE_TENSOR, &bad);
  CALL(CreateValue, items, 2, ONNXType(77), &bad);
  s.note("bad", bad);
  size_t n = 77;
  CALL(GetValueCount, sequence, &n);
  s.note("count", n);
  CALL(GetValueCount, a, &n);
  for (int i : {0, 1, 2, -1}) {
    OrtValue* item = nullptr;
    CALL(GetValue, sequence, i, s.allocator(), &item);
    s.note("item", item);
    if (item) {
      const void *p = nullptr, *q = nullptr;
      CALL(GetTensorData, item, &p);
      CALL(GetTensorData, items[i], &q);
      s.note("shared", p == q);
    }
  }
  OrtValue* item = nullptr;
  CALL(GetValue, a, 0, s.allocator(), &item);
  const OrtValue* nested[1] = {sequence};
  CALL(CreateValue, nested, 1, ONNX_TYPE_SEQUENCE, &bad);
  s.note("nested", bad);
}

SCENE(values, maps) {
  const int kI64 = 7, kF32 = 1, kString = 8, kF64 = 11, kI32 = 6;
  for (auto [key, value] : {std::pair{kI64, kF32},
                            {kString, kF32},
                            {kI64, kString},
                            {kString, kI64},
                            {kI64, kF64},
                            {kI64, kI64},
                            {kF32, kF32},
                            {kI32, kF32},
                            {kI64, kI32},
                            {kString, kString},
                            {kString, kF64}}) {
    OrtValue* k = owned(s, ONNXTensorElementDataType(key), {2});
    OrtValue* v = owned(s, ONNXTensorElementDataType(value), {2});
    if (key == kI64) {
      void* p = nullptr;
      CALL(GetTensorMutableData, k, &p);
      static_cast<int64_t*>(p)[0] = 9;
      static_cast<int64_t*>(p)[1] = 4;
    } else if (key == kString) {
      const char* texts[2] = {"z", "a"};
      CALL(FillStringTensor, k, texts, 2);
    }
    const OrtValue* both[2] = {k, v};
    OrtValue* map = nullptr;
    s.note("key", key);
    s.note("value", value);
    CALL(CreateValue, both, 2, ONNX_TYPE_MAP, &map);
    s.note("map", map);
    if (!map) continue;
    describe(s, map);
    size_t n = 77;
    CALL(GetValueCount, map, &n);
    s.note("count", n);
    for (int i : {0, 1, 2}) {
      OrtValue* part = nullptr;
      CALL(GetValue, map, i, s.allocator(), &part);
      if (part) describe(s, part);
      if (i == 0 && key == kI64) {
        void* p = nullptr;
        CALL(GetTensorMutableData, part, &p);
        s.note("first key", static_cast<int64_t*>(p)[0]);
      }
    }
  }
}

SCENE(values, strange_maps) {
  OrtValue* keys = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {2});
  OrtValue* short_values = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {1});
  OrtValue* matrix = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {1, 2});
  OrtValue* map = nullptr;
  const OrtValue *one[1] = {keys}, *uneven[2] = {keys, short_values}, *three[3] = {keys, keys, keys},
                 *two_d[2] = {keys, matrix};
  CALL(CreateValue, one, 1, ONNX_TYPE_MAP, &map);
  CALL(CreateValue, three, 3, ONNX_TYPE_MAP, &map);
  CALL(CreateValue, uneven, 2, ONNX_TYPE_MAP, &map);
  s.note("map", map);
  CALL(CreateValue, two_d, 2, ONNX_TYPE_MAP, &map);
  s.note("map", map);
}

SCENE(values, opaque) {
  int data = 4, read = 0;
  OrtValue* value = nullptr;
  CALL(CreateOpaqueValue, "test.domain", "Type", &data, sizeof data, &value);
  s.note("value", value);
  OrtValue* tensor = owned(s, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {2});
  CALL(GetOpaqueValue, "test.domain", "Type", tensor, &read, sizeof read);
}
