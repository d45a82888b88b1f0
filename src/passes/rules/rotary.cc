// Recognises rotary embeddings that exporters spell out as x · cos + rotated(x) · sin, where the cosine and the sine of
// each angle are there twice: rotated(x) is the second half of each row, negated, before the first half, or the
// neighbours of each pair change places, and the first one is negated. RotaryEmbedding reads x once, and each angle.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// Every `step`-th element of rows of x, beginning with `start`; there are half as many as in x.
struct HalfRows {
  ValueId x = ValueId::none;
  int64_t start = 0, step = 1;
};

/// The last extent, if it is known.
int64_t row_size(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && !s->empty() && is_known(s->back()) ? s->back() : 0;
}

/// Whether attribute `axis` of a node names the last axis of `v`.
bool is_last_axis(const Graph& g, const Node& n, ValueId v, int64_t usual) {
  const Shape* s = shape_of(g, v);
  const auto axis = n.attributes.get_or<int64_t>("axis", usual);
  return s && (axis == -1 || axis == int64_t(s->rank()) - 1);
}

HalfRows half_rows(const Graph& g, ValueId v) {
  const Node* n = g.producer(v);
  if (!n || !n->domain.empty() || (n->type != "Slice" && n->type != "Split")) return {};
  const ValueId x = n->inputs[0];
  const int64_t size = row_size(g, x);
  if (size < 2 || row_size(g, v) * 2 != size) return {};
  if (n->type == "Split") {
    const bool two = n->outputs.size() == 2 && is_last_axis(g, *n, x, 0);
    return two ? HalfRows{x, v == n->outputs[0] ? 0 : size / 2, 1} : HalfRows{};
  }
  const auto starts = known_integers(g, n->input(1)), axes = known_integers(g, n->input(3)),
             steps = known_integers(g, n->input(4));
  const bool one =
      starts && axes && starts->size() == 1 && axes->size() == 1 && (steps || n->input(4) == ValueId::none);
  if (!one || ((*axes)[0] != -1 && (*axes)[0] != int64_t(shape_of(g, x)->rank()) - 1)) return {};
  const int64_t start = (*starts)[0];
  return {x, start < 0 ? start + size : start, steps ? (*steps)[0] : 1};
}

/// v[..., None], also as a Reshape.
ValueId without_last_axis(const Graph& g, ValueId v) {
  const Node* n = g.producer(v);
  if (!n || !n->domain.empty() || (n->type != "Unsqueeze" && n->type != "Reshape") || !used_once(g, v)) return {};
  const Shape *s = shape_of(g, v), *before = shape_of(g, n->inputs[0]);
  if (!s || !before || s->rank() != before->rank() + 1 || s->back() != 1) return ValueId::none;
  return std::equal(before->begin(), before->end(), s->begin()) ? n->inputs[0] : ValueId::none;
}

/// x, if `v` is rotated(x).
struct Rotated {
  ValueId x = ValueId::none;
  bool interleaved = false;
};
Rotated rotated(const Graph& g, ValueId v) {
  const Node* reshape = sole_producer_of(g, v, "Reshape");
  const Node* concat = sole_producer_of(g, reshape ? reshape->inputs[0] : v, "Concat");
  if (!concat || concat->inputs.size() != 2 || !is_last_axis(g, *concat, concat->outputs[0], 0)) return {};
  ValueId first = concat->inputs[0], second = concat->inputs[1];
  if (reshape) {  // pairs
    first = without_last_axis(g, first);
    second = without_last_axis(g, second);
  }
  const Node* neg = first == ValueId::none ? nullptr : sole_producer_of(g, first, "Neg");
  if (!neg || second == ValueId::none) return {};
  const HalfRows a = half_rows(g, neg->inputs[0]), b = half_rows(g, second);
  if (a.x == ValueId::none || a.x != b.x || !same_shape(g, a.x, v) || b.start != 0) return {};
  const bool fits = reshape ? a.step == 2 && b.step == 2 && a.start == 1
                            : a.step == 1 && b.step == 1 && a.start == row_size(g, v) / 2;
  return fits ? Rotated{a.x, reshape != nullptr} : Rotated{};
}

