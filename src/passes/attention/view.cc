#include "passes/attention/view.h"

#include <algorithm>

namespace retort {
namespace {

constexpr size_t kMaxSteps = 16;  // nodes between a value and its base

using ViewParts = std::vector<ViewPart>;

// Appends a part, and merges it with the previous one if both are one run of memory.
void append(DimTable& dims, ViewParts& parts, ViewPart p) {
  if (p.extent == 1) return;
  if (!parts.empty() && p.stride != 0 && parts.back().stride == dims.mul(p.extent, p.stride)) {
    parts.back() = {dims.mul(parts.back().extent, p.extent), p.stride};
  } else {
    parts.push_back(p);
  }
}

View whole(const Graph& g, ValueId value, const Shape& shape) {
  View v;
  v.base = value;
  Dim stride = 1;
  v.axes.resize(shape.rank());
  for (size_t i = shape.rank(); i-- > 0; stride = g.dims().mul(stride, shape[i])) {
    if (shape[i] != 1) v.axes[i] = {{shape[i], stride}};
  }
  return v;
}

// Returns q with a = q · b, if it exists for all values of the symbols.
std::optional<Dim> divide(DimTable& dims, Dim a, Dim b) {
  if (a == b) return 1;
  if (b == 0) return std::nullopt;
  const Dim q = dims.div(a, b);
  if (dims.mul(q, b) != a) return std::nullopt;
  return q;
}

// Takes `extent` elements from the end of `parts`.
std::optional<ViewAxis> take(DimTable& dims, ViewParts& parts, Dim extent) {
  ViewAxis axis;
  while (extent != 1) {
    if (parts.empty()) return std::nullopt;
    ViewPart& last = parts.back();
    if (const auto rest = divide(dims, last.extent, extent)) {  // the part is larger: split it
      axis.insert(axis.begin(), {extent, last.stride});
      last = {*rest, last.stride == 0 ? 0 : dims.mul(extent, last.stride)};
      if (*rest == 1) parts.pop_back();
      return axis;
    }
    const auto rest = divide(dims, extent, last.extent);
    if (!rest) return std::nullopt;
    axis.insert(axis.begin(), last);
    extent = *rest;
    parts.pop_back();
  }
  return axis;
}

bool reshape(DimTable& dims, View& v, Shape to) {
  for (Dim& d : to) {
    for (const auto& [alias, extent] : v.same) d = d == alias ? extent : d;
  }
  ViewParts parts;
  for (const ViewAxis& axis : v.axes) {
    for (const ViewPart& p : axis) append(dims, parts, p);
  }
  std::vector<ViewAxis> axes(to.rank());
  for (size_t i = to.rank(); i-- > 0;) {
    auto axis = take(dims, parts, to[i]);
    if (!axis) return false;
    axes[i] = std::move(*axis);
  }
  v.axes = std::move(axes);
  return parts.empty();
}

bool transpose(View& v, const std::vector<int64_t>& perm) {
  if (perm.size() != v.axes.size()) return false;
  std::vector<ViewAxis> axes;
  for (int64_t p : perm) axes.push_back(v.axes.at(size_t(p)));
  v.axes = std::move(axes);
  return true;
}

// Narrows `axis` to `extent` elements, starting with `start`.
bool narrow(DimTable& dims, View& v, size_t axis, int64_t start, Dim extent) {
  if (v.axes[axis].empty()) return start == 0 && extent == 1;
  if (v.axes[axis].size() != 1 || start < 0) return false;
  const ViewPart p = v.axes[axis][0];
  v.offset = dims.add(v.offset, dims.mul(start, p.stride));
  v.axes[axis].clear();
  if (extent != 1) v.axes[axis] = {{extent, p.stride}};
  return true;
}

bool slice(const Graph& g, View& v, const Node& n, const Shape& in, const Shape& out) {
  const auto starts = known_integers(g, n.input(1));
  if (!starts) return false;
  std::vector<int64_t> axes(starts->size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = int64_t(i);
  if (n.input(3) != ValueId::none) {
    const auto given = known_integers(g, n.inputs[3]);
    if (!given || given->size() != axes.size()) return false;
    axes = *given;
  }
  if (n.input(4) != ValueId::none) {
    const auto steps = known_integers(g, n.inputs[4]);
    if (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s != 1; })) return false;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = normalize_axis(axes[i], in.rank());
    int64_t start = (*starts)[i];
    if (start < 0 || start > 0) {
      if (!is_known(in[axis])) return false;
      start = std::clamp<int64_t>(start < 0 ? start + in[axis] : start, 0, in[axis]);
    }
    if (!narrow(g.dims(), v, axis, start, out[axis])) return false;
  }
  return true;
}

bool split(const Graph& g, View& v, const Node& n, ValueId value, size_t rank) {
  const size_t axis = normalize_axis(n.attributes.get_or<int64_t>("axis", 0), rank);
  int64_t start = 0;
  for (ValueId out : n.outputs) {
    const Shape* s = shape_of(g, out);
    if (!s || !is_known((*s)[axis])) return false;
    if (out == value) return narrow(g.dims(), v, axis, start, (*s)[axis]);
    start += (*s)[axis];
  }
  return false;
}

bool gather(const Graph& g, View& v, const Node& n, const Shape& in) {
  const auto index = known_integers(g, n.inputs[1]);
  const Shape* shape = shape_of(g, n.inputs[1]);
  if (!index || index->size() != 1 || !shape || !shape->empty()) return false;
  const size_t axis = normalize_axis(n.attributes.get_or<int64_t>("axis", 0), in.rank());
  int64_t at = (*index)[0];
  if (!is_known(in[axis])) return false;
  if (at < 0) at += in[axis];
  if (!narrow(g.dims(), v, axis, at, 1)) return false;
  v.axes.erase(v.axes.begin() + ptrdiff_t(axis));
  return true;
}

// An axis of symbolic extent that is expanded to another symbol keeps its extent: a key cache of `past + new` rows is
// expanded to the length of the mask. If they differ in a run, attention rejects the mask.
bool expand(const Graph& g, View& v, const Node& n, const Shape& in, const Shape& out) {
  if (in.rank() != out.rank()) return false;
  const GraphValue& target = g.value(n.inputs[1]);
  for (size_t i = 0; i < in.rank(); ++i) {
    if (in[i] == out[i]) continue;
    if (in[i] == 1) {
      v.axes[i] = {{out[i], 0}};
    } else if (!is_known(in[i]) && !is_known(out[i])) {
      v.same.emplace_back(out[i], in[i]);
      if (target.has_known && target.known.size() == in.rank()) v.same.emplace_back(target.known[i], in[i]);
    } else {
      return false;
    }
  }
  return true;
}

// The input of which `n` returns a view, or none.
ValueId viewed(const Graph& g, const Node& n) {
  if (!n.op || !n.domain.empty()) return ValueId::none;
  if (n.op->has(kView)) return n.inputs[0];
  for (const char* type : {"Transpose", "Slice", "Split", "Gather", "Expand"}) {
    if (n.type == type) return n.inputs[0];
  }
  if (n.type != "Mul" && n.type != "Div") return ValueId::none;
  const auto s = with_scalar(g, n);
  const bool usable = s && (n.type == "Mul" || s->x == n.inputs[0]) && same_shape(g, s->x, n.outputs[0]);
  return usable ? s->x : ValueId::none;
}

// Changes `v`, which views the input of `n`, so that it views the output `value`.
bool step(const Graph& g, View& v, const Node& n, ValueId value) {
  const Shape *in = shape_of(g, viewed(g, n)), *out = shape_of(g, value);
  if (!in || !out) return false;
  if (n.type == "Transpose") return transpose(v, ints_attribute(n, "perm"));
  if (n.type == "Slice") return slice(g, v, n, *in, *out);
  if (n.type == "Split") return split(g, v, n, value, in->rank());
  if (n.type == "Gather") return gather(g, v, n, *in);
  if (n.type == "Expand") return expand(g, v, n, *in, *out);
  if (n.type == "Mul" || n.type == "Div") {
    const double c = with_scalar(g, n)->c;
    v.factor *= n.type == "Mul" ? c : 1 / c;
    return true;
  }
  return reshape(g.dims(), v, *out);
}

}  // namespace

std::vector<View> views_of(const Graph& g, ValueId value) {
  std::vector<View> views;
  // Nodes from the value back to the base, each with its output on that path.
  std::vector<std::pair<const Node*, ValueId>> path;
  for (ValueId base = value;;) {
    const Shape* shape = shape_of(g, base);
    if (!shape) break;
    View v = whole(g, base, *shape);
    bool ok = true;
    for (size_t i = path.size(); ok && i-- > 0;) ok = step(g, v, *path[i].first, path[i].second);
    if (ok) views.push_back(std::move(v));
    const Node* n = g.producer(base);
    const ValueId next = n && path.size() < kMaxSteps ? viewed(g, *n) : ValueId::none;
    if (next == ValueId::none) break;
    path.emplace_back(n, base);
    base = next;
  }
  return views;
}

}  // namespace retort
