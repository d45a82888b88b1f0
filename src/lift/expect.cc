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

bool fits(Rewriter& r, const ValueType& x, ValueId like, const Extents& extents, bool or_one) {
  if (or_one && x.ranked && (x.rank() == 0 || (x.rank() == 1 && x.shape[0] == 1))) return true;
  const ValueType* other = like == ValueId::none ? nullptr : &r.type_of(like);
  if (!x.ranked || (other && !other->ranked)) return false;
  if (x.rank() != (extents.empty() ? other->rank() : extents.size())) return false;
  bool named = false;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!extents.empty() && extents[i] == kAnyExtent) continue;
    const auto axis = extents.empty()             ? i
                      : extents[i] == kLastExtent ? other->rank() - 1
                                                  : size_t(extent_of(extents[i]));
    if (other && (extents.empty() || extents[i] < kAnyExtent) && axis >= other->rank()) return false;
    const Dim wanted = !extents.empty() && extents[i] >= 0 ? Dim(extents[i]) : other->shape[axis];
    if (x.shape[i] != wanted) return false;
    named = named || !is_known(wanted);
  }
  return !named || symbols_are_unique(r.graph());
}

}  // namespace

ValueId expect(Rewriter& r, ValueId x, std::string_view name, ValueId like, Extents extents, bool or_one) {
  if (fits(r, r.type_of(x), like, extents, or_one)) return x;
  NodeSpec spec{.type = "Expect", .inputs = {x}, .attributes = {{"name", std::string(name)}}, .domain = "retort"};
  if (like != ValueId::none) spec.inputs.push_back(like);
  if (!extents.empty()) spec.attributes.set("dims", std::move(extents));
  if (or_one) spec.attributes.set("or_one", int64_t(1));
  return r.add(std::move(spec));
}

void expect_input(Rewriter& r, size_t i, std::string_view name, size_t like, std::initializer_list<int64_t> extents,
                  bool or_one) {
  if (r.has(i)) r.set_input(i, expect(r, r.input(i), name, r.input(like), extents, or_one));
}

void expect_one(Rewriter& r, size_t i, std::string_view name) {
  if (r.has(i)) r.set_input(i, expect(r, r.input(i), name, ValueId::none, {1}, true));
}

}  // namespace retort
