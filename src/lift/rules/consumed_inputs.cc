// In opset 1 many operators could name inputs whose memory they may reuse, a hint that has no meaning any more.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_consumed_inputs(Rewriter& r) { r.erase({"consumed_inputs"}); }
constexpr LiftRule kConsumedInputsRules[] = {{"Abs", 6, apply_consumed_inputs},
                                             {"BatchNormalization", 6, apply_consumed_inputs},
                                             {"Ceil", 6, apply_consumed_inputs},
                                             {"Dropout", 6, apply_consumed_inputs},
                                             {"Elu", 6, apply_consumed_inputs},
                                             {"Exp", 6, apply_consumed_inputs},
                                             {"Floor", 6, apply_consumed_inputs},
                                             {"HardSigmoid", 6, apply_consumed_inputs},
                                             {"InstanceNormalization", 6, apply_consumed_inputs},
                                             {"LeakyRelu", 6, apply_consumed_inputs},
                                             {"Log", 6, apply_consumed_inputs},
                                             {"Max", 6, apply_consumed_inputs},
                                             {"Mean", 6, apply_consumed_inputs},
                                             {"Min", 6, apply_consumed_inputs},
                                             {"Neg", 6, apply_consumed_inputs},
                                             {"PRelu", 6, apply_consumed_inputs},
                                             {"Reciprocal", 6, apply_consumed_inputs},
                                             {"Relu", 6, apply_consumed_inputs},
                                             {"Selu", 6, apply_consumed_inputs},
                                             {"Sigmoid", 6, apply_consumed_inputs},
                                             {"Sqrt", 6, apply_consumed_inputs},
                                             {"Sum", 6, apply_consumed_inputs},
                                             {"Tanh", 6, apply_consumed_inputs}};

}  // namespace

extern const LiftRules lift_consumed_inputs;
constinit const LiftRules lift_consumed_inputs{kConsumedInputsRules};

}  // namespace retort
