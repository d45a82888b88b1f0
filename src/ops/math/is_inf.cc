// IsInf: whether an element is infinite, with one of the requested signs.
#include <limits>

#include "ops/math/predicate.h"

namespace retort::ops {
namespace {

struct IsInf : Predicate<IsInf> {
  bool detect_negative = true, detect_positive = true;
  static constexpr std::tuple attributes{attr("detect_negative", &IsInf::detect_negative),
                                         attr("detect_positive", &IsInf::detect_positive)};
  template <typename T>
  bool test(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const unsigned positive = x == kInfinity, negative = x == -kInfinity;  // no branches, so loops become vectors
    return ((positive & unsigned(detect_positive)) | (negative & unsigned(detect_negative))) != 0;
  }
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
