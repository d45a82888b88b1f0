// Gemm: before opset 7 an attribute allowed broadcasting of C; now it is always allowed.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_gemm(Rewriter& r) { r.erase({"broadcast"}); }
constexpr LiftRule kGemmRules[] = {{"Gemm", 7, apply_gemm}};

}  // namespace

extern const LiftRules lift_gemm;
constinit const LiftRules lift_gemm{kGemmRules};

}  // namespace retort
