// Attributes of a node, as in the model file. Graph attributes are not here: they are the node's bodies.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"
#include "tensor/type.h"

namespace retort {

/// In the body of a model-local function: the value is that of the calling node's attribute of this name.
struct AttributeRef {
  std::string name;
  int32_t kind = 0;  ///< the onnx AttributeProto.AttributeType that it must have; 0: not specified
  bool operator==(const AttributeRef&) const = default;
};

using Attribute =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 Tensor, std::vector<Tensor>, SparseTensor, ValueType, AttributeRef>;

/// "INT", "FLOATS", … as the ONNX spec names the kinds.
std::string_view attribute_kind(const Attribute& attribute);
bool equal(const Attribute& a, const Attribute& b);

/// A small map, sorted by name.
class Attributes {
 public:
  using Item = std::pair<std::string, Attribute>;
  Attributes() = default;
  Attributes(std::initializer_list<Item> items) {
    for (const Item& i : items) set(i.first, i.second);
  }
  const Attribute* find(std::string_view name) const;
  void set(std::string_view name, Attribute value);
  void erase(std::string_view name);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value if it is present and of type T.
  template <typename T>
  const T* get(std::string_view name) const {
    const Attribute* a = find(name);
    return a ? std::get_if<T>(a) : nullptr;
  }
  template <typename T>
  T get_or(std::string_view name, T otherwise) const {
    const T* v = get<T>(name);
    return v ? *v : otherwise;
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  size_t size() const { return items_.size(); }
  bool operator==(const Attributes& other) const;

 private:
  std::vector<Item> items_;
};

}  // namespace retort
