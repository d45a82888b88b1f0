// Types of the engine's values, and their names. Knows nothing of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"

namespace retort::python {

using Element = ONNXTensorElementDataType;

inline constexpr int kElementCount = 27;

// "float", "double", "int64", "bfloat16"...: the part in brackets of "tensor(float)". "undefined" for other numbers.
const char* element_name(Element element);

// Size of one element in the engine's memory: 4 for int4, two of which share a byte. 0 for strings and unknown ones.
int element_bits(Element element);

// The numbers of onnx.TensorProto.DataType, which Python programs use; they differ for 8-bit exponents and 2-bit
// integers. Throws Misuse for a number without counterpart.
Element element_of_proto(int64_t proto);
int proto_of_element(Element element);

// Bytes of `count` elements; strings are not counted. Throws Error on overflow.
size_t element_bytes(Element element, size_t count);

// The number of elements of a shape. Throws Error(ORT_INVALID_ARGUMENT) on negative extents and on overflow.
size_t count_of(const int64_t* shape, size_t rank);

// Type of a value or of an input or output of a model.
struct Type {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  Element element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of tensors; of the keys of maps
  std::shared_ptr<const Type> inner;                          // of sequences, maps (their values) and optionals
  bool has_shape = false;                                     // of tensors
  std::vector<int64_t> shape;                                 // -1: free
  std::vector<std::string> symbols;                           // names of the free extents, "" for those without

  // "tensor(float)", "seq(map(int64,tensor(float)))", "optional(tensor(float))", "sparse_tensor(float)".
  std::string text() const;
};

Type type_of(const OrtTypeInfo* info);
Type type_of(const OrtValue* value);

// Element type and shape of a tensor or sparse tensor (its dense shape).
struct TensorForm {
  Element element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
};
TensorForm form_of(const OrtTensorTypeAndShapeInfo* info);
TensorForm form_of(const OrtValue* value);

// The kind of a value; unknown for an optional without value, about which the engine must not be asked more.
ONNXType kind_of(const OrtValue* value);

}  // namespace retort::python