/// Whether both elements of each pair of a constant's rows are equal.
bool repeats(const Tensor& t, bool interleaved) {
  if (t.dtype() != DType::f32 || t.shape().empty()) return false;
  const auto size = size_t(t.shape().back()), half = size / 2;
  for (size_t row = 0; row < t.count(); row += size) {
    for (size_t j = 0; j < half; ++j) {
      if (t.at<float>(row + (interleaved ? 2 * j : j)) != t.at<float>(row + (interleaved ? 2 * j + 1 : j + half)))
        return false;
    }
  }
  return size % 2 == 0;
}

/// The one value in rows of `size` elements that a node changes element by element, or of which it moves rows.
ValueId same_rows(const Graph& g, const Node& n, int64_t size) {
  constexpr std::string_view kKinds[] = {"Cos",     "Sin",    "Cast",   "Squeeze", "Unsqueeze",
                                         "Reshape", "Expand", "Gather", "Slice"};
  if (n.type == "Mul") {
    const auto scaled = with_scalar(g, n);
    return scaled ? scaled->x : ValueId::none;
  }
  if (std::ranges::find(kKinds, n.type) == std::end(kKinds) || row_size(g, n.inputs[0]) != size) return ValueId::none;
  const bool steps = n.type == "Slice" && n.input(4) != ValueId::none;
  const Shape* table = shape_of(g, n.inputs[0]);
  const bool columns = n.type == "Gather" && (n.attributes.get_or<int64_t>("axis", 0) != 0 || table->rank() < 2);
  return steps || columns ? ValueId::none : n.inputs[0];
}

/// Whether each angle is there twice along the last axis: in both halves, or in neighbours.
bool has_angles_twice(const Graph& g, ValueId v, bool interleaved) {
  const int64_t size = row_size(g, v);
  for (size_t depth = 0; depth < 16; ++depth) {
    if (const Tensor* t = g.constant(v)) return repeats(*t, interleaved);
    const Node* n = g.producer(v);
    if (!n || !n->domain.empty()) return false;
    if (!interleaved && n->type == "Concat")
      return n->inputs.size() == 2 && n->inputs[0] == n->inputs[1] && is_last_axis(g, *n, v, 0);
    if (interleaved && n->type == "Reshape" && row_size(g, n->inputs[0]) == 2) {
      // Each element was repeated along an axis of its own.
      const Node* pairs = g.producer(n->inputs[0]);
      const Shape* s = shape_of(g, n->inputs[0]);
      const bool halves = s->rank() >= 2 && (*s)[s->rank() - 2] == size / 2;
      if (!pairs || !halves || !pairs->domain.empty() || row_size(g, pairs->inputs[0]) != 1) return false;
      return pairs->type == "Expand" || pairs->type == "Tile" ||
             (pairs->type == "Concat" && pairs->inputs.size() == 2 && pairs->inputs[0] == pairs->inputs[1]);
    }
    if ((v = same_rows(g, *n, size)) == ValueId::none) return false;
  }
  return false;
}

/// How the angles lie: [batch, rows, size] with an axis of one for the heads, before or behind the rows.
struct Angles {
  bool split = false;   ///< x is [batch, heads, rows, size]; else [batch, rows, heads, size]
  int64_t squeeze = 0;  ///< that axis, if it is there
};
std::optional<Angles> angles(const Graph& g, ValueId v, const Shape& x, bool interleaved) {
  const Shape* s = shape_of(g, v);
  if (!s || s->rank() < 2 || s->rank() > 4 || s->back() != x.back() || !has_angles_twice(g, v, interleaved))
    return std::nullopt;
  const auto extent = [&](size_t axis) { return axis + s->rank() < 4 ? 1 : (*s)[axis + s->rank() - 4]; };
  if (extent(0) != 1 && extent(0) != x[0]) return std::nullopt;
  if (extent(1) == 1 && extent(2) == x[2]) return Angles{true, 1};
  if (s->rank() == 4 && extent(2) == 1 && extent(1) == x[1]) return Angles{false, 2};
  return std::nullopt;
}

