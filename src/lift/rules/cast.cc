// Cast: the type was a name in opset 1. CastLike is a Cast to a type that is known here; as one, it does not depend on
// its second input, and is computed once if its first is a constant.
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

void apply_cast_like(Rewriter& r) {
  const ValueType& like = r.type(1);
  if (!like.is_tensor() || like.dtype == DType::undefined) return;
  r.attributes().set("to", int64_t(like.dtype));
  r.resize_inputs(1);
  r.node().type = "Cast";
}

constexpr LiftRule kCastRules[] = {{"Cast", 6, apply_cast}, {"CastLike", kAlways, apply_cast_like}};

}  // namespace

extern const LiftRules lift_cast;
constinit const LiftRules lift_cast{kCastRules};

}  // namespace retort
