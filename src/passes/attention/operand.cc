#include "passes/attention/operand.h"

namespace retort {
namespace {

// The extent of an axis that consists of one run with `stride`; 1 if it has no parts.
std::optional<Dim> run(const ViewAxis& axis, Dim stride) {
  if (axis.empty()) return 1;
  if (axis.size() != 1 || axis[0].stride != stride) return std::nullopt;
  return axis[0].extent;
}

/// The leading axes of a view, separated: [batch][heads][repeated heads], the slowest first.
struct Leading {
  ViewAxis parts;
  int64_t repeat = 1;

  explicit Leading(const View& v) {
    for (size_t i = 0; i + 2 < v.axes.size(); ++i) parts.insert(parts.end(), v.axes[i].begin(), v.axes[i].end());
    if (!parts.empty() && parts.back().stride == 0 && is_known(parts.back().extent)) {
      repeat = parts.back().extent;
      parts.pop_back();
    }
  }
  // Takes the heads, which are `stride` apart, and returns their number, at least 1; no other axis may have that
  // stride.
  std::optional<int64_t> take_heads(Dim stride) {
    if (parts.empty() || parts.back().stride != stride) return 1;
    const Dim heads = parts.back().extent;
    if (!is_known(heads)) return std::nullopt;
    parts.pop_back();
    return heads;
  }
  bool is_batch(Dim extent, Dim stride) const {
    if (parts.empty()) return extent == 1;
    return parts.size() == 1 && parts[0] == ViewPart{extent, stride};
  }
};

std::optional<HeadOperand> in_rows(DimTable& dims, const View& v, const Shape& base) {
  if (base.rank() < 3) return std::nullopt;
  Dim width = 1;
  for (size_t i = 2; i < base.rank(); ++i) width = dims.mul(width, base[i]);
  const auto size = run(v.axes.back(), 1), rows = run(v.axes[v.axes.size() - 2], width);
  if (!size || !rows || !is_known(*size) || *rows != base[1] || !is_known(width) || !is_known(v.offset))
    return std::nullopt;
  Leading lead(v);
  HeadOperand o{.batch = base[0], .rows = *rows, .size = *size, .repeat = lead.repeat, .offset = v.offset};
  // With one row or one batch a part can be read in several ways; the reading with heads of exactly this size is tried
  // first.
  const auto heads = lead.take_heads(*size);
  if (!heads || !lead.is_batch(base[0], dims.mul(base[1], width)) || o.offset + *heads * *size > width)
    return std::nullopt;
  o.heads = *heads;
  return o;
}

std::optional<HeadOperand> as_split(DimTable& dims, const View& v, const Shape& base) {
  if (base.rank() != 4 || v.offset != 0) return std::nullopt;
  const auto size = run(v.axes.back(), 1), rows = run(v.axes[v.axes.size() - 2], base[3]);
  if (!size || !rows || *size != base[3] || !is_known(*size) || *rows != base[2] || !is_known(base[1]))
    return std::nullopt;
  const Dim head = dims.mul(base[2], base[3]);
  Leading lead(v);
  HeadOperand o{.split = true, .batch = base[0], .rows = *rows, .size = *size, .repeat = lead.repeat};
  // Batch and heads of a contiguous tensor may have merged into one part.
  if (lead.parts.size() == 1 && lead.parts[0] == ViewPart{dims.mul(base[0], base[1]), head}) {
    o.heads = base[1];
    return o;
  }
  const auto heads = lead.take_heads(head);
  if (!heads || *heads != base[1] || !lead.is_batch(base[0], dims.mul(base[1], head))) return std::nullopt;
  o.heads = *heads;
  return o;
}

// Whether a value of this shape has batch and heads on axes of their own as the reading has them: with a batch of one,
// a head may look like an item of the batch.
bool reads_axes(const HeadOperand& o, const Shape& shape) {
  if (shape.rank() < 4) return true;
  const auto agrees = [](Dim a, Dim b) { return a == b || (!is_known(a) && !is_known(b)); };
  return agrees(o.batch, shape[0]) && agrees(o.heads * o.repeat, shape[1]);
}

}  // namespace

std::optional<HeadOperand> head_operand(const Graph& g, ValueId value, bool transposed) {
  std::optional<HeadOperand> best;
  for (View& v : views_of(g, value)) {
    const Shape& base = *shape_of(g, v.base);
    if (v.axes.size() < 3) continue;
    if (transposed) std::swap(v.axes[v.axes.size() - 1], v.axes[v.axes.size() - 2]);
    std::optional<HeadOperand> o = as_split(g.dims(), v, base);
    if (!o) o = in_rows(g.dims(), v, base);
    if (!o || !reads_axes(*o, *shape_of(g, value))) continue;
    o->base = v.base;
    o->factor = v.factor;
    best = o;
  }
  return best;
}

}  // namespace retort
