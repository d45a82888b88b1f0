// Squeeze, Unsqueeze: axes were an attribute before opset 13.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_unsqueeze(Rewriter& r) { r.attribute_to_input("axes", 1); }
// An empty attribute means that none is given; an empty input does not.
void apply_squeeze(Rewriter& r) {
  const auto* axes = r.attributes().get<std::vector<int64_t>>("axes");
  if (axes && axes->empty()) return r.erase({"axes"});
  r.attribute_to_input("axes", 1);
}
constexpr LiftRule kSqueezeRules[] = {{"Squeeze", 13, apply_squeeze}, {"Unsqueeze", 13, apply_unsqueeze}};

}  // namespace

extern const LiftRules lift_squeeze;
constinit const LiftRules lift_squeeze{kSqueezeRules};

}  // namespace retort
