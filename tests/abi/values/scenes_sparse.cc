// Sparse tensors.

#include "scene.h"

namespace {

OrtMemoryInfo* cpu(scenes::Scene& s) {
  OrtMemoryInfo* info = nullptr;
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &info);
  return info;
}

void describe_indices(scenes::Scene& s, const OrtValue* value, OrtSparseIndicesFormat format) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (CALL(GetSparseTensorIndicesTypeShape, value, format, &info) == ORT_OK) {
    ONNXTensorElementDataType type = ONNXTensorElementDataType(-7);
    CALL(GetTensorElementType, info, &type);
    s.note("indices type", type);
    size_t rank = 0;
    CALL(GetDimensionsCount, info, &rank);
    std::vector<int64_t> dims(rank);
    CALL(GetDimensions, info, dims.data(), rank);
    for (int64_t d : dims) s.note("indices dim", d);
  }
  size_t n = 77;
  const void* p = nullptr;
  CALL(GetSparseTensorIndices, value, format, &n, &p);
  s.note("n", n);
}

void describe(scenes::Scene& s, const OrtValue* value) {
  int flag = -7;
  CALL(IsSparseTensor, value, &flag);
  s.note("is sparse", flag);
  CALL(IsTensor, value, &flag);
  s.note("is tensor", flag);
  ONNXType kind = ONNXType(-7);
  CALL(GetValueType, value, &kind);
  s.note("kind", kind);
  OrtSparseFormat format = OrtSparseFormat(-7);
  CALL(GetSparseTensorFormat, value, &format);
  s.note("format", format);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (CALL(GetSparseTensorValuesTypeAndShape, value, &info) == ORT_OK) {
    size_t n = 77;
    CALL(GetTensorShapeElementCount, info, &n);
    s.note("values", n);
    CALL(GetDimensionsCount, info, &n);
    s.note("values rank", n);
  }
  info = nullptr;
  if (CALL(GetTensorTypeAndShape, value, &info) == ORT_OK) {
    size_t n = 77;
    CALL(GetTensorShapeElementCount, info, &n);
    s.note("dense elements", n);
  }
  const void* p = nullptr;
  CALL(GetSparseTensorValues, value, &p);
  s.note("values", p);
  for (int f : {0, 1, 2, 3}) {
    s.note("indices", f);
    describe_indices(s, value, OrtSparseIndicesFormat(f));
  }
}

const int64_t kDense[2] = {3, 4};

}  // namespace

SCENE(sparse, empty) {
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), kDense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  describe(s, value);
}

