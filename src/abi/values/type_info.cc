#include "abi/values/type_info.h"

#include "abi/slots.h"
#include "base/checked.h"

namespace retort::abi {

ONNXTensorElementDataType to_onnx(DType type) {
  switch (type) {
    case DType::f8e8m0:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
    case DType::u2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2;
    case DType::i2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    default:
      return ONNXTensorElementDataType(type);
  }
}

DType from_onnx(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0:
      return DType::f8e8m0;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return DType::u2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return DType::i2;
    default:
      break;
  }
  require(type > ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED && int(type) < kDTypeCount, ErrorCode::not_implemented,
          "element type {} does not exist; give one of ONNXTensorElementDataType", int(type));
  return DType(type);
}

OrtTensorTypeAndShapeInfo tensor_info(DType type, std::span<const int64_t> shape) {
  OrtTensorTypeAndShapeInfo info;
  info.type = to_onnx(type);
  info.has_shape = true;
  info.dims.assign(shape.begin(), shape.end());
  info.symbols.resize(shape.size());
  return info;
}

OrtTypeInfo tensor_type(OrtTensorTypeAndShapeInfo info, ONNXType kind) {
  OrtTypeInfo type;
  type.kind = kind;
  type.tensor = std::make_shared<const OrtTensorTypeAndShapeInfo>(std::move(info));
  return type;
}

OrtTypeInfo map_type(ONNXTensorElementDataType key, OrtTypeInfo value) {
  auto map = std::make_shared<OrtMapTypeInfo>();
  map->key = key;
  map->value = std::move(value);
  OrtTypeInfo type;
  type.kind = ONNX_TYPE_MAP;
  type.map = std::move(map);
  return type;
}

OrtTypeInfo sequence_type(OrtTypeInfo element) {
  auto sequence = std::make_shared<OrtSequenceTypeInfo>();
  sequence->element = std::move(element);
  OrtTypeInfo type;
  type.kind = ONNX_TYPE_SEQUENCE;
  type.sequence = std::move(sequence);
  return type;
}

OrtTypeInfo optional_type(OrtTypeInfo contained) {
  auto optional = std::make_shared<OrtOptionalTypeInfo>();
  optional->contained = std::move(contained);
  OrtTypeInfo type;
  type.kind = ONNX_TYPE_OPTIONAL;
  type.optional = std::move(optional);
  return type;
}

OrtTypeInfo type_of(const Value& value) {
  if (const auto* tensor = value.get<Tensor>()) return tensor_type(tensor_info(tensor->dtype(), tensor->shape()));
  if (const auto* sparse = value.get<SparseTensor>()) {
    return tensor_type(tensor_info(sparse->values.dtype(), sparse->dense_shape), ONNX_TYPE_SPARSETENSOR);
  }
  if (const auto* map = value.get<Map>()) {
    return map_type(to_onnx(map->keys.dtype()), tensor_type(tensor_info(map->values.dtype(), {})));
  }
  if (const auto* sequence = value.get<Sequence>()) {
    if (!sequence->items.empty() && !sequence->items[0].tensor()) return sequence_type(type_of(sequence->items[0]));
    OrtTensorTypeAndShapeInfo element;
    element.type = to_onnx(sequence->dtype);
    return sequence_type(tensor_type(element));
  }
  if (const auto* optional = value.get<Optional>(); optional && optional->value)
    return optional_type(type_of(*optional->value));
  fail(ErrorCode::runtime_exception, "the value is empty, so it has no type");
}

OrtStatusPtr ORT_API_CALL CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtTensorTypeAndShapeInfo>()); });
}

void ORT_API_CALL ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL SetTensorElementType(OrtTensorTypeAndShapeInfo* info,
                                               ONNXTensorElementDataType type) noexcept {
  return guard([&] { handle(info, "info").type = type; });
}

