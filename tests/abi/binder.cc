#include "binder.h"

#include <algorithm>

namespace scenes {
namespace {

template <typename T>
std::string numbers(const void* data, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));  // it may be unaligned
    text += " " + std::to_string(v);
  }
  return text;
}

std::string hexadecimal(const void* data, size_t n) {
  std::string text = " ";
  char two[4];
  for (size_t i = 0; i < n; ++i) {
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += two;
  }
  return text;
}

/// Describes a value in one line; if a call fails, its code stands in place of its result.
class Teller {
 public:
  explicit Teller(Scene& s) : s_(s) {}

  std::string tell(const OrtValue* value) {
    if (!value) return "null";
    int has = -7;
    ONNXType kind = ONNXType(-7);
    std::string wrong = ok(s_.api.HasValue(value, &has));
    if (!wrong.empty() || has != 1) return wrong + "empty";
    wrong = ok(s_.api.GetValueType(value, &kind));
    if (kind == ONNX_TYPE_TENSOR) return wrong + dense(value);
    if (kind == ONNX_TYPE_SEQUENCE || kind == ONNX_TYPE_MAP) return wrong + parts(value, kind);
    return wrong + "kind " + std::to_string(int(kind));
  }

 private:
  std::string ok(OrtStatus* status) {
    if (!status) return {};
    const std::string code = "(error " + std::to_string(int(s_.api.GetErrorCode(status))) + ") ";
    s_.api.ReleaseStatus(status);
    return code;
  }

  std::string parts(const OrtValue* value, ONNXType kind) {
    OrtAllocator* allocator = nullptr;
    std::string text = ok(s_.api.GetAllocatorWithDefaultOptions(&allocator));
    size_t n = 0;
    text += ok(s_.api.GetValueCount(value, &n)) + (kind == ONNX_TYPE_MAP ? "map {" : "sequence {");
    for (size_t i = 0; i < n; ++i) {
      OrtValue* part = nullptr;
      text += ok(s_.api.GetValue(value, int(i), allocator, &part));
      text += (i ? "; " : "") + tell(part);
      s_.api.ReleaseValue(part);
    }
    return text + "}";
  }

  std::string dense(const OrtValue* value) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    std::string text = ok(s_.api.GetTensorTypeAndShape(value, &info));
    if (!info) return text;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0, count = 0;
    text += ok(s_.api.GetTensorElementType(info, &type)) + ok(s_.api.GetDimensionsCount(info, &rank));
    std::vector<int64_t> dims(rank);
    text += ok(s_.api.GetTensorShapeElementCount(info, &count)) + ok(s_.api.GetDimensions(info, dims.data(), rank));
    s_.api.ReleaseTensorTypeAndShapeInfo(info);
    text += "type " + std::to_string(int(type)) + " [";
    for (size_t i = 0; i < rank; ++i) text += (i ? "," : "") + std::to_string(dims[i]);
    return text + "]" + (count ? content(value, type, std::min<size_t>(count, 64)) : "");
  }

  std::string content(const OrtValue* value, ONNXTensorElementDataType type, size_t n) {
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return texts(value, n);
    const void* data = nullptr;
    size_t size = 0;
    const std::string wrong = ok(s_.api.GetTensorData(value, &data)) + ok(s_.api.GetTensorSizeInBytes(value, &size));
    switch (type) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        return wrong + numbers<float>(data, n);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        return wrong + numbers<double>(data, n);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
        return wrong + numbers<int64_t>(data, n);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
        return wrong + numbers<int32_t>(data, n);
      default:
        return wrong + hexadecimal(data, std::min<size_t>(size, 64));
    }
  }

  std::string texts(const OrtValue* value, size_t n) {
    std::string text;
    for (size_t i = 0; i < n; ++i) {
      size_t length = 0;
      text += ok(s_.api.GetStringTensorElementLength(value, i, &length));
      std::string one(length, '?');
      text += ok(s_.api.GetStringTensorElement(value, length, i, one.data())) + " '" + one + "'";
    }
    return text;
  }

  Scene& s_;
};

}  // namespace

void note_value(Scene& s, std::string_view key, const OrtValue* value) { s.note(key, Teller(s).tell(value)); }

std::vector<OrtValue*> Binder::values() {
  OrtAllocator* allocator = nullptr;
  OrtValue** array = nullptr;
  size_t n = 77;
  CALL(GetAllocatorWithDefaultOptions, &allocator);
  CALL(GetBoundOutputValues, binding, allocator, &array, &n);
  s.note("array", array);
  s.note("count", n);
  const std::vector<OrtValue*> all(array, array + (array ? n : 0));
  if (array) CALL(AllocatorFree, allocator, array);
  return all;
}

void Binder::note() {
  OrtAllocator* allocator = nullptr;
  char* text = nullptr;
  size_t *lengths = nullptr, n = 77;
  CALL(GetAllocatorWithDefaultOptions, &allocator);
  CALL(GetBoundOutputNames, binding, allocator, &text, &lengths, &n);
  s.note("text", static_cast<const void*>(text));
  s.note("lengths", lengths);
  std::string names;
  for (size_t i = 0, at = 0; lengths && i < n; at += lengths[i++])
    names += '<' + std::string(text + at, lengths[i]) + '>';
  s.note("names", names);
  if (text) CALL(AllocatorFree, allocator, text);
  if (lengths) CALL(AllocatorFree, allocator, lengths);
  for (OrtValue* v : values()) {
    note_value(s, "value", v);
    s.api.ReleaseValue(v);
  }
}

}  // namespace scenes
