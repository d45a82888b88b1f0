#include "lift/expect.h"

#include <algorithm>

namespace retort {
namespace {

// Whether equal symbols are equal extents. Two inputs of a graph whose extents a model gives one name may differ.
bool symbols_are_unique(const Graph& graph) {
  std::vector<Dim> seen;
  for (const ValueId id : graph.inputs) {
    for (const Dim d : graph.value(id).type.shape) {
      if (!is_known(d)) seen.push_back(d);
    }
  }
  std::ranges::sort(seen);
  return std::ranges::adjacent_find(seen) == seen.end();
}

bool fits(Rewriter& r, const ValueType& x, ValueId like, const Extents& extents, bool trust_names) {
  const ValueType* other = like == ValueId::none ? nullptr : &r.type_of(like);
  if (!x.ranked || (other && !other->ranked)) return false;
  if (x.rank() != (extents.empty() ? other->rank() : extents.size())) return false;
  bool named = false;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!extents.empty() && extents[i] == kAnyExtent) continue;
    const Dim wanted = extents.empty()   ? other->shape[i]
                       : extents[i] >= 0 ? Dim(extents[i])
                                         : other->shape[size_t(extent_of(extents[i]))];
    if (x.shape[i] != wanted) return false;
    named = named || !is_known(wanted);
  }
  return !named || trust_names || symbols_are_unique(r.graph());
}

}  // namespace

ValueId expect(Rewriter& r, ValueId x, std::string_view name, ValueId like, Extents extents, bool trust_names) {
  if (fits(r, r.type_of(x), like, extents, trust_names)) return x;
  NodeSpec spec{.type = "Expect", .inputs = {x}, .attributes = {{"name", std::string(name)}}, .domain = "retort"};
  if (like != ValueId::none) spec.inputs.push_back(like);
  if (!extents.empty()) spec.attributes.set("dims", std::move(extents));
  return r.add(std::move(spec));
}

}  // namespace retort
