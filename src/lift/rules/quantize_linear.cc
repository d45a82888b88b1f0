// QuantizeLinear: before opset 23 the division was of float32, whatever the types of x and of the scale; since then it
// is of the type of the scale, if `precision` does not name another one.
#include "lift/rewriter.h"

namespace retort {
namespace {

void divide_in_float32(Rewriter& r) { r.attributes().set("precision", int64_t(DType::f32)); }
constexpr LiftRule kQuantizeLinearRules[] = {{"QuantizeLinear", 23, divide_in_float32}};

}  // namespace

extern const LiftRules lift_quantize_linear;
constinit const LiftRules lift_quantize_linear{kQuantizeLinearRules};

}  // namespace retort
