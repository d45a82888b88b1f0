// Tensors as values: creation and access. Texts of shapes and spaces are made only for errors, so these conditions do
// not use require(), which takes arguments that exist.
#include <algorithm>

#include "abi/slots.h"
#include "abi/values/allocators.h"
#include "abi/values/type_info.h"
#include "abi/values/value.h"
#include "base/checked.h"

namespace retort::abi {
namespace {

/// Frees the memory with the allocator that it came from, and destroys strings first. A value may outlive an allocator
/// of CreateAllocator: all host allocators of the library are alike, and the default one is never destroyed.
std::shared_ptr<void> owned_by(OrtAllocator& allocator, void* p, size_t strings) {
  if (const auto memory = memory_behind(allocator)) {
    return {p, [memory, strings](void* q) {
              std::destroy_n(static_cast<std::string*>(q), strings);
              memory->release(q);
            }};
  }
  OrtAllocator& lasting = allocator.Free == default_allocator().Free ? default_allocator() : allocator;
  return {p, [a = &lasting, strings](void* q) {
            std::destroy_n(static_cast<std::string*>(q), strings);
            if (q) a->Free(a, q);
          }};
}

OrtStatusPtr create_with_data(const OrtMemoryInfo& info, void* data, size_t bytes, std::span<const int64_t> shape,
                              ONNXTensorElementDataType type, OrtAllocator* deleter, OrtValue** out) {
  need(out, "out");
  Tensor tensor = wrap_tensor(info, data, bytes, shape, from_onnx(type), nullptr);
  // The value takes ownership only when nothing can fail any more.
  if (deleter) {
    tensor = Tensor(tensor.dtype(), tensor.shape(), data, owned_by(*deleter, data, 0), tensor.space());
  }
  give(out, "out", std::make_unique<OrtValue>(std::move(tensor), &interned(info)));
  return nullptr;
}

}  // namespace

const Tensor& tensor_of(const OrtValue* value, ErrorCode code) {
  const Tensor* tensor = handle(value, "value").value.tensor();
  require(tensor, code, "the value is not a tensor; ask what type it has first");
  return *tensor;
}

Tensor& tensor_of(OrtValue* value, ErrorCode code) {
  return const_cast<Tensor&>(tensor_of(static_cast<const OrtValue*>(value), code));
}

const Tensor& on_host(const Tensor& tensor, const char* what) {
  if (!tensor.space().host_readable()) {
    fail(ErrorCode::invalid_argument, "argument '{}' lies in memory of {}; copy it to the host first", what,
         to_string(tensor.space()));
  }
  return tensor;
}

std::span<const int64_t> need_shape(const int64_t* shape, size_t rank) {
  if (rank) need(shape, "shape");
  const std::span<const int64_t> dims(shape, rank);
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) {
    fail(ErrorCode::invalid_argument, "negative extent in shape {}; give extents of 0 or more", to_string(dims));
  }
  return dims;
}

Tensor make_tensor(OrtAllocator& allocator, DType type, std::span<const int64_t> shape) {
  const size_t count = element_count(shape);
  const size_t bytes = dtype_bytes(type, count);
  const OrtMemoryInfo& info = handle(need(allocator.Info, "allocator.Info")(&allocator), "allocator.Info()");
  const bool strings = type == DType::string;
  require(!strings || info.space.host_readable(), ErrorCode::invalid_argument,
          "strings cannot lie in memory of {}; use an allocator of the host", to_string(info.space));
  void* data = allocate(allocator, bytes);
  if (strings) std::uninitialized_value_construct_n(static_cast<std::string*>(data), count);
  return Tensor(type, Shape(shape), data, owned_by(allocator, data, strings ? count : 0), info.space);
}

Tensor wrap_tensor(const OrtMemoryInfo& info, void* data, size_t bytes, std::span<const int64_t> shape, DType type,
                   std::shared_ptr<void> owner) {
  require(type != DType::string, ErrorCode::invalid_argument,
          "strings cannot lie in memory of the caller; make a tensor in memory of the library, and fill it");
  const size_t needed = dtype_bytes(type, element_count(shape));
  if (bytes < needed) {
    fail(ErrorCode::invalid_argument, "the memory has {} bytes, but {}{} needs {}; give more, or a smaller shape",
         bytes, dtype_name(type), to_string(shape), needed);
  }
  if (needed) need(static_cast<char*>(data), "p_data");
  return Tensor(type, Shape(shape), data, std::move(owner), info.space);
}