/// One element of each pair, as [batch, rows, size / 2].
ValueId once(Patch& p, const Graph& g, ValueId v, const Angles& a, bool interleaved) {
  const Shape& s = *shape_of(g, v);
  const auto number = [&](int64_t i, const char* name) { return p.constant(int64_tensor({&i, 1}), name); };
  const ValueId end = number(interleaved ? s.back() : s.back() / 2, "end");
  v = p.add({.type = "Slice",
             .inputs = {v, number(0, "start"), end, number(int64_t(s.rank()) - 1, "axis"),
                        number(interleaved ? 2 : 1, "step")}});
  if (s.rank() == 2) return p.add({.type = "Unsqueeze", .inputs = {v, number(0, "axis")}});
  return s.rank() == 4 ? p.add({.type = "Squeeze", .inputs = {v, number(a.squeeze, "axis")}}) : v;
}

/// The factor of x in a product that nothing else uses.
ValueId factor(const Graph& g, ValueId product, ValueId x) {
  const Node* mul = sole_producer_of(g, product, "Mul");
  return mul ? other_input(*mul, [x](ValueId v) { return v == x; }) : ValueId::none;
}

std::optional<Patch> replacement(const Graph& g, const Node& n, const Rotated& r, ValueId cos, ValueId sin) {
  const Shape* x = shape_of(g, r.x);
  if (!x || x->rank() != 4 || !is_float32(g, r.x) || cos == ValueId::none) return std::nullopt;
  const auto a = angles(g, cos, *x, r.interleaved), b = angles(g, sin, *x, r.interleaved);
  if (!a || !b || a->split != b->split || !same_shape(g, cos, sin) || (!a->split && !is_known((*x)[2])))
    return std::nullopt;
  Patch p(g);
  NodeSpec spec{.type = "RotaryEmbedding",
                .inputs = {r.x, once(p, g, cos, *a, r.interleaved), once(p, g, sin, *a, r.interleaved)}};
  if (r.interleaved) spec.attributes.set("interleaved", int64_t(1));
  const int64_t joined[] = {0, 0, a->split ? 0 : (*x)[2] * x->back()}, apart[] = {0, 0, (*x)[2], x->back()};
  if (!a->split) {
    spec.attributes.set("num_heads", (*x)[2]);
    spec.inputs[0] = p.add({.type = "Reshape", .inputs = {r.x, p.constant(int64_tensor(joined), "joined")}});
  }
  ValueId y = p.add(std::move(spec));
  if (!a->split) y = p.add({.type = "Reshape", .inputs = {y, p.constant(int64_tensor(apart), "apart")}});
  p.replace(n.outputs[0], y);
  p.covers({g.producer(n.inputs[0])->id, g.producer(n.inputs[1])->id, n.id});
  return p;
}

std::optional<Patch> match_rotary(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* mul = sole_producer_of(g, n.inputs[side], "Mul");
    for (size_t i = 0; mul && i < 2; ++i) {
      const Rotated r = rotated(g, mul->inputs[i]);
      if (r.x == ValueId::none) continue;
      if (auto p = replacement(g, n, r, factor(g, n.inputs[1 - side], r.x), mul->inputs[1 - i])) return p;
    }
  }
  return std::nullopt;
}

constexpr Rule kRotaryRules[] = {
    {"rotary", "Add", match_rotary, {RuleStage::linear}},
};

}  // namespace

extern const Rules rules_rotary;
constinit const Rules rules_rotary{kRotaryRules};

}  // namespace retort
