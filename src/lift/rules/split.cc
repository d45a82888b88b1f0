// Split: sizes were an attribute before opset 13; for equal parts, num_outputs is required since opset 18.
#include "base/error.h"
#include "lift/rewriter.h"
#include "ops/infer.h"

namespace retort {
namespace {

void sizes(Rewriter& r) { r.attribute_to_input("split", 1); }

// The parts are equal. Only what is known when the model is loaded is checked: a later form allows a shorter last part.
void parts(Rewriter& r) {
  if (r.has(1)) return;
  const auto count = int64_t(r.node().outputs.size());
  r.attributes().set("num_outputs", count);
  const ValueType& x = r.type(0);
  if (!x.ranked) return;
  const Dim extent = x.shape[normalize_axis(r.attributes().get_or<int64_t>("axis", 0), x.rank())];
  require(!is_known(extent) || extent % count == 0, ErrorCode::invalid_argument,
          "{} elements of an axis are not made of {} equal parts", extent, count);
}

constexpr LiftRule kSplitRules[] = {{"Split", 13, sizes}, {"Split", 18, parts}};

}  // namespace

extern const LiftRules lift_split;
constinit const LiftRules lift_split{kSplitRules};

}  // namespace retort
