// Tensors of strings: contents copied in and out.
#include <cstring>

#include "abi/slots.h"
#include "abi/values/value.h"

namespace retort::abi {
namespace {

/// The strings of a tensor, or of the values of a sparse one.
std::span<const std::string> strings_of(const OrtValue* value) {
  const Value& v = handle(value, "value").value;
  const SparseTensor* sparse = v.get<SparseTensor>();
  const Tensor& tensor = sparse ? sparse->values : tensor_of(value, ErrorCode::fail);
  require(tensor.dtype() == DType::string, ErrorCode::fail, "the elements have type {}, not string",
          dtype_name(tensor.dtype()));
  return {tensor.data<std::string>(), tensor.count()};
}

std::span<std::string> strings_of(OrtValue* value) {
  const auto strings = strings_of(static_cast<const OrtValue*>(value));
  return {const_cast<std::string*>(strings.data()), strings.size()};
}

template <typename Strings>
auto& at(const Strings& strings, size_t index) {
  require(index < strings.size(), ErrorCode::invalid_argument, "element {} of {} does not exist", index,
          strings.size());
  return strings[index];
}

}  // namespace

OrtStatusPtr ORT_API_CALL FillStringTensor(OrtValue* value, const char* const* s, size_t s_len) noexcept {
  return guard([&] {
    const auto strings = strings_of(value);
    require(s_len == strings.size(), ErrorCode::invalid_argument, "{} strings for {} elements; give as many", s_len,
            strings.size());
    if (s_len) need(s, "s");
    for (size_t i = 0; i < s_len; ++i) need_text(s[i], "s");
    for (size_t i = 0; i < s_len; ++i) strings[i] = s[i];
  });
}

OrtStatusPtr ORT_API_CALL FillStringTensorElement(OrtValue* value, const char* s, size_t index) noexcept {
  return guard([&] { at(strings_of(value), index) = need_text(s, "s"); });
}

OrtStatusPtr ORT_API_CALL GetStringTensorDataLength(const OrtValue* value, size_t* len) noexcept {
  return guard([&] {
    size_t total = 0;
    for (const std::string& text : strings_of(value)) total += text.size();
    need(len, "len") = total;
  });
}

OrtStatusPtr ORT_API_CALL GetStringTensorContent(const OrtValue* value, void* s, size_t s_len, size_t* offsets,
                                                 size_t offsets_len) noexcept {
  return guard([&] {
    const auto strings = strings_of(value);
    require(offsets_len == strings.size(), ErrorCode::fail, "{} offsets for {} elements", offsets_len, strings.size());
    size_t total = 0;
    for (const std::string& text : strings) total += text.size();
    require(s_len >= total, ErrorCode::fail, "the buffer has {} bytes; {} are needed", s_len, total);
    char* to = static_cast<char*>(s);
    if (total) need(to, "s");
    if (offsets_len) need(offsets, "offsets");
    size_t offset = 0;
    for (size_t i = 0; i < strings.size(); ++i) {
      strings[i].copy(to + offset, strings[i].size());
      offsets[i] = offset;
      offset += strings[i].size();
    }
  });
}

OrtStatusPtr ORT_API_CALL GetStringTensorElementLength(const OrtValue* value, size_t index, size_t* out) noexcept {
  return guard([&] {
    const size_t length = at(strings_of(value), index).size();
    need(out, "out") = length;
  });
}

OrtStatusPtr ORT_API_CALL GetStringTensorElement(const OrtValue* value, size_t s_len, size_t index, void* s) noexcept {
  return guard([&] {
    const std::string& text = at(strings_of(value), index);
    require(s_len >= text.size(), ErrorCode::fail, "the buffer has {} bytes; {} are needed", s_len, text.size());
    if (!text.empty()) std::memcpy(&need(static_cast<char*>(s), "s"), text.data(), text.size());
  });
}

OrtStatusPtr ORT_API_CALL GetResizedStringTensorElementBuffer(OrtValue* value, size_t index, size_t length_in_bytes,
                                                              char** buffer) noexcept {
  return guard([&] {
    std::string& text = at(strings_of(value), index);
    need(buffer, "buffer");
    text.resize(length_in_bytes);
    *buffer = text.data();
  });
}

}  // namespace retort::abi
