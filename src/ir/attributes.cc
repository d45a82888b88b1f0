#include "ir/attributes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace retort {
namespace {

auto lower(auto& items, std::string_view name) {
  return std::lower_bound(items.begin(), items.end(), name,
                          [](const auto& item, std::string_view n) { return item.first < n; });
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.data() == b.data()) return true;
  if (a.dtype() == DType::string)
    return std::equal(a.data<std::string>(), a.data<std::string>() + a.count(), b.data<std::string>());
  return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

std::string_view attribute_kind(const Attribute& attribute) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attribute>> kNames{
      "INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS", "TENSOR", "TENSORS", "SPARSE_TENSOR", "TYPE_PROTO", "REF"};
  return kNames[attribute.index()];
}

bool equal(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<typename T>(const T& x) {
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>)
          return same_tensor(x, y);
        else if constexpr (std::is_same_v<T, std::vector<Tensor>>)
          return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_tensor);
        else if constexpr (std::is_same_v<T, SparseTensor>)
          return false;
        else
          return x == y;
      },
      a);
}

const Attribute* Attributes::find(std::string_view name) const {
  const auto it = lower(items_, name);
  return it != items_.end() && it->first == name ? &it->second : nullptr;
}

void Attributes::set(std::string_view name, Attribute value) {
  const auto it = lower(items_, name);
  if (it != items_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    items_.emplace(it, std::string(name), std::move(value));
  }
}

void Attributes::erase(std::string_view name) {
  const auto it = lower(items_, name);
  if (it != items_.end() && it->first == name) items_.erase(it);
}

bool Attributes::operator==(const Attributes& other) const {
  return std::equal(begin(), end(), other.begin(), other.end(),
                    [](const Item& a, const Item& b) { return a.first == b.first && equal(a.second, b.second); });
}

}  // namespace retort
