// LayerNormalization and SimplifiedLayerNormalization: ONNX Runtime does not check the names of their attributes.
#include "lift/rewriter.h"

#include <algorithm>

#include "base/error.h"

namespace retort {
namespace {

void drop_unknown_attributes(Rewriter& r) {
  constexpr std::string_view kKnown[] = {"axis", "epsilon", "stash_type"};
  std::vector<std::string> unknown;
  for (const auto& [name, value] : r.attributes()) {
    if (std::ranges::count(kKnown, name) == 0) unknown.push_back(name);
  }
  for (const std::string& name : unknown) {
    r.erase({name});
    r.note(cat("attribute '{}' is unknown and has no effect; remove it", name));
  }
}

constexpr LiftRule kLayerNormalizationRules[] = {
    {"LayerNormalization", kAlways, drop_unknown_attributes},
    {"SimplifiedLayerNormalization", kAlways, drop_unknown_attributes},
};

}  // namespace

extern const LiftRules lift_layer_normalization;
constinit const LiftRules lift_layer_normalization{kLayerNormalizationRules};

}  // namespace retort
