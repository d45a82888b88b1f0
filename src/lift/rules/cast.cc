// Cast: the type was a name in opset 1.
#include <algorithm>

#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_cast(Rewriter& r) {
  const std::string* name = r.attributes().get<std::string>("to");
  if (!name) return;
  constexpr std::string_view kNames[] = {"UNDEFINED", "FLOAT",  "UINT8",     "INT8",      "UINT16",  "INT16",
                                         "INT32",     "INT64",  "STRING",    "BOOL",      "FLOAT16", "DOUBLE",
                                         "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), *name);
  require(found != std::end(kNames), ErrorCode::invalid_graph, "'{}' is not a type to cast to", *name);
  r.attributes().set("to", int64_t(found - std::begin(kNames)));
}
constexpr LiftRule kCastRules[] = {{"Cast", 6, apply_cast}};

}  // namespace

extern const LiftRules lift_cast;
constinit const LiftRules lift_cast{kCastRules};

}  // namespace retort
