// IsInf: whether an element is infinite, with one of the requested signs.
#include "ops/math/predicate.h"

namespace retort::ops {
namespace {

struct IsInf : Predicate<IsInf> {
  bool detect_negative = true, detect_positive = true;
  static constexpr std::tuple attributes{attr("detect_negative", &IsInf::detect_negative),
                                         attr("detect_positive", &IsInf::detect_positive)};
  bool test(double x) const { return std::isinf(x) && (x < 0 ? detect_negative : detect_positive); }
};

}  // namespace

extern const OpDef op_is_inf;
constinit const OpDef op_is_inf = define<IsInf>({
    .name = "IsInf",
    .since = {10, 20},
    .inputs = {"X: T"},
    .outputs = {"Y: bool"},
    .types = kFloatsAndFloat8,
    .traits = kElementwise,
});

}  // namespace retort::ops
