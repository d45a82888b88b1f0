// Types and values; part of retort.hpp.
#pragma once
#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <ranges>
#include <span>

#include "memory.hpp"

namespace retort::api {

/// The element type of a C++ type. Tensors of float16 and other types without a C++ counterpart are read as raw bytes.
template <typename T>
inline constexpr ONNXTensorElementDataType element_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
template <>
inline constexpr auto element_type<float> = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
template <>
inline constexpr auto element_type<double> = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
template <>
inline constexpr auto element_type<bool> = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
template <>
inline constexpr auto element_type<int8_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
template <>
inline constexpr auto element_type<int16_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
template <>
inline constexpr auto element_type<int32_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
template <>
inline constexpr auto element_type<int64_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
template <>
inline constexpr auto element_type<uint8_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
template <>
inline constexpr auto element_type<uint16_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
template <>
inline constexpr auto element_type<uint32_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
template <>
inline constexpr auto element_type<uint64_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;

/// Element type and shape. Unknown extents are -1 and may have a name.
struct TensorType {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;

  static TensorType read(const OrtTensorTypeAndShapeInfo* info) {
    TensorType t;
    size_t rank = 0;
    check(api().GetTensorElementType(info, &t.type));
    check(api().GetDimensionsCount(info, &rank));
    t.shape.resize(rank);
    check(api().GetDimensions(info, t.shape.data(), rank));
    std::vector<const char*> names(rank);
    check(api().GetSymbolicDimensions(info, names.data(), rank));
    t.symbols.assign(names.begin(), names.end());
    return t;
  }
};

/// The shape of a tensor as an argument: numbers in braces, or a range of int64_t, which only has to live during the
/// call.
class ShapeView : public std::span<const int64_t> {
 public:
  ShapeView(std::initializer_list<int64_t> extents) : span(extents.begin(), extents.size()) {}
  template <typename Range>
  requires std::convertible_to<const Range&, std::span<const int64_t>> ShapeView(const Range& extents)
      : span(extents) {}  // NOLINT: converts implicitly
};

/// A tensor, sequence, map, optional or sparse tensor.
class Value : public Owner<OrtValue, &OrtApi::ReleaseValue> {
 public:
  Value() = default;
  using Owner::Owner;

  /// A tensor in memory of the library. It is uninitialised; strings are empty.
  static Value tensor(ONNXTensorElementDataType type, ShapeView shape) {
    Value v;
    check(api().CreateTensorAsOrtValue(default_allocator(), shape.data(), shape.size(), type, v.out()));
    return v;
  }
  template <typename T>
  static Value tensor(ShapeView shape) {
    return tensor(element_type<T>, shape);
  }
  /// A tensor in memory of this allocator, for example on a device; uninitialised. The allocator must outlive it.
  static Value tensor(OrtAllocator* memory, ONNXTensorElementDataType type, ShapeView shape) {
    Value v;
    check(api().CreateTensorAsOrtValue(memory, shape.data(), shape.size(), type, v.out()));
    return v;
  }
  template <typename T>
  static Value tensor(OrtAllocator* memory, ShapeView shape) {
    return tensor(memory, element_type<T>, shape);
  }
  /// A tensor that uses the caller's memory, which must outlive the value.
  template <typename Range>
  requires std::ranges::contiguous_range<Range> && std::ranges::borrowed_range<Range>
  static Value wrap(Range&& data, ShapeView shape) {
    using Element = std::ranges::range_value_t<Range>;
    const std::span elements(data);
    return wrap(MemoryInfo::cpu(), const_cast<Element*>(elements.data()), elements.size_bytes(), shape,
                element_type<Element>);
  }
  /// A tensor that uses memory of any device and has any element type: `where` describes the memory of `data`.
  static Value wrap(const OrtMemoryInfo* where, void* data, size_t bytes, ShapeView shape,
                    ONNXTensorElementDataType type) {
    Value v;
    check(api().CreateTensorWithDataAsOrtValue(where, data, bytes, shape.data(), shape.size(), type, v.out()));
    return v;
  }
  /// A tensor that owns copies of the texts; their number must be that of the shape's elements.
  static Value strings(std::span<const std::string> texts, ShapeView shape) {
    Value v = tensor(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, shape);
    if (v.count() != texts.size()) {
      throw Error(ORT_INVALID_ARGUMENT, "the shape has " + std::to_string(v.count()) + " elements, there are " +
                                            std::to_string(texts.size()) + " texts");
    }
    for (size_t i = 0; i < texts.size(); ++i) {  // texts may hold NUL
      char* to = nullptr;
      check(api().GetResizedStringTensorElementBuffer(v, i, texts[i].size(), &to));
      std::copy(texts[i].begin(), texts[i].end(), to);
    }
    return v;
  }

