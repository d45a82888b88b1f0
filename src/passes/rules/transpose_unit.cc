// Replaces a Transpose that only moves axes of extent 1 by a Reshape, which moves nothing: after a global pool ([N, C,
// 1, 1], all classification networks) and in the attention of one query.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> match_transpose_unit(const Graph& g, const Node& n) {
  const Shape* in = shape_of(g, n.inputs[0]);
  const auto perm = ints_attribute(n, "perm");
  if (!in || perm.size() != in->rank()) return std::nullopt;
  int64_t last = -1;
  for (int64_t axis : perm) {
    if ((*in)[size_t(axis)] == 1) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  std::vector<int64_t> target;
  size_t open = 0;
  for (size_t i = 0; i < perm.size(); ++i) {
    const Dim d = (*in)[size_t(perm[i])];
    const bool kept = perm[i] == int64_t(i);
    open += !is_known(d) && !kept;
    target.push_back(is_known(d) ? d : kept ? 0 : -1);
    if (d == 0) return std::nullopt;
  }
  if (open > 1) return std::nullopt;
  Patch p(g);
  const ValueId shape = p.constant(int64_tensor(target), "shape");
  p.replace(n.outputs[0], p.add({.type = "Reshape", .inputs = {n.inputs[0], shape}}));
  p.covers(n.id);
  return p;
}

constexpr Rule kTransposeUnitRules[] = {
    {.name = "transpose_unit",
     .root = "Transpose",
     .match = match_transpose_unit,
     .stages = {RuleStage::cleanup},
     .after = {"noop_transpose"}},
};

}  // namespace

extern const Rules rules_transpose_unit;
constinit const Rules rules_transpose_unit{kTransposeUnitRules};

}  // namespace retort