// Setting fewer extents than there are leaves the others: the official library does so too.
OrtStatusPtr ORT_API_CALL SetDimensions(OrtTensorTypeAndShapeInfo* info, const int64_t* dim_values,
                                        size_t dim_count) noexcept {
  return guard([&] {
    OrtTensorTypeAndShapeInfo& i = handle(info, "info");
    if (dim_count) need(dim_values, "dim_values");
    for (size_t k = 0; k < dim_count; ++k) {
      require(dim_values[k] >= -1, ErrorCode::invalid_argument, "extent {} of dimension {} is below -1", dim_values[k],
              k);
    }
    i.has_shape = true;
    if (dim_count > i.dims.size()) i.dims.resize(dim_count, -1);
    i.symbols.resize(i.dims.size());
    std::copy_n(dim_values, dim_count, i.dims.begin());
  });
}

OrtStatusPtr ORT_API_CALL SetSymbolicDimensions(OrtTensorTypeAndShapeInfo* info, const char** dim_params,
                                                size_t dim_params_length) noexcept {
  return guard([&] {
    OrtTensorTypeAndShapeInfo& i = handle(info, "info");
    if (dim_params_length) need(dim_params, "dim_params");
    i.symbols.assign(std::max(dim_params_length, i.dims.size()), "");
    for (size_t k = 0; k < dim_params_length; ++k) i.symbols[k] = need_text(dim_params[k], "dim_params");
    i.dims.resize(i.symbols.size(), -1);
    i.has_shape = true;
  });
}

OrtStatusPtr ORT_API_CALL GetTensorElementType(const OrtTensorTypeAndShapeInfo* info,
                                               ONNXTensorElementDataType* out) noexcept {
  return guard([&] { need(out, "out") = handle(info, "info").type; });
}

OrtStatusPtr ORT_API_CALL GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, size_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(info, "info").dims.size(); });
}

OrtStatusPtr ORT_API_CALL GetDimensions(const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values,
                                        size_t dim_values_length) noexcept {
  return guard([&] {
    const auto& dims = handle(info, "info").dims;
    if (dim_values_length) need(dim_values, "dim_values");
    std::copy_n(dims.begin(), std::min(dims.size(), dim_values_length), dim_values);
  });
}

OrtStatusPtr ORT_API_CALL GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo* info, const char** dim_params,
                                                size_t dim_params_length) noexcept {
  return guard([&] {
    const auto& symbols = handle(info, "info").symbols;
    if (dim_params_length) need(dim_params, "dim_params");
    for (size_t k = 0; k < std::min(symbols.size(), dim_params_length); ++k) dim_params[k] = symbols[k].c_str();
  });
}

OrtStatusPtr ORT_API_CALL GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo* info, size_t* out) noexcept {
  return guard([&] {
    const OrtTensorTypeAndShapeInfo& i = handle(info, "info");
    need(out, "out");
    size_t count = i.has_shape ? 1 : 0;
    for (int64_t d : i.dims) {
      const auto next = d < 0 ? std::nullopt : try_mul(count, size_t(d));
      require(next.has_value(), ErrorCode::fail, "shape {} has no number of elements", to_string(i.dims));
      count = *next;
    }
    *out = count;
  });
}

bool ORT_API_CALL TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo* info) noexcept {
  return info && info->has_shape;
}

OrtStatusPtr ORT_API_CALL GetOnnxTypeFromTypeInfo(const OrtTypeInfo* type_info, ONNXType* out) noexcept {
  return guard([&] { need(out, "out") = handle(type_info, "type_info").kind; });
}

