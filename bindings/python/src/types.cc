#include "types.h"

#include <array>
#include <limits>

namespace retort::python {
namespace {

struct ElementRow {
  const char* name;
  int bits;
};

// In the order of ONNXTensorElementDataType.
constexpr std::array<ElementRow, kElementCount> kElements = {{
    {"undefined", 0},      {"float", 32},     {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},     {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"double", 64},    {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},      {"int4", 4},         {"float4e2m1", 4},     {"uint2", 2},
    {"int2", 2},           {"float8e8m0", 8},
}};

// The numbers of onnx.TensorProto.DataType where they differ: FLOAT8E8M0 is 24 there, UINT2 25 and INT2 26.
constexpr int kProtoE8M0 = 24;
constexpr int kProtoUint2 = 25;
constexpr int kProtoInt2 = 26;

const ElementRow& row_of(Element element) {
  const auto index = static_cast<size_t>(element);
  return kElements[index < kElements.size() ? index : 0];
}

[[noreturn]] void fail_shape(const int64_t* shape, size_t rank, const char* problem) {
  std::string text = "shape [";
  for (size_t i = 0; i < rank; ++i) {
    text += (i ? "," : "") + std::to_string(shape[i]);
  }
  throw Misuse(ORT_INVALID_ARGUMENT, text + "] " + problem);
}

void read_shape(const OrtTensorTypeAndShapeInfo* info, std::vector<int64_t>& shape) {
  size_t rank = 0;
  check(api().GetDimensionsCount(info, &rank));
  shape.resize(rank);
  check(api().GetDimensions(info, shape.data(), rank));
}

void read_tensor(const OrtTypeInfo* info, Type& type) {
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  check(api().CastTypeInfoToTensorInfo(info, &tensor));
  if (!tensor) {
    return;
  }
  check(api().GetTensorElementType(tensor, &type.element));
  constexpr uint32_t kHasShape = 24;  // the version that has TensorTypeAndShape_HasShape
  type.has_shape = api_version() < kHasShape || api().TensorTypeAndShape_HasShape(tensor);
  read_shape(tensor, type.shape);
  std::vector<const char*> symbols(type.shape.size());
  check(api().GetSymbolicDimensions(tensor, symbols.data(), symbols.size()));
  for (const char* symbol : symbols) {
    type.symbols.emplace_back(symbol ? symbol : "");
  }
}

std::shared_ptr<const Type> inner_of(Owned<OrtTypeInfo> info) {
  return std::make_shared<const Type>(type_of(info.get()));
}

void read_map(const OrtTypeInfo* info, Type& type) {
  const OrtMapTypeInfo* map = nullptr;
  check(api().CastTypeInfoToMapTypeInfo(info, &map));
  check(api().GetMapKeyType(map, &type.element));
  type.inner = inner_of(made<OrtTypeInfo>(api().GetMapValueType, map));
}

void read_sequence(const OrtTypeInfo* info, Type& type) {
  const OrtSequenceTypeInfo* sequence = nullptr;
  check(api().CastTypeInfoToSequenceTypeInfo(info, &sequence));
  type.inner = inner_of(made<OrtTypeInfo>(api().GetSequenceElementType, sequence));
}

void read_optional(const OrtTypeInfo* info, Type& type) {
  const OrtOptionalTypeInfo* optional = nullptr;
  check(api().CastTypeInfoToOptionalTypeInfo(info, &optional));
  type.inner = inner_of(made<OrtTypeInfo>(api().GetOptionalContainedTypeInfo, optional));
}

}  // namespace

const char* element_name(Element element) { return row_of(element).name; }

int element_bits(Element element) { return row_of(element).bits; }

size_t element_bytes(Element element, size_t count) {
  const auto bits = static_cast<size_t>(element_bits(element));
  if (bits && count > (std::numeric_limits<size_t>::max() - 7) / bits) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 std::to_string(count) + " elements of type " + element_name(element) + " do not fit into memory");
  }
  return (count * bits + 7) / 8;
}

Element element_of_proto(int64_t proto) {
  switch (proto) {
    case kProtoE8M0:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
    case kProtoUint2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2;
    case kProtoInt2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    default:
      break;
  }
  if (proto < 1 || proto >= kElementCount) {
    throw Misuse(ORT_INVALID_ARGUMENT, "tensor type " + std::to_string(proto) +
                                           " is not supported; give a number of onnx.TensorProto.DataType below 27");
  }
  return static_cast<Element>(proto);
}

int proto_of_element(Element element) {
  switch (element) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0:
      return kProtoE8M0;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return kProtoUint2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return kProtoInt2;
    default:
      return static_cast<int>(element);
  }
}

size_t count_of(const int64_t* shape, size_t rank) {
  size_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (size_t i = 0; i < rank; ++i) {
    if (shape[i] < 0) {
      fail_shape(shape, rank, "has a negative extent");
    }
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(count, static_cast<size_t>(shape[i]), &count);
  }
  if (overflow && !empty) {
    fail_shape(shape, rank, "has more elements than fit into memory");
  }
  return empty ? 0 : count;
}

std::string Type::text() const {
  const std::string name = element_name(element);
  switch (kind) {
    case ONNX_TYPE_TENSOR:
      return "tensor(" + name + ")";
    case ONNX_TYPE_SPARSETENSOR:
      return "sparse_tensor(" + name + ")";
    case ONNX_TYPE_SEQUENCE:
      return "seq(" + inner->text() + ")";
    case ONNX_TYPE_MAP:
      return "map(" + name + "," + inner->text() + ")";
    case ONNX_TYPE_OPTIONAL:
      return "optional(" + inner->text() + ")";
    case ONNX_TYPE_OPAQUE:
      return "opaque";
    default:
      return "unknown";
  }
}

Type type_of(const OrtTypeInfo* info) {
  Type type;
  check(api().GetOnnxTypeFromTypeInfo(info, &type.kind));
  switch (type.kind) {
    case ONNX_TYPE_TENSOR:
    case ONNX_TYPE_SPARSETENSOR:
      read_tensor(info, type);
      break;
    case ONNX_TYPE_MAP:
      read_map(info, type);
      break;
    case ONNX_TYPE_SEQUENCE:
      read_sequence(info, type);
      break;
    case ONNX_TYPE_OPTIONAL:
      read_optional(info, type);
      break;
    default:
      break;
  }
  return type;
}

Type type_of(const OrtValue* value) { return type_of(made<OrtTypeInfo>(api().GetTypeInfo, value).get()); }

TensorForm form_of(const OrtTensorTypeAndShapeInfo* info) {
  TensorForm form;
  check(api().GetTensorElementType(info, &form.element));
  read_shape(info, form.shape);
  return form;
}

TensorForm form_of(const OrtValue* value) {
  return form_of(made<OrtTensorTypeAndShapeInfo>(api().GetTensorTypeAndShape, value).get());
}

ONNXType kind_of(const OrtValue* value) {
  int has_value = 0;
  check(api().HasValue(value, &has_value));
  if (!has_value) {
    return ONNX_TYPE_UNKNOWN;
  }
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  check(api().GetValueType(value, &kind));
  return kind;
}

}  // namespace retort::python
