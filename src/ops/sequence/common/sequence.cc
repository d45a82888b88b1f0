#include "ops/sequence/common/sequence.h"

#include <cstring>

#include "ops/integers.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {

const Sequence& sequence_at(const RunContext& c, size_t i) {
  const Value* v = &c.in_slot(i).boxed;
  if (const auto* o = v->get<Optional>()) v = o->value.get();
  const auto* s = v ? v->get<Sequence>() : nullptr;
  require(s != nullptr, ErrorCode::invalid_argument, "input {} is not a sequence", i);
  return *s;
}

size_t position_at(const RunContext& c, size_t i, size_t n) {
  const int64_t given = integer(c, i), at = given < 0 ? given + int64_t(n) : given;
  require(at >= 0 && size_t(at) < n, ErrorCode::invalid_argument, "position {} is outside of [-{}, {})", given, n, n);
  return size_t(at);
}

ValueType element_type(const InferContext& c, size_t i) {
  const ValueType* t = &c.type(i);
  if (t->kind == ValueType::Kind::optional && t->element) t = t->element.get();
  require(t->kind == ValueType::Kind::sequence || t->kind == ValueType::Kind::unknown, ErrorCode::invalid_graph,
          "input {} is not a sequence", i);
  return t->element ? *t->element : ValueType();
}

Value own_copy(const Value& value) {
  const Tensor* t = value.tensor();
  if (!t) return value;
  Tensor copy(t->dtype(), t->shape());
  if (t->dtype() == DType::string)
    std::copy_n(t->data<std::string>(), t->count(), copy.mutable_data<std::string>());
  else if (t->bytes())
    std::memcpy(copy.mutable_data(), t->data(), t->bytes());
  return copy;
}

Tensor part_of(const RunContext& c, size_t i, size_t axis, int64_t begin, int64_t extent) {
  const Shape& x = c.shape(i);
  Shape shape = x;
  shape[axis] = extent;
  Tensor t(c.dtype(i), shape);
  const int64_t inner = extent_product(x, axis + 1, x.rank());
  StridedBox box;
  box.push(extent_product(x, 0, axis), x[axis] * inner, extent * inner);
  box.push(extent * inner, 1, 1);
  box.from_offset = begin * inner;
  if (t.count()) copy_box(box, t.dtype(), c.data(i), t.mutable_data(), c.parallel());
  return t;
}

}  // namespace retort::ops
