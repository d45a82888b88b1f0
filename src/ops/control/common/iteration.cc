#include "ops/control/common/iteration.h"

#include <cstring>

#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

// The copy of one slice of a tensor [outer, extent, inner]; `from` and `to` are the strides of the outer axis.
StridedBox slice_box(size_t outer, int64_t from, int64_t to, size_t inner) {
  StridedBox box;
  box.push(int64_t(outer), from, to);
  box.push(int64_t(inner), 1, 1);
  return box;
}

}  // namespace

void require_same_type(const ValueType& outside, const ValueType& inside, std::string_view what, size_t i) {
  if (agree(outside, inside)) return;
  fail(ErrorCode::fail, "{} {} is {}, but the body takes {}; make the types equal, for example by a Cast", what, i,
       kind_text(outside), kind_text(inside));
}

Value copy_of(const RunContext& c, size_t i) {
  const Slot& s = c.in_slot(i);
  if (!s.boxed.empty() && !s.boxed.tensor()) return s.boxed;
  Tensor t(s.type.dtype, s.type.shape);
  if (s.type.dtype == DType::string) {
    const auto* from = static_cast<const std::string*>(s.data);
    std::copy(from, from + s.count, t.mutable_data<std::string>());
  } else if (t.bytes()) {
    std::memcpy(t.mutable_data(), s.data, t.bytes());
  }
  return t;
}

Tensor slice_of(const RunContext& c, size_t i, size_t axis, int64_t at) {
  const std::span<const int64_t> extents = c.shape(i);
  Shape rest;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d != axis) rest.push_back(extents[d]);
  }
  const auto outer = size_t(extent_product(extents, 0, axis));
  const auto inner = size_t(extent_product(extents, axis + 1, extents.size()));
  const DType type = c.dtype(i);
  if (outer == 1 && dtype_bytes(type, 1) * inner == dtype_bytes(type, inner)) {  // no elements of less than a byte
    auto* base = static_cast<std::byte*>(c.in_slot(i).data);
    return Tensor(type, rest, base + size_t(at) * dtype_bytes(type, inner), nullptr);
  }
  Tensor t(type, rest);
  StridedBox box = slice_box(outer, extents[axis] * int64_t(inner), int64_t(inner), inner);
  box.from_offset = at * int64_t(inner);
  if (t.count()) copy_box(box, type, c.data(i), t.mutable_data(), c.parallel());
  return t;
}

void add_part(std::vector<Value>& parts, Value part) {
  const Tensor *t = part.tensor(), *first = parts.empty() ? t : parts[0].tensor();
  const auto text = [](const Tensor* of) {
    return of ? cat("{}{}", dtype_name(of->dtype()), to_string(of->shape())) : "not a tensor";
  };
  if (!t || t->shape() != first->shape() || t->dtype() != first->dtype()) {
    fail(ErrorCode::invalid_argument, "a scan output is {} in iteration 0 and {} in iteration {}", text(first), text(t),
         parts.size());
  }
  parts.push_back(std::move(part));
}

Tensor stack(std::span<const Value> parts, const ValueType& element, int64_t axis, bool reverse) {
  const Tensor* first = parts.empty() ? nullptr : parts[0].tensor();
  Shape inner = first ? first->shape() : element.shape;
  for (int64_t& d : inner) d = is_known(d) ? d : 0;
  const size_t at = normalize_axis(axis, inner.rank() + 1);
  Shape shape;
  for (size_t d = 0; d <= inner.rank(); ++d) {
    if (d == at) shape.push_back(int64_t(parts.size()));
    if (d < inner.rank()) shape.push_back(inner[d]);
  }
  Tensor all(first ? first->dtype() : element.dtype, shape);
  const int64_t above = extent_product(inner, 0, at), below = extent_product(inner, at, inner.rank());
  StridedBox box = slice_box(size_t(above), below, below * int64_t(parts.size()), size_t(below));
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor* t = parts[i].tensor();
    box.to_offset = int64_t(reverse ? parts.size() - 1 - i : i) * below;
    if (t->count()) copy_box(box, all.dtype(), t->data(), all.mutable_data(), Parallel());
  }
  return all;
}

}  // namespace retort::ops
