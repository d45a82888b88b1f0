// Converts values of an engine to host data: tensors, sequences, maps, optional values.
#include <climits>

#include "engine/engine.h"
#include "engine/large_memory.h"

namespace retort::cli {
namespace {

void read_strings(const EngineLibrary& engine, const OrtValue* value, HostTensor& out) {
  const OrtApi& api = engine.api();
  out.strings.resize(out.count());
  for (size_t i = 0; i < out.strings.size(); ++i) {
    size_t length = 0;
    engine.check(api.GetStringTensorElementLength(value, i, &length));
    out.strings[i].resize(length);
    engine.check(api.GetStringTensorElement(value, length, i, out.strings[i].data()));
  }
}

HostTensor read_tensor(const EngineLibrary& engine, OrtValue* value) {
  const OrtApi& api = engine.api();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  engine.check(api.GetTensorTypeAndShape(value, &info));
  const auto owned = engine.own(info, api.ReleaseTensorTypeAndShapeInfo);
  HostTensor out;
  size_t rank = 0;
  engine.check(api.GetTensorElementType(info, &out.type));
  engine.check(api.GetDimensionsCount(info, &rank));
  out.shape.resize(rank);
  engine.check(api.GetDimensions(info, out.shape.data(), rank));
  if (out.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    read_strings(engine, value, out);
    return out;
  }
  if (type_bits(out.type) == 0)
    throw Failure("a tensor has elements of type " + std::to_string(int(out.type)) +
                  ", which this program does not support");
  void* data = nullptr;
  engine.check(api.GetTensorMutableData(value, &data));
  const auto* first = static_cast<const std::byte*>(data);
  if (out.size() == 0) return out;
  out.bytes.reserve(out.size());
  expect_large(out.bytes.data(), out.size());
  out.bytes.assign(first, first + out.size());
  return out;
}

std::vector<HostValue> read_items(const EngineLibrary& engine, const OrtValue* value) {
  const OrtApi& api = engine.api();
  OrtAllocator* allocator = nullptr;
  engine.check(api.GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  engine.check(api.GetValueCount(value, &count));
  if (count > INT_MAX) throw Failure("a sequence is too long");
  std::vector<HostValue> items;
  for (size_t i = 0; i < count; ++i) {
    OrtValue* item = nullptr;
    engine.check(api.GetValue(value, int(i), allocator, &item));
    items.push_back(read_value(engine, engine.own(item, api.ReleaseValue).get()));
  }
  return items;
}

}  // namespace

HostValue read_value(const EngineLibrary& engine, OrtValue* value) {
  using Kind = HostValue::Kind;
  const OrtApi& api = engine.api();
  int present = 0, is_tensor = 0;
  engine.check(api.HasValue(value, &present));
  if (!present) return {};
  engine.check(api.IsTensor(value, &is_tensor));
  if (is_tensor) return {.kind = Kind::tensor, .tensor = read_tensor(engine, value)};
  ONNXType type = ONNX_TYPE_UNKNOWN;
  engine.check(api.GetValueType(value, &type));
  if (type == ONNX_TYPE_SEQUENCE) return {.kind = Kind::sequence, .items = read_items(engine, value)};
  if (type == ONNX_TYPE_MAP) return {.kind = Kind::map, .items = read_items(engine, value)};
  return {.kind = Kind::other};
}

}  // namespace retort::cli
