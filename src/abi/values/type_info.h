// Type infos: what GetTypeInfo and the model editor hand out.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/handle.h"
#include "tensor/tensor.h"

/// Element type and shape. Extents are >= 0, or -1 when unknown; `symbols` names some of the unknown ones.
struct OrtTensorTypeAndShapeInfo : retort::abi::Handle<retort::abi::tag_of("tsri")> {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  bool has_shape = false;
  std::vector<int64_t> dims;
  std::vector<std::string> symbols;  ///< as long as dims; "" for none
};

struct OrtMapTypeInfo;
struct OrtSequenceTypeInfo;
struct OrtOptionalTypeInfo;

/// One of the members is set, by `kind`. Views into it (casts) live as long as it does.
struct OrtTypeInfo : retort::abi::Handle<retort::abi::tag_of("type")> {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  std::string denotation;
  std::shared_ptr<const OrtTensorTypeAndShapeInfo> tensor;  ///< of tensors and sparse tensors
  std::shared_ptr<const OrtMapTypeInfo> map;
  std::shared_ptr<const OrtSequenceTypeInfo> sequence;
  std::shared_ptr<const OrtOptionalTypeInfo> optional;
};

struct OrtMapTypeInfo : retort::abi::Handle<retort::abi::tag_of("mapt")> {
  ONNXTensorElementDataType key = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  OrtTypeInfo value;
};
struct OrtSequenceTypeInfo : retort::abi::Handle<retort::abi::tag_of("seqt")> {
  OrtTypeInfo element;
};
struct OrtOptionalTypeInfo : retort::abi::Handle<retort::abi::tag_of("optt")> {
  OrtTypeInfo contained;
};

namespace retort::abi {

/// The numbers agree but for three types.
ONNXTensorElementDataType to_onnx(DType type);
/// not_implemented for numbers that name no type of elements.
DType from_onnx(ONNXTensorElementDataType type);

OrtTensorTypeAndShapeInfo tensor_info(DType type, std::span<const int64_t> shape);
OrtTypeInfo tensor_type(OrtTensorTypeAndShapeInfo info, ONNXType kind = ONNX_TYPE_TENSOR);
OrtTypeInfo map_type(ONNXTensorElementDataType key, OrtTypeInfo value);
OrtTypeInfo sequence_type(OrtTypeInfo element);
OrtTypeInfo optional_type(OrtTypeInfo contained);
/// The type of a value; throws runtime_exception when the value is empty.
OrtTypeInfo type_of(const Value& value);

}  // namespace retort::abi