  /// A sequence of values of one type. It keeps the memory of the values alive; they may be released.
  static Value sequence(std::span<const OrtValue* const> items) { return group(items, ONNX_TYPE_SEQUENCE); }
  /// A map from a tensor of keys (int64 or strings) to a tensor of as many values.
  static Value map(const OrtValue* keys, const OrtValue* values) {
    const OrtValue* both[] = {keys, values};
    return group(both, ONNX_TYPE_MAP);
  }

  bool is_tensor() const {
    int yes = 0;
    check(api().IsTensor(get(), &yes));
    return yes != 0;
  }
  ONNXType kind() const {
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    check(api().GetValueType(get(), &kind));
    return kind;
  }
  /// The element type and shape of a tensor.
  TensorType type() const {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api().GetTensorTypeAndShape(get(), &info));
    const Owner<OrtTensorTypeAndShapeInfo, &OrtApi::ReleaseTensorTypeAndShapeInfo> owner(info);
    return TensorType::read(info);
  }
  std::vector<int64_t> shape() const { return type().shape; }
  size_t count() const {
    size_t n = 1;
    for (int64_t d : shape()) n *= size_t(d);
    return n;
  }
  /// The memory of a tensor's elements; a view that lives as long as the value.
  MemoryView where() const {
    const OrtMemoryInfo* info = nullptr;
    check(api().GetTensorMemoryInfo(get(), &info));
    return MemoryView(info);
  }
  /// Whether the value is not empty: optionals may be empty, and so are a binding's results before its first run.
  bool has_value() const {
    int yes = 0;
    check(api().HasValue(get(), &yes));
    return yes != 0;
  }
  /// The size of a tensor's elements in bytes, not for strings; since 1.23.
  size_t bytes() const {
    Library::need(23, "the size of a tensor");
    size_t n = 0;
    check(api().GetTensorSizeInBytes(get(), &n));
    return n;
  }
  /// The elements of a tensor; T must be their type. Throws for memory that the host cannot read: call copy_tensors()
  /// first.
  template <typename T>
  std::span<T> data() {
    if (!where().host_can_read()) {
      throw Error(ORT_INVALID_ARGUMENT,
                  "the elements are in memory '" + where().name() +
                      "', which the host cannot read; copy_tensors() them into a tensor of the host");
    }
    const TensorType t = type();
    if (t.type != element_type<std::remove_const_t<T>>) {
      throw Error(ORT_INVALID_ARGUMENT, "the elements have ONNXTensorElementDataType " + std::to_string(int(t.type)) +
                                            ", " + std::to_string(int(element_type<std::remove_const_t<T>>)) +
                                            " was asked for");
    }
    void* p = nullptr;
    check(api().GetTensorMutableData(get(), &p));
    return {static_cast<T*>(p), count()};
  }
  template <typename T>
  std::span<const T> data() const {
    return const_cast<Value*>(this)->data<const T>();
  }
  /// The address of the elements, in whatever memory they are.
  void* raw() const {
    void* p = nullptr;
    check(api().GetTensorMutableData(get(), &p));
    return p;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> all(count());
    for (size_t i = 0; i < all.size(); ++i) {
      size_t length = 0;
      check(api().GetStringTensorElementLength(get(), i, &length));
      all[i].resize(length);
      check(api().GetStringTensorElement(get(), length, i, all[i].data()));
    }
    return all;
  }
  /// The elements of a sequence, or the keys and the values of a map.
  std::vector<Value> items() const {
    size_t n = 0;
    check(api().GetValueCount(get(), &n));
    std::vector<Value> all(n);
    for (size_t i = 0; i < n; ++i) check(api().GetValue(get(), int(i), default_allocator(), all[i].out()));
    return all;
  }

 private:
  static Value group(std::span<const OrtValue* const> items, ONNXType kind) {
    Value v;
    check(api().CreateValue(items.data(), items.size(), kind, v.out()));
    return v;
  }
};

}  // namespace retort::api
