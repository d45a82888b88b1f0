#include "tensor/type.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/tensor.h"

namespace retort {
namespace {

using Kind = ValueType::Kind;

bool same(DType wanted, DType given) {
  return wanted == DType::undefined || given == DType::undefined || wanted == given;
}

DType map_values(const ValueType& map) {
  return map.element && map.element->is_tensor() ? map.element->dtype : map.dtype;
}

template <typename Holds>
bool all_hold(const ValueType& type, const Items& items, const Holds& holds) {
  return !type.element || std::ranges::all_of(items, [&](const Value& v) { return holds(*type.element, v); });
}

// The content of an optional, or `value` itself; null if there is none.
const Value* held(const Value& value) {
  const auto* o = value.get<Optional>();
  return o ? o->value.get() : value.empty() ? nullptr : &value;
}

std::string kind_text(std::string_view kind, const std::string& inner) { return cat("{}({})", kind, inner); }

}  // namespace

std::string kind_text(const ValueType& type) {
  const auto element = [&] { return type.element ? kind_text(*type.element) : "?"; };
  switch (type.kind) {
    case Kind::tensor:
      return kind_text("tensor", std::string(dtype_name(type.dtype)));
    case Kind::sparse:
      return kind_text("sparse_tensor", std::string(dtype_name(type.dtype)));
    case Kind::sequence:
      return kind_text("seq", element());
    case Kind::optional:
      return kind_text("optional", element());
    case Kind::map:
      return cat("map({},tensor({}))", dtype_name(type.key), dtype_name(map_values(type)));
    case Kind::opaque:
      return "opaque";
    case Kind::unknown:
      break;
  }
  return "a value of unknown type";
}

std::string kind_text(const Value& value) {
  if (const Tensor* t = value.tensor()) return kind_text(ValueType::tensor(t->dtype()));
  if (const auto* s = value.get<SparseTensor>()) return kind_text({.kind = Kind::sparse, .dtype = s->values.dtype()});
  if (const auto* m = value.get<Map>()) {
    return kind_text({.kind = Kind::map, .dtype = m->values.dtype(), .key = m->keys.dtype()});
  }
  if (const auto* s = value.get<Sequence>()) {
    return s->items.empty() ? kind_text(ValueType::sequence_of(ValueType::tensor(s->dtype)))
                            : kind_text("seq", kind_text(s->items[0]));
  }
  const Value* inner = held(value);
  return inner ? kind_text("optional", kind_text(*inner)) : "nothing";
}

bool admits(const ValueType& type, const Value& value) {
  switch (type.kind) {
    case Kind::tensor: {
      const Tensor* t = value.tensor();
      return t && same(type.dtype, t->dtype());
    }
    case Kind::sequence: {
      const auto* s = value.get<Sequence>();
      const bool tensors = s && type.element && type.element->is_tensor();
      return s && (!tensors || same(type.element->dtype, s->dtype)) && all_hold(type, s->items, admits);
    }
    case Kind::map: {
      const auto* m = value.get<Map>();
      return m && same(type.key, m->keys.dtype()) && same(map_values(type), m->values.dtype());
    }
    case Kind::sparse: {
      const auto* s = value.get<SparseTensor>();
      return s && same(type.dtype, s->values.dtype());
    }
    case Kind::optional: {
      const Value* inner = held(value);
      return !inner || !type.element || admits(*type.element, *inner);
    }
    case Kind::opaque:
    case Kind::unknown:
      break;
  }
  return true;
}

bool agree(const ValueType& a, const ValueType& b) {
  if (a.kind == Kind::unknown || b.kind == Kind::unknown) return true;
  if (a.kind != b.kind && b.kind == Kind::optional) return agree(b, a);
  if (a.kind == Kind::optional && b.kind != Kind::optional) return !a.element || agree(*a.element, b);
  if (a.kind != b.kind || !same(a.key, b.key)) return false;
  if (a.kind == Kind::map) return same(map_values(a), map_values(b));
  return same(a.dtype, b.dtype) && (!a.element || !b.element || agree(*a.element, *b.element));
}

bool extents_fit(const ValueType& type, const Value& value) {
  if (const Tensor* t = value.tensor(); t && type.is_tensor() && type.ranked) {
    const auto fits = [](Dim wanted, int64_t given) { return !is_known(wanted) || wanted == given; };
    return type.rank() == t->shape().rank() &&
           std::equal(type.shape.begin(), type.shape.end(), t->shape().begin(), fits);
  }
  if (const auto* s = value.get<Sequence>()) return all_hold(type, s->items, extents_fit);
  const Value* inner = type.kind == Kind::optional ? held(value) : nullptr;
  return !inner || !type.element || extents_fit(*type.element, *inner);
}

}  // namespace retort
