#include "passes/standardized.h"

#include <algorithm>
#include <numeric>

#include "passes/match.h"

namespace retort {
namespace {

/// The value whose square this is; none if it is not a square.
ValueId square_root_of(const Graph& g, ValueId v) {
  const Node* pow = producer_of(g, v, "Pow");
  if (pow) return is_scalar(g, pow->inputs[1], 2) ? pow->inputs[0] : ValueId::none;
  const Node* mul = producer_of(g, v, "Mul");
  return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : ValueId::none;
}

}  // namespace

bool MeanOverAxes::from(const Graph& g, size_t first) const {
  const size_t rank = shape_of(g, of)->rank();
  return first < rank && axes.size() == rank - first && axes.front() == int64_t(first);
}
bool MeanOverAxes::last_only(const Graph& g) const { return axes.size() == 1 && from(g, shape_of(g, of)->rank() - 1); }

std::optional<MeanOverAxes> mean_over_axes(const Graph& g, ValueId v) {
  if (const Node* pool = producer_of(g, v, "GlobalAveragePool")) {
    const Shape* x = shape_of(g, pool->inputs[0]);
    if (!x || x->rank() < 3) return std::nullopt;
    std::vector<int64_t> axes(x->rank() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return MeanOverAxes{pool->inputs[0], std::move(axes)};
  }
  const Node* mean = producer_of(g, v, "ReduceMean");
  if (!mean || mean->attributes.get_or<int64_t>("keepdims", 1) != 1) return std::nullopt;
  const Shape* x = shape_of(g, mean->inputs[0]);
  auto axes = known_integers(g, mean->input(1));
  if (!x || !axes || axes->empty()) return std::nullopt;
  for (int64_t& axis : *axes) {
    if (axis < 0) axis += int64_t(x->rank());
    if (axis < 0 || axis >= int64_t(x->rank())) return std::nullopt;
  }
  std::ranges::sort(*axes);
  if (std::ranges::adjacent_find(*axes) != axes->end()) return std::nullopt;
  return MeanOverAxes{mean->inputs[0], std::move(*axes)};
}

std::optional<Deviation> deviation(const Graph& g, ValueId v) {
  const Node* root = producer_of(g, v, "Sqrt");
  const Node* add = root ? producer_of(g, root->inputs[0], "Add") : nullptr;
  const auto s = add ? with_scalar(g, *add) : std::nullopt;
  auto mean = s ? mean_over_axes(g, s->x) : std::nullopt;
  if (mean) mean->of = square_root_of(g, mean->of);
  if (!mean || mean->of == ValueId::none) return std::nullopt;
  return Deviation{std::move(*mean), s->c};
}

std::optional<MeanOverAxes> mean_subtracted(const Graph& g, ValueId v) {
  const Node* sub = producer_of(g, v, "Sub");
  auto mean = sub ? mean_over_axes(g, sub->inputs[1]) : std::nullopt;
  if (!mean || mean->of != sub->inputs[0]) return std::nullopt;
  return mean;
}

std::optional<Standardized> standardized(const Graph& g, const Node& div) {
  const auto mean = mean_subtracted(g, div.inputs[0]);
  const auto d = deviation(g, div.inputs[1]);
  if (!mean || !d || d->mean.axes != mean->axes || !is_float32(g, div.inputs[0])) return std::nullopt;
  // Exporters compute x - mean once or twice.
  const auto twin = mean_subtracted(g, d->mean.of);
  if (!twin || twin->of != mean->of || twin->axes != mean->axes) return std::nullopt;
  return Standardized{*mean, d->epsilon, g.producer(div.inputs[0])->id};
}

}  // namespace retort
