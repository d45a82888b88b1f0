#include "ops/infer.h"

#include <algorithm>

#include "base/error.h"

namespace retort {
namespace {

// Returns integer content of host memory, if it is short, of an integer type and free of numbers that would read as
// symbols.
template <typename T>
bool read_content(const Slot& slot, std::vector<Dim>& out) {
  const T* p = static_cast<const T*>(slot.data);
  const size_t count = p ? slot.count : 0;
  out.resize(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = Dim(p[i]);
    if (is_symbolic(out[i])) return false;
  }
  return true;
}

bool read_content(Slot& slot) {
  // Empty vectors may have no memory.
  const bool empty = slot.type.ranked && slot.type.shape.rank() == 1 && slot.type.shape[0] == 0;
  if (!empty && (!slot.data || slot.count > kMaxKnown)) return false;
  switch (slot.type.dtype) {
    case DType::i64:
      return read_content<int64_t>(slot, slot.known);
    case DType::i32:
      return read_content<int32_t>(slot, slot.known);
    case DType::boolean:
      return read_content<bool>(slot, slot.known);
    default:
      return false;
  }
}

}  // namespace

const ValueType& InferContext::type(size_t i) const {
  if (!has(i)) fail(ErrorCode::invalid_graph, "required input {} is missing", i);
  return inputs_[i]->type;
}

const Shape& InferContext::shape(size_t i) const {
  const ValueType& t = type(i);
  if (!t.ranked) throw NotYetKnown{};
  return t.shape;
}

std::optional<std::span<const Dim>> InferContext::try_value(size_t i) const {
  if (!has(i)) return std::nullopt;
  Slot& slot = *inputs_[i];
  if (!slot.has_known) slot.has_known = read_content(slot);
  if (!slot.has_known) return std::nullopt;
  return slot.known;
}

std::span<const Dim> InferContext::value(size_t i) const {
  const auto v = try_value(i);
  if (!v) throw NotYetKnown{};
  return *v;
}

std::optional<std::span<const float>> InferContext::try_floats(size_t i) const {
  if (!has(i)) return std::nullopt;
  const Slot& slot = *inputs_[i];
  if (slot.type.dtype != DType::f32 || !slot.type.is_static()) return std::nullopt;
  if (!slot.data && element_count(slot.type.shape) != 0) return std::nullopt;
  return std::span(static_cast<const float*>(slot.data), slot.count);
}

Dim InferContext::unknown_extent() const {
  if (!node_) throw NotYetKnown{};
  return dims_.fresh_extent();
}

void InferContext::set(size_t output, DType dtype, Shape shape) {
  if (!wants(output)) return;
  for (Dim d : shape) {
    if (is_known(d) && d < 0)
      fail(ErrorCode::invalid_argument, "output {} would have the negative extent {}", output, d);
  }
  ValueType& t = outputs_[output]->type;
  t.kind = ValueType::Kind::tensor;
  t.dtype = dtype;
  t.ranked = true;
  t.shape.assign(shape);
}

void InferContext::set(size_t output, DType dtype) {
  if (wants(output)) outputs_[output]->type = ValueType::tensor(dtype);
}

void InferContext::set(size_t output, ValueType type) {
  if (wants(output)) outputs_[output]->type = std::move(type);
}

void InferContext::set_value(size_t output, std::span<const Dim> content) {
  // Content that the element type cannot represent wraps around when it is computed, so it is unknown here.
  const auto wraps = [](Dim d) { return is_known(d) && d != Dim(int32_t(d)); };
  if (wants(output) && outputs_[output]->type.dtype == DType::i32 && std::any_of(content.begin(), content.end(), wraps))
    return;
  if (const auto room = new_value(output, content.size())) std::copy(content.begin(), content.end(), room->begin());
}

std::optional<std::span<Dim>> InferContext::new_value(size_t output, size_t count) {
  if (!wants(output) || count > kMaxKnown) return std::nullopt;
  Slot& slot = *outputs_[output];
  const DType t = slot.type.dtype;
  if (t != DType::i64 && t != DType::i32 && t != DType::boolean) return std::nullopt;
  slot.known.resize(count);
  slot.has_known = true;
  return slot.known;
}

void InferContext::drop_value(size_t output) {
  if (wants(output)) outputs_[output]->has_known = false;
}

Shape InferContext::broadcast(std::initializer_list<size_t> inputs) const {
  Shape result;
  for (size_t i : inputs) {
    if (!has(i)) continue;
    try {
      result = broadcast_shapes(dims_, result, shape(i));
    } catch (const Error&) {
      fail(ErrorCode::invalid_argument, "input {} of shape {} does not broadcast with {}", i, dims_.text(shape(i)),
           dims_.text(result));
    }
  }
  return result;
}

size_t InferContext::axis(int64_t axis, size_t rank) const { return normalize_axis(axis, rank); }

size_t normalize_axis(int64_t axis, size_t rank) {
  const int64_t r = int64_t(rank);
  if (axis < -r || axis >= r)
    fail(ErrorCode::invalid_argument, "axis {} is outside [{}, {}) for rank {}", axis, -r, r, rank);
  return size_t(axis < 0 ? axis + r : axis);
}

void expect_shape(const InferContext& c, size_t i, std::string_view name, const Shape& wanted) {
  const Shape& s = c.shape(i);
  bool fits = s.rank() == wanted.rank();
  for (size_t axis = 0; fits && axis < s.rank(); ++axis) fits = may_equal(s[axis], wanted[axis]);
  if (fits) return;
  fail(ErrorCode::invalid_argument, "{} has shape {}, expected {}",
       name.empty() ? cat("input {}", i) : std::string(name), c.dims().text(s), c.dims().text(wanted));
}

void expect_shape_if_given(const InferContext& c, size_t i, std::string_view name, const Shape& wanted) {
  if (c.has(i) && c.ranked(i)) expect_shape(c, i, name, wanted);
}

Shape broadcast_shapes(DimTable& dims, const Shape& a, const Shape& b) {
  Shape out;
  const size_t rank = std::max(a.rank(), b.rank());
  out.resize(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dim x = i + a.rank() >= rank ? a[i + a.rank() - rank] : 1;
    const Dim y = i + b.rank() >= rank ? b[i + b.rank() - rank] : 1;
    out[i] = dims.broadcast(x, y);
  }
  return out;
}

}  // namespace retort
