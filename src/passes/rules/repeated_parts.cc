// Makes one Gather of a Concat of single rows that a Split of the same axis has cut from one tensor, in any order and
// repeated: Keras repeats elements so (UpSampling1D and 3D). Two nodes with an input or output for each row cost more
// than the rows.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Whether all parts have one row and nothing but `concat` reads them.
bool are_single_rows(const Graph& g, const Node& split, const Node& concat, size_t axis) {
  for (const ValueId part : split.outputs) {
    if (part == ValueId::none) continue;
    const Shape* shape = shape_of(g, part);
    const auto uses = std::count(concat.inputs.begin(), concat.inputs.end(), part);
    if (!shape || (*shape)[axis] != 1 || g.is_output(part) || g.use_count(part) != size_t(uses)) return false;
  }
  return true;
}

std::optional<Patch> match_repeated_parts(const Graph& g, const Node& n) {
  constexpr size_t kFewest = 4;
  const Node* split = n.inputs.size() < kFewest ? nullptr : producer_of(g, n.inputs[0], "Split");
  const Shape* x = split ? shape_of(g, split->inputs[0]) : nullptr;
  if (!x) return std::nullopt;
  const size_t axis = normalize_axis(n.attributes.get_or<int64_t>("axis", 0), x->rank());
  if (normalize_axis(split->attributes.get_or<int64_t>("axis", 0), x->rank()) != axis) return std::nullopt;
  std::vector<int64_t> rows;
  for (const ValueId part : n.inputs) {
    if (g.producer(part) != split) return std::nullopt;
    rows.push_back(std::find(split->outputs.begin(), split->outputs.end(), part) - split->outputs.begin());
  }
  if (!are_single_rows(g, *split, n, axis)) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "Gather",
                                 .inputs = {split->inputs[0], p.constant(int64_tensor(rows), "rows")},
                                 .attributes = {{"axis", int64_t(axis)}}}));
  p.covers({split->id, n.id});
  return p;
}

constexpr Rule kRepeatedPartsRules[] = {
    {"repeated_parts", "Concat", match_repeated_parts, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_repeated_parts;
constinit const Rules rules_repeated_parts{kRepeatedPartsRules};

}  // namespace retort