OrtStatusPtr ORT_API_CALL CreateTensorAsOrtValue(OrtAllocator* allocator, const int64_t* shape, size_t shape_len,
                                                 ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return guard([&] {
    OrtAllocator& a = need(allocator, "allocator");
    need(out, "out");
    Tensor tensor = make_tensor(a, from_onnx(type), need_shape(shape, shape_len));
    give(out, "out", std::make_unique<OrtValue>(std::move(tensor), &interned(*a.Info(&a))));
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorWithDataAsOrtValue(const OrtMemoryInfo* info, void* p_data, size_t p_data_len,
                                                         const int64_t* shape, size_t shape_len,
                                                         ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return guard([&] {
    return create_with_data(handle(info, "info"), p_data, p_data_len, need_shape(shape, shape_len), type, nullptr, out);
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator* deleter, void* p_data,
                                                                   size_t p_data_len, const int64_t* shape,
                                                                   size_t shape_len, ONNXTensorElementDataType type,
                                                                   OrtValue** out) noexcept {
  return guard([&] {
    OrtAllocator& a = need(deleter, "deleter");
    const OrtMemoryInfo& info = handle(need(a.Info, "deleter.Info")(&a), "deleter.Info()");
    return create_with_data(info, p_data, p_data_len, need_shape(shape, shape_len), type, &a, out);
  });
}

void ORT_API_CALL ReleaseValue(OrtValue* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL IsTensor(const OrtValue* value, int* out) noexcept {
  return guard([&] { need(out, "out") = handle(value, "value").value.tensor() != nullptr; });
}

OrtStatusPtr ORT_API_CALL IsSparseTensor(const OrtValue* value, int* out) noexcept {
  return guard([&] { need(out, "out") = handle(value, "value").value.get<SparseTensor>() != nullptr; });
}

OrtStatusPtr ORT_API_CALL HasValue(const OrtValue* value, int* out) noexcept {
  return guard([&] {
    const Value& v = handle(value, "value").value;
    const Optional* optional = v.get<Optional>();
    need(out, "out") = optional ? optional->value != nullptr : !v.empty();
  });
}

OrtStatusPtr ORT_API_CALL GetValueType(const OrtValue* value, ONNXType* out) noexcept {
  return guard([&] {
    const Value& v = handle(value, "value").value;
    need(out, "out") = v.empty() ? ONNX_TYPE_UNKNOWN : type_of(v).kind;
  });
}

OrtStatusPtr ORT_API_CALL GetTypeInfo(const OrtValue* value, OrtTypeInfo** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtTypeInfo>(type_of(handle(value, "value").value))); });
}

OrtStatusPtr ORT_API_CALL GetTensorTypeAndShape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) noexcept {
  return guard([&] {
    const Value& v = handle(value, "value").value;
    const SparseTensor* sparse = v.get<SparseTensor>();
    require(sparse || v.tensor(), ErrorCode::fail, "the value is not a tensor; ask what type it has first");
    give(out, "out",
         std::make_unique<OrtTensorTypeAndShapeInfo>(sparse ? tensor_info(sparse->values.dtype(), sparse->dense_shape)
                                                            : tensor_info(v.tensor()->dtype(), v.tensor()->shape())));
  });
}

OrtStatusPtr ORT_API_CALL GetTensorElementTypeAndShapeDataReference(const OrtValue* value,
                                                                    ONNXTensorElementDataType* elem_type,
                                                                    const int64_t** shape_data,
                                                                    size_t* shape_data_count) noexcept {
  return guard([&] {
    const Value& v = handle(value, "value").value;
    const SparseTensor* sparse = v.get<SparseTensor>();
    require(sparse || v.tensor(), ErrorCode::invalid_argument, "the value is not a tensor; ask what type it has first");
    const Shape& shape = sparse ? sparse->dense_shape : v.tensor()->shape();
    need(elem_type, "elem_type");
    need(shape_data, "shape_data");
    need(shape_data_count, "shape_data_count") = shape.rank();
    *shape_data = shape.data();
    *elem_type = to_onnx(sparse ? sparse->values.dtype() : v.tensor()->dtype());
  });
}

OrtStatusPtr ORT_API_CALL GetTensorMutableData(OrtValue* value, void** out) noexcept {
  return guard([&] { need(out, "out") = tensor_of(value, ErrorCode::fail).mutable_data(); });
}

OrtStatusPtr ORT_API_CALL GetTensorData(const OrtValue* value, const void** out) noexcept {
  return guard([&] { need(out, "out") = tensor_of(value, ErrorCode::fail).data(); });
}

OrtStatusPtr ORT_API_CALL GetTensorSizeInBytes(const OrtValue* ort_value, size_t* size) noexcept {
  return guard([&] {
    const Tensor& tensor = tensor_of(ort_value);
    require(tensor.dtype() != DType::string, ErrorCode::invalid_argument, "a tensor of strings has no size in bytes");
    need(size, "size") = tensor.bytes();
  });
}

OrtStatusPtr ORT_API_CALL GetTensorMemoryInfo(const OrtValue* value, const OrtMemoryInfo** mem_info) noexcept {
  return guard([&] {
    const Tensor& tensor = tensor_of(value, ErrorCode::fail);
    need(mem_info, "mem_info") = value->memory ? value->memory : &info_of(tensor.space());
  });
}

OrtStatusPtr ORT_API_CALL TensorAt(OrtValue* value, const int64_t* location_values, size_t location_values_count,
                                   void** out) noexcept {
  return guard([&] {
    Tensor& tensor = tensor_of(value);
    const Shape& shape = tensor.shape();
    const size_t bits = dtype_bits(tensor.dtype());
    require(tensor.dtype() != DType::string && bits % 8 == 0, ErrorCode::invalid_argument,
            "elements of type {} have no address", dtype_name(tensor.dtype()));
    require(location_values_count == shape.rank(), ErrorCode::invalid_argument, "{} indices were given for shape {}",
            location_values_count, to_string(shape));
    if (shape.rank()) need(location_values, "location_values");
    size_t offset = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
      require(location_values[i] >= 0 && location_values[i] < shape[i], ErrorCode::invalid_argument,
              "index {} of dimension {} is outside shape {}", location_values[i], i, to_string(shape));
      offset = offset * size_t(shape[i]) + size_t(location_values[i]);
    }
    need(out, "out") = tensor.mutable_data<char>() + offset * (bits / 8);
  });
}

namespace ep_api {

const OrtMemoryDevice* ORT_API_CALL Value_GetMemoryDevice(const OrtValue* value) noexcept {
  const OrtMemoryInfo* info = nullptr;
  ReleaseStatus(GetTensorMemoryInfo(value, &info));
  return info ? &info->space : nullptr;
}

}  // namespace ep_api
}  // namespace retort::abi
