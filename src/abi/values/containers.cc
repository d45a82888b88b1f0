// Sequences, maps and opaque values.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "abi/slots.h"
#include "abi/values/value.h"

namespace retort::abi {
namespace {

Tensor copy_tensor(OrtAllocator& allocator, const Tensor& from) {
  Tensor to = make_tensor(allocator, from.dtype(), from.shape());
  require(from.space().host_readable() && to.space().host_readable(), ErrorCode::not_implemented,
          "an element of a container in device memory cannot be copied");
  if (from.dtype() == DType::string) {
    std::copy_n(from.data<std::string>(), from.count(), to.mutable_data<std::string>());
  } else if (from.bytes()) {
    std::memcpy(to.mutable_data(), from.data(), from.bytes());
  }
  return to;
}

/// A new tensor with the elements of a vector in another order.
template <typename T>
Tensor permuted(const Tensor& from, const std::vector<size_t>& order) {
  Tensor to(from.dtype(), Shape{int64_t(order.size())});
  for (size_t i = 0; i < order.size(); ++i) to.mutable_data<T>()[i] = from.data<T>()[order[i]];
  return to;
}

Tensor permuted_any(const Tensor& from, const std::vector<size_t>& order) {
  switch (from.dtype()) {
    case DType::i64:
      return permuted<int64_t>(from, order);
    case DType::f32:
      return permuted<float>(from, order);
    case DType::f64:
      return permuted<double>(from, order);
    case DType::string:
      return permuted<std::string>(from, order);
    default:
      fail(ErrorCode::fail, "values of a map cannot have type {}", dtype_name(from.dtype()));
  }
}

/// The order of ascending keys without repetition: of equal keys the first counts.
template <typename K>
std::vector<size_t> key_order(const Tensor& keys) {
  const K* k = keys.data<K>();
  std::vector<size_t> order(keys.count());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return k[a] < k[b]; });
  order.erase(std::unique(order.begin(), order.end(), [&](size_t a, size_t b) { return k[a] == k[b]; }), order.end());
  return order;
}

Map make_map(std::span<const OrtValue* const> in) {
  require(in.size() == 2, ErrorCode::fail, "a map is made of keys and values, not of {} tensors", in.size());
  const Tensor &keys = on_host(tensor_of(in[0], ErrorCode::fail), "in"),
               &values = on_host(tensor_of(in[1], ErrorCode::fail), "in");
  require(keys.count() == values.count(), ErrorCode::fail, "{} keys for {} values", keys.count(), values.count());
  require(keys.shape().rank() <= 1 && values.shape().rank() <= 1, ErrorCode::fail,
          "keys {} and values {} are no vectors", to_string(keys.shape()), to_string(values.shape()));
  require(keys.dtype() == DType::i64 || keys.dtype() == DType::string, ErrorCode::fail,
          "keys of a map cannot have type {}", dtype_name(keys.dtype()));
  const auto order = keys.dtype() == DType::i64 ? key_order<int64_t>(keys) : key_order<std::string>(keys);
  return {permuted_any(keys, order), permuted_any(values, order)};
}

Sequence make_sequence(std::span<const OrtValue* const> in) {
  Sequence sequence;
  for (const OrtValue* item : in) {
    const Value& value = handle(item, "in").value;
    require(value.tensor() || value.get<Map>(), ErrorCode::fail, "an element of a sequence is a tensor or a map");
    const DType type = value.tensor() ? on_host(*value.tensor(), "in").dtype() : DType::undefined;
    if (sequence.items.empty()) sequence.dtype = type;
    require(type == sequence.dtype, ErrorCode::fail, "the elements of a sequence have one type: {} after {}",
            dtype_name(type), dtype_name(sequence.dtype));
    sequence.items.push_back(value);
  }
  return sequence;
}

}  // namespace

Value copy_value(OrtAllocator& allocator, const Value& value) {
  if (const Tensor* tensor = value.tensor()) return copy_tensor(allocator, *tensor);
  if (const Map* map = value.get<Map>()) {
    return Map{copy_tensor(allocator, map->keys), copy_tensor(allocator, map->values)};
  }
  return value;
}

OrtStatusPtr ORT_API_CALL CreateValue(const OrtValue* const* in, size_t num_values, ONNXType value_type,
                                      OrtValue** out) noexcept {
  return guard([&] {
    need(out, "out");
    require(num_values > 0, ErrorCode::fail, "a container needs at least one value");
    const std::span<const OrtValue* const> values(&need(in, "in"), num_values);
    if (value_type == ONNX_TYPE_MAP) return give(out, "out", std::make_unique<OrtValue>(make_map(values)));
    require(value_type == ONNX_TYPE_SEQUENCE, ErrorCode::fail, "only sequences and maps are made of values");
    give(out, "out", std::make_unique<OrtValue>(make_sequence(values)));
  });
}

OrtStatusPtr ORT_API_CALL GetValueCount(const OrtValue* value, size_t* out) noexcept {
  return guard([&] {
    const Value& v = handle(value, "value").value;
    const Sequence* sequence = v.get<Sequence>();
    require(sequence || v.get<Map>(), ErrorCode::fail, "only sequences and maps have a number of values");
    need(out, "out") = sequence ? sequence->items.size() : 2;
  });
}

// Copies: what is taken out can be changed without changing the container.
OrtStatusPtr ORT_API_CALL GetValue(const OrtValue* value, int index, OrtAllocator* allocator, OrtValue** out) noexcept {
  return guard([&] {
    const Value& v = handle(value, "value").value;
    OrtAllocator& a = need(allocator, "allocator");
    need(out, "out");
    const Sequence* sequence = v.get<Sequence>();
    const Map* map = v.get<Map>();
    require(sequence || map, ErrorCode::fail, "only sequences and maps contain values");
    const size_t count = sequence ? sequence->items.size() : 2;
    require(index >= 0 && size_t(index) < count, ErrorCode::fail, "value {} of {} does not exist", index, count);
    const Value item = sequence ? sequence->items[size_t(index)] : Value(index == 0 ? map->keys : map->values);
    give(out, "out", std::make_unique<OrtValue>(copy_value(a, item)));
  });
}

// Opaque types exist only where an operator defines one; no operator here does.
OrtStatusPtr ORT_API_CALL CreateOpaqueValue(const char* domain_name, const char* type_name, const void*, size_t,
                                            OrtValue**) noexcept {
  return guard([&] {
    fail(ErrorCode::fail, "opaque type '{}.{}' does not exist", need_text(domain_name, "domain_name"),
         need_text(type_name, "type_name"));
  });
}

OrtStatusPtr ORT_API_CALL GetOpaqueValue(const char* domain_name, const char* type_name, const OrtValue*, void*,
                                         size_t) noexcept {
  return guard([&] {
    fail(ErrorCode::fail, "opaque type '{}.{}' does not exist", need_text(domain_name, "domain_name"),
         need_text(type_name, "type_name"));
  });
}

}  // namespace retort::abi
