// Derivatives of operators that only move elements.
#include "base/error.h"
#include "lift/gradient/backward.h"

namespace retort::gradient {
namespace {

void view(Backward& b) { b.give(0, b.reshaped(b.dy(), b.shape(b.x()))); }
void expand(Backward& b) { b.give(0, b.summed_to(b.dy(), b.x())); }

void transpose(Backward& b) {
  const size_t rank = b.rank(b.x());
  std::vector<int64_t> back(rank);
  const auto perm = b.attribute("perm", std::vector<int64_t>());
  for (size_t d = 0; d < rank; ++d) back[perm.empty() ? rank - 1 - d : size_t(perm[d])] = int64_t(d);
  b.give(0, b.transposed(b.dy(), back));
}

void concat(Backward& b) {
  int64_t axis = b.attribute("axis", int64_t(0));
  if (axis < 0) axis += int64_t(b.rank(b.y()));
  Term begin = b.ints({0});
  for (size_t i = 0; i < b.inputs(); ++i) {
    const Term end = b.call("Add", {begin, b.extents(b.x(i), axis, axis + 1)});
    if (b.wants(i)) b.give(i, b.call("Slice", {b.dy(), begin, end, b.ints({axis})}));
    begin = end;
  }
}

void trilu(Backward& b) {
  std::vector<Term> inputs{b.dy()};
  if (b.has(1)) inputs.push_back(b.x(1));
  b.give(0, b.call("Trilu", inputs, {{"upper", b.attribute("upper", int64_t(1))}}));
}

Term column(Backward& b, Term t) { return b.call("Reshape", {t, b.ints({-1, 1})}); }
Term line(Backward& b, Term t) { return b.call("Reshape", {t, b.ints({-1})}); }

/// Adds the derivatives by all outputs to a row of `count` zeros, at the places that `moved` gives.
Term gathered(Backward& b, Term count, const std::vector<Term>& moved) {
  Term sum = b.call("Expand", {b.number(0, b.x()), count});
  for (size_t i = 0; i < moved.size(); ++i) {
    if (b.dy(i).id == ValueId::none) continue;
    sum = b.call("ScatterND", {sum, column(b, moved[i]), line(b, b.dy(i))}, {{"reduction", std::string("add")}});
  }
  return sum;
}

/// The number of each element of x, in its shape.
Term numbered(Backward& b) {
  return b.reshaped(b.call("Range", {b.index(0), b.call("Size", {b.x()}), b.index(1)}), b.shape(b.x()));
}

// Applies the operator to the positions of the elements instead of the elements: the result says where each came from.
// So one rule serves every operator whose outputs have only elements of input 0.
void move(Backward& b) {
  if (!b.wants(0)) return;
  const Term count = b.call("Reshape", {b.call("Size", {b.x()}), b.ints({1})});
  b.give(0, b.reshaped(gathered(b, count, b.again(numbered(b))), b.shape(b.x())));
}

// Elements that do not come from x get a position after the last one.
void pad(Backward& b) {
  if (!b.wants(0)) return;
  require(!b.wants(2), ErrorCode::not_implemented, "constant_value must not depend on xs");
  const Term size = b.call("Size", {b.x()});
  std::vector<Term> inputs{numbered(b), b.x(1), size};
  if (b.has(3)) inputs.push_back(b.x(3));
  const Term moved = b.call("Pad", inputs, {{"mode", b.attribute<std::string>("mode", "constant")}});
  const Term count = b.call("Reshape", {size, b.ints({1})});
  const Term sums = gathered(b, b.call("Add", {count, b.ints({1})}), {moved});
  b.give(0, b.reshaped(b.call("Slice", {sums, b.ints({0}), count}), b.shape(b.x())));
}

void scatter_nd(Backward& b) {
  require(b.attribute<std::string>("reduction", "none") == "add", ErrorCode::not_implemented,
          "its reduction is not add");
  b.give(0, b.dy());
  if (b.wants(2)) b.give(2, b.call("GatherND", {b.dy(), b.x(1)}));
}

constexpr GradientRule kMovementRules[] = {
    {"Concat", concat},       {"DepthToSpace", move}, {"Expand", expand},  {"Flatten", view}, {"Gather", move},
    {"GatherElements", move}, {"GatherND", move},     {"Pad", pad},        {"Reshape", view}, {"ScatterND", scatter_nd},
    {"Slice", move},          {"SpaceToDepth", move}, {"Split", move},     {"Squeeze", view}, {"Tile", move},
    {"Transpose", transpose}, {"Trilu", trilu},       {"Unsqueeze", view},
};

}  // namespace

constinit const GradientRules kMovementGradients{kMovementRules};

}  // namespace retort::gradient
