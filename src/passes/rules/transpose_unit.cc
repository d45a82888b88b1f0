// Replaces a Transpose that only moves axes of extent 1 by a Reshape, which moves nothing: after a global pool ([N, C,
// 1, 1], all classification networks) and in the attention of one query.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// x with its axes of extent 1 in other places.
ValueId moved(Patch& p, ValueId x, const Shape& in, const std::vector<int64_t>& perm) {
  std::vector<int64_t> target, before, after;
  size_t open = 0, copied = 0;
  for (size_t i = 0; i < perm.size(); ++i) {
    const Dim d = in[size_t(perm[i])];
    const bool kept = perm[i] == int64_t(i);
    open += !is_known(d) && !kept;
    copied += !is_known(d) && kept;
    target.push_back(is_known(d) ? d : kept ? 0 : -1);
    if (in[i] == 1) before.push_back(int64_t(i));
    if (d == 1) after.push_back(int64_t(i));
  }
  if (open == 0 || (open == 1 && copied == 0))
    return p.add({.type = "Reshape", .inputs = {x, p.constant(int64_tensor(target), "shape")}});
  // A copied extent may be 0, and then no -1 follows from the others.
  const ValueId y = p.add({.type = "Squeeze", .inputs = {x, p.constant(int64_tensor(before), "axes")}});
  return p.add({.type = "Unsqueeze", .inputs = {y, p.constant(int64_tensor(after), "axes")}});
}

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
  for (const Dim d : *in) {
    if (d == 0) return std::nullopt;
  }
  Patch p(g);
  p.replace(n.outputs[0], moved(p, n.inputs[0], *in, perm));
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