OrtStatusPtr ORT_API_CALL GetDenotationFromTypeInfo(const OrtTypeInfo* type_info, const char** const denotation,
                                                    size_t* len) noexcept {
  return guard([&] {
    const std::string& text = handle(type_info, "type_info").denotation;
    need(denotation, "denotation");
    need(len, "len") = text.size();
    *denotation = text.c_str();
  });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToTensorInfo(const OrtTypeInfo* type_info,
                                                   const OrtTensorTypeAndShapeInfo** out) noexcept {
  return guard([&] { need(out, "out") = handle(type_info, "type_info").tensor.get(); });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToMapTypeInfo(const OrtTypeInfo* type_info, const OrtMapTypeInfo** out) noexcept {
  return guard([&] { need(out, "out") = handle(type_info, "type_info").map.get(); });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo* type_info,
                                                         const OrtSequenceTypeInfo** out) noexcept {
  return guard([&] { need(out, "out") = handle(type_info, "type_info").sequence.get(); });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo* type_info,
                                                         const OrtOptionalTypeInfo** out) noexcept {
  return guard([&] { need(out, "out") = handle(type_info, "type_info").optional.get(); });
}

OrtStatusPtr ORT_API_CALL GetMapKeyType(const OrtMapTypeInfo* map_type_info, ONNXTensorElementDataType* out) noexcept {
  return guard([&] { need(out, "out") = handle(map_type_info, "map_type_info").key; });
}

OrtStatusPtr ORT_API_CALL GetMapValueType(const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info) noexcept {
  return guard([&] {
    give(type_info, "type_info", std::make_unique<OrtTypeInfo>(handle(map_type_info, "map_type_info").value));
  });
}

OrtStatusPtr ORT_API_CALL GetSequenceElementType(const OrtSequenceTypeInfo* sequence_type_info,
                                                 OrtTypeInfo** type_info) noexcept {
  return guard([&] {
    give(type_info, "type_info",
         std::make_unique<OrtTypeInfo>(handle(sequence_type_info, "sequence_type_info").element));
  });
}

OrtStatusPtr ORT_API_CALL GetOptionalContainedTypeInfo(const OrtOptionalTypeInfo* optional_type_info,
                                                       OrtTypeInfo** out) noexcept {
  return guard([&] {
    give(out, "out", std::make_unique<OrtTypeInfo>(handle(optional_type_info, "optional_type_info").contained));
  });
}

// The views of a type info have no life of their own: releasing one is harmless.
void ORT_API_CALL ReleaseMapTypeInfo(OrtMapTypeInfo*) noexcept {}
void ORT_API_CALL ReleaseSequenceTypeInfo(OrtSequenceTypeInfo*) noexcept {}
void ORT_API_CALL ReleaseTypeInfo(OrtTypeInfo* input) noexcept { release(input); }

namespace editor_api {

namespace {
OrtTypeInfo tensor_like(const OrtTensorTypeAndShapeInfo* info, ONNXType kind) {
  OrtTensorTypeAndShapeInfo copy = handle(info, "tensor_info");
  return tensor_type(std::move(copy), kind);
}
}  // namespace

OrtStatusPtr ORT_API_CALL CreateTensorTypeInfo(const OrtTensorTypeAndShapeInfo* tensor_info,
                                               OrtTypeInfo** type_info) noexcept {
  return guard(
      [&] { give(type_info, "type_info", std::make_unique<OrtTypeInfo>(tensor_like(tensor_info, ONNX_TYPE_TENSOR))); });
}

OrtStatusPtr ORT_API_CALL CreateSparseTensorTypeInfo(const OrtTensorTypeAndShapeInfo* tensor_info,
                                                     OrtTypeInfo** type_info) noexcept {
  return guard([&] {
    give(type_info, "type_info", std::make_unique<OrtTypeInfo>(tensor_like(tensor_info, ONNX_TYPE_SPARSETENSOR)));
  });
}

OrtStatusPtr ORT_API_CALL CreateMapTypeInfo(ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type,
                                            OrtTypeInfo** type_info) noexcept {
  return guard([&] {
    give(type_info, "type_info",
         std::make_unique<OrtTypeInfo>(map_type(map_key_type, handle(map_value_type, "map_value_type"))));
  });
}

OrtStatusPtr ORT_API_CALL CreateSequenceTypeInfo(const OrtTypeInfo* sequence_type_, OrtTypeInfo** type_info) noexcept {
  return guard([&] {
    give(type_info, "type_info", std::make_unique<OrtTypeInfo>(sequence_type(handle(sequence_type_, "sequence_type"))));
  });
}

OrtStatusPtr ORT_API_CALL CreateOptionalTypeInfo(const OrtTypeInfo* contained_type, OrtTypeInfo** type_info) noexcept {
  return guard([&] {
    give(type_info, "type_info",
         std::make_unique<OrtTypeInfo>(optional_type(handle(contained_type, "contained_type"))));
  });
}

}  // namespace editor_api
}  // namespace retort::abi
