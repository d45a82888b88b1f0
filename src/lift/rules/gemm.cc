// Gemm: broadcasting of C was asked for before opset 7; it is always allowed now.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.erase({"broadcast"}); }
constexpr LiftRule kRules[] = {{"Gemm", 7, apply}};

}  // namespace

extern const LiftRules lift_gemm;
constinit const LiftRules lift_gemm{kRules};

}  // namespace retort
