#include "ops/integers.h"

namespace retort::ops {
namespace {

template <typename T>
void append(const Slot& slot, Shape& out) {
  const T* p = static_cast<const T*>(slot.data);
  for (size_t i = 0; i < slot.count; ++i) out[i] = int64_t(p[i]);
}

}  // namespace

void expect_rank(const InferContext& c, size_t i, size_t rank) {
  if (!c.has(i) || !c.ranked(i) || c.rank(i) == rank) return;
  fail(ErrorCode::invalid_argument, "input {} has shape {}, expected a {}", i, c.dims().text(c.shape(i)),
       rank == 0 ? "scalar" : "vector");
}

std::span<const Dim> numbers(InferContext& c, size_t i) {
  if (c.ranked(i) && c.rank(i) > 1) expect_rank(c, i, 1);
  const auto v = c.value(i);
  if (!all_known(v)) throw NotYetKnown{};
  return v;
}

Dim scalar_value(InferContext& c, size_t i) {
  const auto v = c.value(i);
  require(v.size() == 1, ErrorCode::invalid_argument, "input {} has {} elements, expected 1", i, v.size());
  return v[0];
}

Shape integers(const RunContext& c, size_t i) {
  const Slot& slot = c.in_slot(i);
  if (!slot.data && slot.has_known) return Shape(std::span<const int64_t>(slot.known));
  Shape out;
  out.resize(slot.count);
  switch (slot.type.dtype) {
    case DType::i64:
      append<int64_t>(slot, out);
      break;
    case DType::i32:
      append<int32_t>(slot, out);
      break;
    case DType::boolean:
      append<bool>(slot, out);
      break;
    default:
      fail(ErrorCode::invalid_argument, "input {} is of type {}, expected integers", i, dtype_name(slot.type.dtype));
  }
  return out;
}

int64_t integer(const RunContext& c, size_t i) {
  const Shape v = integers(c, i);
  require(v.size() == 1, ErrorCode::invalid_argument, "input {} has {} elements, expected 1", i, v.size());
  return v[0];
}

AxisSet AxisSet::of(std::span<const int64_t> axes, size_t rank, Twice twice) {
  require(rank <= 64, ErrorCode::not_implemented, "rank {} is above 64", rank);
  AxisSet set(0);
  for (int64_t a : axes) {
    const size_t axis = normalize_axis(a, rank);
    require(twice == Twice::allowed || !set.contains(axis), ErrorCode::invalid_argument, "axis {} is given twice", a);
    set.bits_ |= uint64_t(1) << axis;
  }
  return set;
}

}  // namespace retort::ops
