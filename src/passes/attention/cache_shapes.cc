#include "passes/attention/cache_shapes.h"

#include <algorithm>

namespace retort {
namespace {

constexpr int kMaxViews = 16;  // between a cache and the value whose shape is read

ValueId extent_of(Patch& p, ValueId x, int64_t axis) {
  return p.add({.type = "Shape", .inputs = {x}, .attributes = {{"start", axis}, {"end", axis + 1}}});
}

// An extent of the cache as a vector of one element, made without the cache.
ValueId extent(const Graph& g, const JoinedCache& c, Dim d, Patch& p) {
  if (is_known(d)) return p.constant(int64_tensor(std::span(&d, 1)), "extent");
  const ValueId past = c.concat->inputs[0];
  if (d == (*shape_of(g, past))[0] || d == (*shape_of(g, c.concat->outputs[0]))[0]) return extent_of(p, past, 0);
  return p.add({.type = "Add", .inputs = {extent_of(p, past, 2), extent_of(p, c.fresh.base, c.fresh.split ? 2 : 1)}});
}

// Whether the cache is known to have such an extent.
bool has_extent(const Graph& g, const JoinedCache& c, Dim d) {
  const Shape *past = shape_of(g, c.concat->inputs[0]), *present = shape_of(g, c.concat->outputs[0]);
  return is_known(d) || (past && present && past->rank() == 4 && present->rank() == 4 &&
                         (d == (*past)[0] || d == (*present)[0] || d == (*present)[2]));
}

// The cache of which `value` is a view; of what else it may be made does not matter, since only its extents count.
const JoinedCache* viewed_cache(const Graph& g, ValueId value, std::span<const JoinedCache> caches) {
  const Node* n = g.producer(value);
  for (int i = 0; n && i < kMaxViews; ++i) {
    const auto found = std::find_if(caches.begin(), caches.end(), [&](const JoinedCache& c) { return c.concat == n; });
    if (found != caches.end()) return &*found;
    n = n->inputs.empty() || n->inputs[0] == ValueId::none ? nullptr : g.producer(n->inputs[0]);
  }
  return nullptr;
}

bool replace_shape(const Graph& g, const Node& shape, const JoinedCache& c, Patch& p) {
  const GraphValue& content = g.value(shape.outputs[0]);
  const auto has = [&](Dim d) { return has_extent(g, c, d); };
  if (!content.has_known || content.known.empty() || !std::all_of(content.known.begin(), content.known.end(), has))
    return false;
  NodeSpec all{.type = "Concat", .attributes = {{"axis", int64_t(0)}}};
  for (const Dim d : content.known) all.inputs.push_back(extent(g, c, d, p));
  p.replace(shape.outputs[0], all.inputs.size() == 1 ? all.inputs[0] : p.add(std::move(all)));
  return true;
}

}  // namespace

bool detach_from_caches(const Graph& g, std::span<const ValueId> inputs, std::span<const JoinedCache> caches,
                        Patch& p) {
  std::vector<bool> seen(g.node_count());
  std::vector<ValueId> open(inputs.begin(), inputs.end());
  while (!open.empty()) {
    const bool other = open.back() == ValueId::none || size_t(open.back()) >= g.value_count();  // none, or by the patch
    const Node* n = other ? nullptr : g.producer(open.back());
    open.pop_back();
    if (!n || seen[size_t(n->id)]) continue;
    seen[size_t(n->id)] = true;
    if (std::any_of(caches.begin(), caches.end(), [&](const JoinedCache& c) { return c.concat == n; })) return false;
    const JoinedCache* read = n->type == "Shape" ? viewed_cache(g, n->inputs[0], caches) : nullptr;
    if (read && replace_shape(g, *n, *read, p)) continue;
    open.insert(open.end(), n->inputs.begin(), n->inputs.end());
  }
  return true;
}

}  // namespace retort
