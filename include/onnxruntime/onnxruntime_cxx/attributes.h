// Part of onnxruntime_cxx_api.h: attributes of nodes.
#pragma once
#include "value.h"

namespace Ort {

namespace detail {

// The kinds that an attribute of one R, and of several, has.
template <typename R>
struct AttributeKinds;
template <>
struct AttributeKinds<int64_t> {
  static constexpr OrtOpAttrType one = ORT_OP_ATTR_INT, several = ORT_OP_ATTR_INTS;
};
template <>
struct AttributeKinds<float> {
  static constexpr OrtOpAttrType one = ORT_OP_ATTR_FLOAT, several = ORT_OP_ATTR_FLOATS;
};
template <>
struct AttributeKinds<std::string> {
  static constexpr OrtOpAttrType one = ORT_OP_ATTR_STRING, several = ORT_OP_ATTR_STRINGS;
};

// The bytes of an attribute of the kind `expected`, as ReadOpAttr writes them.
inline Status ReadAttribute(const OrtOpAttr* attribute, OrtOpAttrType expected, std::vector<char>& bytes) {
  OrtOpAttrType actual{};
  ORT_CXX_RETURN_ON_API_FAIL(GetApi().OpAttr_GetType(attribute, &actual));
  if (actual != expected) {
    const std::string message = "the attribute has kind " + std::to_string(actual) +
                                " of OrtOpAttrType; it was read as kind " + std::to_string(expected);
    return Status(message.c_str(), ORT_INVALID_ARGUMENT);
  }
  size_t size = 0;
  // Without room for the bytes, the call fails, but it tells how many there are.
  Status ignored(GetApi().ReadOpAttr(attribute, expected, nullptr, 0, &size));
  bytes.resize(size);
  if (size > 0) ORT_CXX_RETURN_ON_API_FAIL(GetApi().ReadOpAttr(attribute, expected, bytes.data(), size, &size));
  return Status();
}

inline void Append(const std::vector<char>& bytes, std::vector<std::string>& texts) {
  // Each text ends with a zero.
  for (size_t at = 0; at < bytes.size(); at += texts.back().size() + 1) texts.emplace_back(bytes.data() + at);
}
template <typename R>
void Append(const std::vector<char>& bytes, std::vector<R>& numbers) {
  for (size_t at = 0; at + sizeof(R) <= bytes.size(); at += sizeof(R)) {
    R number;
    std::char_traits<char>::copy(reinterpret_cast<char*>(&number), bytes.data() + at, sizeof number);
    numbers.push_back(number);
  }
}

template <typename T>
struct ConstOpAttrImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  std::string GetName() const { return FetchView(GetApi().OpAttr_GetName, this->p_); }
  OrtOpAttrType GetType() const { return Fetch<OrtOpAttrType>(GetApi().OpAttr_GetType, this->p_); }

  // R is int64_t, float or std::string. `out` changes on success only.
  template <typename R>
  Status GetValue(R& out) const {
    std::vector<char> bytes;
    Status status = ReadAttribute(this->p_, AttributeKinds<R>::one, bytes);
    if (!status.IsOK()) return status;
    if constexpr (std::is_same<R, std::string>::value) {
      out.assign(bytes.begin(), bytes.end());
    } else {
      std::vector<R> numbers;
      Append(bytes, numbers);
      if (numbers.size() != 1) return Status("the attribute does not have one number", ORT_FAIL);
      out = numbers[0];
    }
    return Status();
  }
  template <typename R>
  Status GetValueArray(std::vector<R>& out) const {
    std::vector<char> bytes;
    Status status = ReadAttribute(this->p_, AttributeKinds<R>::several, bytes);
    if (!status.IsOK()) return status;
    out.clear();
    Append(bytes, out);
    return Status();
  }
  // A copy of the tensor of an attribute.
  Status GetTensorAttributeAsOrtValue(Value& out) const {
    OrtValue* tensor = nullptr;
    ORT_CXX_RETURN_ON_API_FAIL(GetApi().OpAttr_GetTensorAttributeAsOrtValue(this->p_, &tensor));
    out = Value(tensor);
    return Status();
  }
};

}  // namespace detail

using ConstOpAttr = detail::ConstOpAttrImpl<detail::Unowned<const OrtOpAttr>>;

struct OpAttr : detail::ConstOpAttrImpl<OrtOpAttr> {
  using Base = detail::ConstOpAttrImpl<OrtOpAttr>;
  using Base::Base;
  OpAttr() = default;
  explicit OpAttr(std::nullptr_t) {}
  // `len`: the number of numbers or texts; of one text, its length. Copies the data.
  OpAttr(const char* name, const void* data, int len, OrtOpAttrType type) {
    ThrowOnError(GetApi().CreateOpAttr(name, data, len, type, &p_));
  }
  ConstOpAttr GetConst() const { return ConstOpAttr{this->p_}; }
};

}  // namespace Ort
