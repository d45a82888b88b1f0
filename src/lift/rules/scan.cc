// Scan: opset 8 ran over batches and had sequence lengths; no exporter of today makes it.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter&) {
  fail(ErrorCode::not_implemented, "the Scan of opset 8 is not supported; export the model with opset 9 or newer");
}
constexpr LiftRule kRules[] = {{"Scan", 9, apply}};

}  // namespace

extern const LiftRules lift_scan;
constinit const LiftRules lift_scan{kRules};

}  // namespace retort
