// Split: sizes were an attribute before opset 13; for equal parts, num_outputs is required since opset 18.
#include "lift/rewriter.h"

namespace retort {
namespace {

void sizes(Rewriter& r) { r.attribute_to_input("split", 1); }

void parts(Rewriter& r) {
  if (!r.has(1)) r.attributes().set("num_outputs", int64_t(r.node().outputs.size()));
}

constexpr LiftRule kSplitRules[] = {{"Split", 13, sizes}, {"Split", 18, parts}};

}  // namespace

extern const LiftRules lift_split;
constinit const LiftRules lift_split{kSplitRules};

}  // namespace retort