SCENE(sparse, coo) {
  float values[3] = {1, 2, 3};
  int64_t linear[3] = {0, 5, 11}, pairs[6] = {0, 0, 1, 1, 2, 3};
  const int64_t shape[1] = {3};
  for (bool two : {false, true}) {
    OrtValue* value = nullptr;
    CALL(CreateSparseTensorAsOrtValue, s.allocator(), kDense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
    CALL(FillSparseTensorCoo, value, cpu(s), shape, 1, values, two ? pairs : linear, two ? 6 : 3);
    describe(s, value);
    CALL(FillSparseTensorCoo, value, cpu(s), shape, 1, values, linear, 3);
    s.api.ReleaseValue(value);
  }
}

SCENE(sparse, coo_refused) {
  float values[3] = {1, 2, 3};
  int64_t outside[3] = {0, 5, 12}, negative[3] = {-1, 5, 11}, unsorted[3] = {5, 0, 11};
  const int64_t shape[1] = {3};
  for (int64_t* indices : {outside, negative, unsorted}) {
    OrtValue* value = nullptr;
    CALL(CreateSparseTensorAsOrtValue, s.allocator(), kDense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
    CALL(FillSparseTensorCoo, value, cpu(s), shape, 1, values, indices, 3);
    CALL(FillSparseTensorCoo, value, cpu(s), shape, 1, values, indices, 2);
  }
}

SCENE(sparse, csr) {
  float values[3] = {1, 2, 3};
  int64_t inner[3] = {0, 1, 3}, outer[4] = {0, 1, 2, 3}, wrong[3] = {0, 1, 3};
  const int64_t shape[1] = {3};
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), kDense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  CALL(FillSparseTensorCsr, value, cpu(s), shape, 1, values, inner, 3, wrong, 3);
  CALL(FillSparseTensorCsr, value, cpu(s), shape, 1, values, inner, 3, outer, 4);
  describe(s, value);
}

SCENE(sparse, block) {
  float values[4] = {1, 2, 3, 4};
  int32_t indices[2] = {0, 1};
  const int64_t dense[2] = {4, 4}, shape[3] = {2, 2, 1}, index_shape[2] = {2, 1}, wrong[3] = {1, 2, 2};
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  CALL(FillSparseTensorBlockSparse, value, cpu(s), wrong, 3, values, index_shape, 2, indices);
  CALL(FillSparseTensorBlockSparse, value, cpu(s), shape, 3, values, index_shape, 2, indices);
  describe(s, value);
}

SCENE(sparse, use_coo) {
  float values[3] = {1, 2, 3};
  int64_t linear[3] = {0, 5, 11};
  const int64_t shape[1] = {3};
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorWithValuesAsOrtValue, cpu(s), values, kDense, 2, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
       &value);
  describe(s, value);
  CALL(UseCooIndices, value, linear, 3);
  describe(s, value);
  const void* p = nullptr;
  CALL(GetSparseTensorValues, value, &p);
  s.note("in place", p == values);
  size_t n = 0;
  CALL(GetSparseTensorIndices, value, ORT_SPARSE_COO_INDICES, &n, &p);
  s.note("in place", p == linear);
}

SCENE(sparse, use_csr) {
  float values[3] = {1, 2, 3};
  int64_t inner[3] = {0, 1, 3}, outer[4] = {0, 1, 2, 3};
  const int64_t shape[1] = {3};
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorWithValuesAsOrtValue, cpu(s), values, kDense, 2, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
       &value);
  CALL(UseCsrIndices, value, inner, 2, outer, 4);
  CALL(UseCsrIndices, value, inner, 3, outer, 4);
  describe(s, value);
}

SCENE(sparse, use_block) {
  float values[4] = {1, 2, 3, 4};
  int32_t indices[2] = {0, 1};
  const int64_t dense[2] = {4, 4}, shape[3] = {2, 2, 1}, index_shape[2] = {2, 1}, wrong[3] = {1, 2, 2};
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorWithValuesAsOrtValue, cpu(s), values, dense, 2, shape, 3, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
       &value);
  CALL(UseBlockSparseIndices, value, wrong, 3, indices);
  CALL(UseBlockSparseIndices, value, index_shape, 2, indices);
  describe(s, value);
}

SCENE(sparse, strings) {
  const char* texts[2] = {"a", "bb"};
  int64_t linear[2] = {1, 4};
  const int64_t shape[1] = {2};
  OrtValue* value = nullptr;
  CALL(CreateSparseTensorAsOrtValue, s.allocator(), kDense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value);
  CALL(FillSparseTensorCoo, value, cpu(s), shape, 1, texts, linear, 2);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CALL(GetSparseTensorValuesTypeAndShape, value, &info);
  size_t n = 77;
  CALL(GetStringTensorDataLength, value, &n);
  s.note("length", n);
  CALL(GetStringTensorElementLength, value, 1, &n);
  s.note("length", n);
}

SCENE(sparse, dense_value) {
  OrtValue* value = nullptr;
  CALL(CreateTensorAsOrtValue, s.allocator(), kDense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  OrtSparseFormat format = OrtSparseFormat(-7);
  CALL(GetSparseTensorFormat, value, &format);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  CALL(GetSparseTensorValuesTypeAndShape, value, &info);
  const void* p = nullptr;
  CALL(GetSparseTensorValues, value, &p);
  int64_t index[1] = {0};
  CALL(UseCooIndices, value, index, 1);
}
