// Softmax, LogSoftmax, Hardmax: before opset 13 the input was treated as a matrix, split at `axis` (1 by default).
#include "lift/rewriter.h"
#include "ops/infer.h"

namespace retort {
namespace {

void apply_softmax(Rewriter& r) {
  const int64_t axis = r.attributes().get_or<int64_t>("axis", 1);
  r.attributes().set("axis", int64_t(-1));
  const ValueType& x = r.type(0);
  if (x.ranked) normalize_axis(axis, x.rank());  // refuses one that is out of range
  if (axis == -1 || (x.ranked && axis == int64_t(x.rank()) - 1)) return;
  const ValueId flat = r.add({.type = "Flatten", .inputs = {r.input(0)}, .attributes = {{"axis", axis}}});
  const ValueId shape = r.add({.type = "Shape", .inputs = {r.input(0)}});
  const ValueId result = r.add({.type = r.node().type, .inputs = {flat}, .attributes = {{"axis", int64_t(-1)}}});
  r.replace_output(0, r.add({.type = "Reshape", .inputs = {result, shape}, .attributes = {{"allowzero", int64_t(1)}}}));
  r.remove();
}
constexpr LiftRule kSoftmaxRules[] = {
    {"Softmax", 13, apply_softmax}, {"LogSoftmax", 13, apply_softmax}, {"Hardmax", 13, apply_softmax}};

}  // namespace

extern const LiftRules lift_softmax;
constinit const LiftRules lift_softmax{kSoftmaxRules};

}  // namespace retort
